"""Answers in parts: as much in one message as surely fits, however long the words in it are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from orchctl.protocol import codec, frames

PAGE_BYTES = frames.CONTROL_LIMIT_BYTES // 4
T = TypeVar("T")


def pages(values: Iterable[T]) -> list[list[T]]:
    """The values in order, at least one page; a value that is long has a page of its own."""
    found, room = [list[T]()], PAGE_BYTES
    for value in values:
        size = codec.size_of(value)
        if size > room and found[-1]:
            found.append([])
            room = PAGE_BYTES
        found[-1].append(value)
        room -= size
    return found


async def gathered(values: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    """The same for values that come by and by, of which no more than one page is held."""
    page, room = list[T](), PAGE_BYTES
    async for value in values:
        size = codec.size_of(value)
        if size > room and page:
            yield page
            page, room = [], PAGE_BYTES
        page.append(value)
        room -= size
    if page:
        yield page

"""With strict durability, nothing is shown before it is safe from power loss; else nobody waits."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest

from orchctl.log import segments
from orchctl.log import sync as safety
from orchctl.log.disk import RealDisk
from orchctl.log.reader import OutputLog
from orchctl.log.sync import Safety
from orchctl.session import layout
from orchctl.supervisor.request import Call, send_range
from orchctl.supervisor.session import SupervisedSession

DATA = b"what a program wrote\n"


class Watched(RealDisk):
    """Tells which files were synced, in order with what else happens."""

    def __init__(self, story: list[str]) -> None:
        self.story = story

    def sync(self, fd: int) -> None:
        self.story.append(f"synced {os.path.basename(os.readlink(f'/proc/self/fd/{fd}'))}")
        super().sync(fd)


class Listener:
    """Stands where a client is told."""

    def __init__(self, story: list[str]) -> None:
        self.story = story

    async def send_output(self, offset: int, data: bytes) -> None:
        self.story.append(f"shown {offset}-{offset + len(data)}")


class Session:
    """As much of a session as sending needs."""

    def __init__(self, folder: Path, *, strict: bool) -> None:
        self.safety = Safety(str(folder), strict=strict)
        self.readers = self

    def at(self, _: object, __: int) -> None:
        """Who reads is not asked here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session's, with some output."""
    (tmp_path / layout.OUTPUT).mkdir()
    (tmp_path / layout.OUTPUT / segments.name(0)).write_bytes(DATA)
    (tmp_path / layout.JOURNAL).write_bytes(b"")
    return tmp_path


def shown(folder: Path, monkeypatch: pytest.MonkeyPatch, *, strict: bool) -> list[str]:
    """What happens when the output is sent twice."""
    story: list[str] = []
    monkeypatch.setattr(safety, "REAL", Watched(story))
    session = cast(SupervisedSession, cast(Any, Session(folder, strict=strict)))
    log = OutputLog(str(folder))

    async def send() -> None:
        for _ in range(2):
            await send_range(cast(Call, cast(Any, Listener(story))), session, log, 0, len(DATA))

    asyncio.run(send())
    log.close()
    return story


def test_strict_shows_nothing_before_it_is_synced_and_syncs_it_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = shown(folder, monkeypatch, strict=True)
    first = story.index(f"shown 0-{len(DATA)}")
    assert f"synced {segments.name(0)}" in story[:first]
    assert story[first:] == [f"shown 0-{len(DATA)}"] * 2


def test_strict_syncs_what_came_since_before_it_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story: list[str] = []
    monkeypatch.setattr(safety, "REAL", Watched(story))
    session = cast(SupervisedSession, cast(Any, Session(folder, strict=True)))
    log, listener = OutputLog(str(folder)), cast(Call, cast(Any, Listener(story)))

    async def send() -> None:
        await send_range(listener, session, log, 0, len(DATA))
        with open(folder / layout.OUTPUT / segments.name(0), "ab") as file:
            file.write(DATA)
        await send_range(listener, session, log, len(DATA), 2 * len(DATA))

    asyncio.run(send())
    log.close()
    first = story.index(f"shown 0-{len(DATA)}")
    assert story[first + 1 :] == [f"synced {segments.name(0)}", f"shown {len(DATA)}-{2 * len(DATA)}"]


def test_relaxed_waits_for_no_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(folder, monkeypatch, strict=False) == [f"shown 0-{len(DATA)}"] * 2

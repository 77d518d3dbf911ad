"""The awaiting driver of calls: what `blocked` and `blocking` in `client/call.py` are, with `await`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, closing
from typing import Any, Concatenate, ParamSpec, TypeVar

from orchctl.client.call import Awaiting, Call, Flow, Pause, Pieces, Progress, Step, shown
from orchctl.errors import TimedOut

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")
Made = TypeVar("Made")


async def awaited(call: Call[R]) -> R:
    """The value of a call; awaits each step."""
    progress = Progress(call)
    while progress.step is not None:
        try:
            result = await _taken(progress.step)
        except BaseException as error:  # noqa: BLE001 - also that the task is cancelled
            progress.fail(error)
        else:
            progress.go_on(result)
    value: R = progress.value
    return value


async def _taken(step: Step) -> Any:
    if isinstance(step, Pause):
        return await asyncio.sleep(step.seconds)
    if step.expires_at is None:
        return await step.run()
    try:
        async with asyncio.timeout(step.expires_at - time.monotonic()):
            return await step.run()
    except TimeoutError:
        raise TimedOut("it did not happen in the time given") from None


async def iterated(flow: Flow[T]) -> AsyncGenerator[T, None]:
    """The pieces of a flow."""
    with closing(flow):
        pieces = Pieces(flow)
        while (piece := await awaited(pieces.next())) is not None:
            yield piece


def awaiting(call: Callable[Concatenate[S, P], Call[R]]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """A coroutine method that returns the value of a call."""

    async def method(self: S, /, *args: P.args, **options: P.kwargs) -> R:
        return await awaited(call(self, *args, **options))

    return shown(method, call)


def awaiting_with(
    make: Callable[[Any, R], Made], call: Callable[Concatenate[S, P], Call[R]]
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, Made]]:
    """A coroutine method that returns what is made of the value of a call: a handle, or a stream."""

    async def method(self: S, /, *args: P.args, **options: P.kwargs) -> Made:
        return make(self, await awaited(call(self, *args, **options)))

    return shown(method, call, make)


def awaiting_each(call: Callable[Concatenate[S, P], Call[Flow[T]]]) -> Callable[Concatenate[S, P], AsyncIterator[T]]:
    """A method that is an asynchronous iterator of the flow that a call gives."""

    async def method(self: S, /, *args: P.args, **options: P.kwargs) -> AsyncIterator[T]:
        async with aclosing(iterated(await awaited(call(self, *args, **options)))) as pieces:
            async for piece in pieces:
                yield piece

    return shown(method, call, "AsyncIterator")


class Awaited(Awaiting):
    """Whoever has the methods of the awaiting client."""

    _method = staticmethod(awaiting)
    _each = staticmethod(awaiting_each)

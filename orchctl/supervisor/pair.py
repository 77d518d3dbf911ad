"""The supervisor's end of a pair: nudges in, requests out, and a new connection when one is lost.

Truth is on disk; a connection only tells when to look. Refused means that both processes of the
pair are gone, because each of them holds the listening socket for as long as it lives. Every other failure to connect
proves nothing: it is tried again, with a growing pause, for as long as a process of the pair may live.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import signal
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from orchctl.errors import Conflict, OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.pair import wire
from orchctl.paths import socket_address
from orchctl.session import layout
from orchctl.supervisor import stopped

log = logging.getLogger(__name__)
ANSWER_S = 2.0
HEAR_BYTES = 1 << 16
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0  # between attempts to connect
LOOKS_FOR_NOBODY = 4  # a mover that takes its dead keeper's place needs a moment to write its own number down
NO_ANSWER_S = 15.0  # a process that answers nothing for so long is stopped, or hangs


@dataclass(slots=True)
class _Typing:
    data: bytes
    epoch: int | None
    done: asyncio.Future[tuple[int, int]]
    again: bool  # to the next mover, should this one die before it says that it is typed
    end: bool = False  # nothing to type: the input ends
    sent: bool = False


@dataclass(slots=True, eq=False)
class _Question:
    kind: int
    payload: bytes
    answer: asyncio.Future[bytes]


class Pair(Protocol):
    """What is asked of whoever keeps a session, whatever its kind; `PairLink` says what each of these means."""

    greeted: asyncio.Event
    gone: asyncio.Event
    stalled: str

    async def tend(self, first: socket.socket | None) -> None: ...
    def watch(self, seen: int) -> None: ...
    def fence(self, epoch: int) -> None: ...
    def kill(self, grace_s: float) -> None: ...
    def signal_program(self, number: int) -> None: ...
    async def sweep(self, since_ticks: int, number: int) -> int: ...
    def processes(self) -> list[int]: ...
    async def who_is_left(self) -> tuple[int, ...]: ...
    def check_socket(self) -> None: ...
    def hold(self, offset: int | None) -> None: ...
    def trim(self, keep_bytes: int) -> None: ...
    def roll(self) -> None: ...


class PairLink:
    """Talks to one session's pair until the pair is gone."""

    def __init__(
        self,
        folder: str,
        looked: Callable[[], None],
        keeper: Callable[[], int | None] = lambda: None,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._folder = folder
        self._looked = looked  # called whenever there may be news on disk
        self._keeper = keeper  # its number, as far as the session's journal tells
        self._over = over  # whether the journal proves that nothing is left
        self._pids = list[int]()  # of the processes that have said hello
        self._ear: _Ear | None = None
        self._typing: dict[bytes, _Typing] = {}
        self._kill: bytes | None = None
        self._questions: deque[_Question] = deque()
        self._numbers = itertools.count()  # so that a late answer is taken for no other question's
        self._armed = False
        self._held: int | None = None
        self._known = False  # whether we can say that nobody reads
        self._features: list[str] | None = None  # of the pair; None until it has said hello
        self._fence = 0
        self.inputs = 0  # how many were sent; not a terminal's answers
        self.stalled = ""  # why its log takes no more bytes
        self.greeted = asyncio.Event()
        self.gone = asyncio.Event()

    async def tend(self, first: socket.socket | None) -> None:
        """Stay connected, from `first` on if there is one; returns when the pair is gone."""
        connection = first
        self._known = first is not None
        try:
            while connection is not None or (connection := await self._reach()) is not None:
                await self._listen(connection)
                connection = None
            self.gone.set()  # nobody listens there; not when we were interrupted, for then the pair may live
        finally:
            self.greeted.set()
            for typing in self._typing.values():
                if not typing.done.done():
                    typing.done.set_exception(_ended())
            for question in self._questions:
                if not question.answer.done():
                    question.answer.set_exception(_ended())

    def watch(self, seen: int) -> None:
        """Have `looked` called once the log is longer than `seen`."""
        if not self._armed:
            self._armed = True
            self._send(wire.WATCH, wire.OFFSET.pack(seen))

    def fence(self, epoch: int) -> None:
        """From now on nothing is typed that was allowed under an earlier epoch."""
        self._fence = epoch
        if epoch and self._features is not None and wire.FENCING in self._features:
            self._send(wire.FENCE, wire.OFFSET.pack(epoch))

    async def type(self, once: bytes, data: bytes, epoch: int | None = None, *, again: bool = True) -> tuple[int, int]:
        """Type `data`; how many bytes were taken, and the outcome. The same `once` is typed once.

        `epoch` is the one it was allowed under; None for what nobody needs to be allowed. When a mover dies before
        it says that it has typed, the next one goes on where that one stopped. One of an older version types it anew,
        unless not `again`: then it is `maybe-typed`.
        """
        return await self._have_typed(once, _Typing(data, epoch, asyncio.get_running_loop().create_future(), again))

    async def end_input(self, once: bytes, epoch: int) -> int:
        """Have the program read the end of its input, after all that was typed before; the outcome. Twice is once."""
        await self.greeted.wait()
        if self._features is not None and wire.ENDING not in self._features:
            raise Conflict(
                "the session was started by an older version, which cannot end its input; it ends with the session",
                code="older-version",
            )
        typing = _Typing(b"", epoch, asyncio.get_running_loop().create_future(), again=True, end=True)
        return (await self._have_typed(once, typing))[1]

    async def _have_typed(self, once: bytes, typing: _Typing) -> tuple[int, int]:
        if self.gone.is_set():
            raise Conflict("the session has ended", code="session-ended")
        if once not in self._typing:
            self._typing[once] = typing
            self._send_input(once, typing)
        try:
            return await stopped.answered(self, self._typing[once].done)
        finally:
            self._typing.pop(once, None)

    async def look(self) -> dict[str, Any]:
        """What the terminal is like now."""
        seen: dict[str, Any] = json.loads(await self._ask(wire.LOOK, b""))
        return seen

    async def does_it_wait(self) -> dict[str, Any]:
        """What the kernel says on whether it waits for input."""
        number = wire.OFFSET.pack(next(self._numbers))
        told: dict[str, Any] = json.loads((await self._ask(wire.DOES_IT_WAIT, number))[len(number) :])
        return told

    def echo(self, *, on: bool) -> None:
        """Have the terminal show what is typed, or not."""
        self._send(wire.ECHO, wire.NUMBER.pack(int(on)))

    async def sweep(self, since_ticks: int, number: int) -> int:
        """A signal to what the program started since then; how many processes that is. 0 only counts."""
        (count,) = wire.NUMBER.unpack(await self._ask(wire.SWEEP, wire.SWEEPING.pack(since_ticks, number)))
        return int(count)

    async def _ask(self, kind: int, payload: bytes) -> bytes:
        if self.gone.is_set():
            raise Conflict("the session has ended", code="session-ended")
        question = _Question(kind, payload, asyncio.get_running_loop().create_future())
        self._questions.append(question)
        self._send(kind, payload)
        try:
            async with asyncio.timeout(None if kind == wire.DRAIN else NO_ANSWER_S):  # a full disk may take its time
                return await question.answer
        except TimeoutError:
            raise Conflict("the session does not answer: its keeper or mover hangs", code="no-answer") from None
        finally:
            if question in self._questions:  # nobody waits any more
                self._questions.remove(question)

    @property
    def drains_pipes(self) -> bool:
        """Whether the mover drains the pipes of commands; a pair of an older version does not."""
        return wire.PIPING in (self._features or ())

    @property
    def _counts_input(self) -> bool:
        """Whether the next mover knows what the last one typed."""
        return wire.TAKEN in (self._features or ())

    async def open_pipes(self, exec_id: str) -> None:
        """Have a command's FIFOs held open by both processes of the pair, and drained from now on."""
        name = exec_id.encode("ascii") + b"\0"
        if trouble := (await self._ask(wire.PIPES, name))[len(name) :]:
            raise OrchctlError(f"the command's pipes cannot be opened: {trouble.decode('utf-8', 'replace')}")

    async def drain_pipes(self, exec_id: str, *, drop: bool = False) -> None:
        """Once all that is in a command's FIFOs is stored, or dropped; nothing more is stored of them then."""
        await self._ask(wire.DRAIN, wire.FLAG.pack(drop) + exec_id.encode("ascii") + b"\0")

    def signal(self, number: int) -> None:
        """To whatever is in the terminal's foreground."""
        self._send(wire.SIGNAL, wire.NUMBER.pack(number))

    async def signal_told(self, number: int) -> dict[str, Any]:
        """The same; a look right after it, in which `signalled` is the group that it reached.

        That is None where nobody can tell, and is missing in what a pair of an older version says.
        """
        self.signal(number)
        return await self.look()  # nothing comes between the two: a pair does one thing after another

    def signal_program(self, number: int) -> None:
        """To the session's program itself."""
        self._send(wire.SIGNAL_PROGRAM, wire.NUMBER.pack(number))

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal another size."""
        self._send(wire.RESIZE, wire.SIZE.pack(cols, rows))

    def pause(self, *, stop: bool) -> None:
        """Stop all its processes, or let them go on."""
        self._send(wire.PAUSE, wire.NUMBER.pack(int(stop)))

    async def who_is_left(self) -> tuple[int, ...]:
        """The processes that run besides the program."""
        return tuple(json.loads(await self._ask(wire.WHO_IS_LEFT, b"")))

    async def keep_environment(self) -> None:
        """Have the environment of this run on disk for the next; a pair of an older version does not know how."""
        with contextlib.suppress(Conflict, TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                await self._ask(wire.KEEP_ENVIRONMENT, b"")

    def kill(self, grace_s: float) -> None:
        """Ask for the end; asked again after a lost connection, because asking twice changes nothing."""
        self._kill = wire.SECONDS.pack(grace_s)
        self._send(wire.KILL, self._kill)

    def hold(self, offset: int | None) -> None:
        """Keep the log from `offset` on for somebody who reads it, within limits; None: nobody does."""
        self._held = offset
        self._send(wire.HOLD, wire.OFFSET.pack(wire.NOBODY if offset is None else offset))

    def trim(self, keep_bytes: int) -> None:
        """Keep no more of the log than that."""
        self._send(wire.TRIM, wire.OFFSET.pack(keep_bytes))

    def roll(self) -> None:
        """Begin a new segment."""
        self._send(wire.ROLL, b"")

    async def _reach(self) -> socket.socket | None:
        """A connection; None once it is proven that nobody is there."""
        pause_s, nobody = FIRST_PAUSE_S, 0
        while True:
            try:
                return self._connect()
            except ConnectionRefusedError:
                return None
            except FileNotFoundError as error:  # removed: by the pair at its end, or by somebody else
                trouble: OSError = error
                self._look_if_possible()
                nobody = 0 if self._call() else nobody + 1
                if nobody and (self._over() or nobody >= LOOKS_FOR_NOBODY):
                    return None
            except OSError as error:
                trouble = error
            if pause_s == LONGEST_PAUSE_S:
                log.warning("%s cannot be reached, and is tried again: %s", self._folder, trouble.strerror)
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)

    def _look_if_possible(self) -> None:
        """Without descriptors nothing can be read; after the next hello there is another look."""
        with contextlib.suppress(OSError):
            self._looked()

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_address(os.path.join(self._folder, layout.SOCKET)) as address:
                connection.connect(address)
        except OSError:
            connection.close()
            raise
        return connection

    def _call(self) -> bool:
        """Have the living processes of the pair look at their socket, and bind it again; False: none lives."""
        found = self.processes()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGHUP)  # older ones ignore it
        return bool(found)

    def check_socket(self) -> None:
        """Have the socket bound again if it was removed, before anybody needs it."""
        if self.connected and not os.path.lexists(os.path.join(self._folder, layout.SOCKET)):
            self._call()

    def processes(self) -> list[int]:
        """Keeper and mover, as far as they live and the pair or its journal has named them."""
        return stopped.living((*self._pids, self._keeper() or 0), self._folder)

    @property
    def connected(self) -> bool:
        """Whether a mover has said hello and is still there."""
        return self._ear is not None and self._features is not None

    async def _listen(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        ear = _Ear(connection, self._hear, self._looked)
        await asyncio.get_running_loop().create_unix_connection(lambda: ear, sock=connection)
        self._ear, self._features = ear, None
        try:
            await ear.over
        finally:
            self._ear = None
            ear.close()
            for typing in self._typing.values():
                if typing.sent and not typing.again and not self._counts_input and not typing.done.done():
                    typing.done.set_exception(Conflict("the mover died; it may have typed it", code="maybe-typed"))
            self._look_if_possible()

    def _hear(self, kind: int, payload: bytes) -> None:
        if kind == wire.HELLO:
            words = json.loads(payload)
            self._pids = [int(words.get(name, 0)) for name in ("keeper", "mover")]
            self.stalled, self._features = str(words.get("stalled", "")), list(words.get("features", ()))
            self._say_again()
            self.greeted.set()
        elif kind == wire.GREW:
            self._armed = False
        elif kind == wire.STALLED:
            self.stalled = payload.decode("utf-8", "replace")
        elif kind in _ANSWERS:
            self._answer(kind, payload)
        elif kind == wire.TYPED:
            once, taken, outcome = wire.RECEIPT.unpack(payload)
            typing = self._typing.get(once)
            if typing is None or typing.done.done():
                return
            if outcome == wire.TYPED_MAYBE:
                typing.done.set_exception(_maybe_typed(taken, len(typing.data)))
            else:
                typing.done.set_result((taken, outcome))

    def _answer(self, kind: int, payload: bytes) -> None:
        for question in self._questions:
            if question.kind == _ANSWERS[kind] and (kind not in _NAMED or payload.startswith(question.payload)):
                self._questions.remove(question)
                if not question.answer.done():
                    question.answer.set_result(payload)
                return

    def _say_again(self) -> None:
        """A new mover knows nothing of what the last one was asked."""
        self._armed = False
        self.fence(self._fence)
        for once, typing in self._typing.items():
            if typing.again or not typing.sent or self._counts_input:
                self._send_input(once, typing)
        for question in self._questions:
            self._send(question.kind, question.payload)
        if self._kill is not None:
            self._send(wire.KILL, self._kill)
        if self._held is not None or self._known:  # else readers of a supervisor before us may come back yet
            self.hold(self._held)
        self._known = True

    def _send_input(self, once: bytes, typing: _Typing) -> None:
        """With its epoch, where the pair understands that; before its hello nobody knows."""
        if self._features is None or self._ear is None:
            return
        typing.sent = True
        if typing.end:
            self._send(wire.END_INPUT, wire.OFFSET.pack(typing.epoch or self._fence) + once)
            return
        self.inputs += not once.startswith(wire.ANSWER)
        if wire.FENCING in self._features:
            epoch = self._fence if typing.epoch is None else typing.epoch
            self._send(wire.INPUT_AT, wire.OFFSET.pack(epoch) + once + typing.data)
        else:
            self._send(wire.INPUT, once + typing.data)

    def _send(self, kind: int, payload: bytes) -> None:
        """What does not get through now is said again after the next hello."""
        if self._ear is not None:
            self._ear.say(wire.frame(kind, payload))


class _Ear(asyncio.Protocol):
    """Hears a pair to its last byte. A pair that has ended cannot be written to, and asyncio then stops reading too:
    the receipt of what it typed last is still there, and is fetched.
    """

    def __init__(
        self, connection: socket.socket, hear: Callable[[int, bytes], None], looked: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._hear = hear
        self._looked = looked
        self._decoder = wire.Decoder()
        self._transport: asyncio.Transport | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """What only answers a question of ours is no news: whoever asks again at any news would ask for ever."""
        news = False
        try:
            for kind, payload in self._decoder.feed(data):
                self._hear(kind, payload)
                news = news or kind not in _ANSWERS
        except (wire.Broken, struct.error, ValueError):
            news = True
            self.close()
        if news:
            self._looked()

    def connection_lost(self, exc: Exception | None) -> None:
        with contextlib.suppress(OSError):
            while exc is not None and (data := self._connection.recv(HEAR_BYTES)):
                self.data_received(data)
        if not self.over.done():
            self.over.set_result(None)

    def say(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


_ANSWERS = {
    wire.SEEN: wire.LOOK,
    wire.SWEPT: wire.SWEEP,
    wire.LEFT: wire.WHO_IS_LEFT,
    wire.KEPT: wire.KEEP_ENVIRONMENT,
    wire.WAITS: wire.DOES_IT_WAIT,
    wire.PIPED: wire.PIPES,
    wire.DRAINED: wire.DRAIN,
}
_NAMED = (wire.WAITS, wire.PIPED, wire.DRAINED)  # answers that begin with what was asked


def _maybe_typed(taken: int, length: int) -> Conflict:
    return Conflict(
        f"the session's mover died while it typed: {taken} of {length} bytes were typed, perhaps more, "
        "and the rest is not; look at the session before you send it again",
        code="maybe-typed",
    )


def _ended() -> Conflict:
    return Conflict("the session ended before it answered", code="session-ended")

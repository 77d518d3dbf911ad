"""A command's output as an iterator, and its end: it survives the supervisor, and nothing runs twice."""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self, TypedDict

from orchctl.client.call import Call, Pieces, blocked, do, iterated
from orchctl.client.caller import Caller, Connect, Link
from orchctl.client.streams import Reading
from orchctl.errors import BadInput, PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import (
    CommandBegins,
    CommandEnds,
    CommandWaits,
    Done,
    ExecCommand,
    PutSpool,
    StreamGap,
)
from orchctl.session.command import Command, CommandWait, Result
from orchctl.terminal.views import NewlineView, RawView, View

if TYPE_CHECKING:
    from orchctl.protocol.messages import Answer, Request

PART_BYTES = 1 << 18
INLINE_TEXT_BYTES = 1 << 16  # longer text goes ahead in parts; one character may take twelve bytes of a message
TEXT_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a command is to be run; the names are those of the command line."""

    stdin: bytes | None = None
    tty_stdin: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    pipe: bool = False
    raw: bool = False
    record: bool = True
    detach: bool = False
    timeout_s: float | None = None
    kill_after_s: float = 2.0
    wait_prompt_s: float | None = None
    viewer: str = ""
    lease_wait_s: float = 0.0
    once: str | None = None
    wait_input: bool = True


class ExecOptions(TypedDict, total=False):
    """The keyword arguments of `Client.exec`, for those who pass them on."""

    stdin: bytes | None
    tty_stdin: bool
    env: Mapping[str, str] | None
    cwd: str | None
    pipe: bool
    raw: bool
    record: bool
    detach: bool
    timeout_s: float | None
    kill_after_s: float
    wait_prompt_s: float | None
    viewer: str
    lease_wait_s: float
    max_output: int | None
    once: str | None
    wait_input: bool


class CommandReading(Reading[tuple[int, bytes]]):
    """What is asked for a command, and how much of its output was read; touches no socket."""

    def __init__(
        self,
        session: str,
        command: str | Sequence[str],
        options: Options,
        own_manager: str,
        borrow: Connect,
        give_back: Callable[[Any], None],
    ) -> None:
        super().__init__(borrow)
        self.exec_id = os.urandom(8).hex()
        self.session = session
        self._options = options
        self._own_manager = own_manager
        self._give_back = give_back
        self._asked, self._spools = self._request(command)
        self._seen = {0: 0, 1: 0, 2: 0}
        self._views: dict[int, View] = {0: RawView(), 1: RawView(), 2: RawView()}
        self.command: Command | None = None
        self.on_wait: Callable[[CommandWait], None] | None = None  # called each second until the command begins
        self.on_begin: Callable[[], None] | None = None  # and when it has begun
        self.gaps: list[tuple[int, int]] = []

    @classmethod
    def _of(cls, client: Caller, run: tuple[str, str | Sequence[str], Options]) -> Self:
        return cls(*run, client._own_manager, client._lend_where_some, client._take_back)

    @property
    def raw(self) -> bool:
        """Whether the terminal's bytes were asked for."""
        return self._options.raw

    @property
    def newlines(self) -> str:
        """`mapped` if the terminal's newline mapping was undone and that was exact all the way."""
        view = self._views[0]
        exact = isinstance(view, NewlineView) and view.exact and self.command is not None
        return "mapped" if exact and self.command is not None and self.command.newlines == "mapped" else "raw"

    def _hear(self, item: Answer | Data) -> tuple[int, bytes] | None:
        """The output in it, if there is some."""
        if isinstance(item, CommandBegins):
            self._begin(item.command)
        elif isinstance(item, CommandEnds):
            self.command, self._over = item.command, True
        elif isinstance(item, Data):
            return self._take(item)
        elif isinstance(item, StreamGap):
            self._skip(item)
        elif isinstance(item, CommandWaits):
            if self.on_wait is not None:
                self.on_wait(item.wait)
        elif not isinstance(item, Done):
            raise PeerBroke(f"{item.kind!r} came in the middle of a command", code="bad-stream")
        return None

    def _ask_again(self) -> ExecCommand:
        return dataclasses.replace(self._asked, tell_waits=self.on_wait is not None)

    def _begin_on(self, link: Link, expires_at: float | None) -> Call[None]:
        for part in self._spools:
            yield from do(link.ask, part)
        self._number = yield from do(link.begin, self._ask_again())

    def _pieces(self, item: Answer | Data) -> Iterator[tuple[int, bytes]]:
        if piece := self._hear(item):
            yield piece

    def _let_go(self, link: Link) -> None:
        if self._over:
            self._give_back(link)
        else:  # something of it may still come
            link.close()

    def _held_back(self) -> Iterator[tuple[int, bytes]]:
        for channel, view in self._views.items():
            if rest := view.end():
                yield channel, rest

    def _begin(self, command: Command) -> None:
        if self.on_begin is not None:
            self.on_begin()
        if self.command is None and not self._options.raw:
            self._views[0] = NewlineView(mapped=command.newlines == "mapped")
        self.command = command

    def _take(self, item: Data) -> tuple[int, bytes] | None:
        """What of it is new; after a lost connection some of it may come again."""
        data = item.chunk.data[max(0, self._seen[item.channel] - item.chunk.offset) :]
        if self.command is not None and not self.command.ran:
            from orchctl.shell.base import OWN_PREFIX

            data = OWN_PREFIX.sub(b"", data)
        if item.chunk.offset > self._seen[item.channel] > 0:
            raise PeerBroke(f"output at {item.chunk.offset} came where {self._seen[item.channel]} was due")
        self._seen[item.channel] = max(self._seen[item.channel], item.chunk.end)
        if item.channel == 0:
            self._asked = dataclasses.replace(self._asked, offset=self._seen[0])
        shown = self._views[item.channel].feed(data)
        return (item.channel, shown) if shown else None

    def _skip(self, gap: StreamGap) -> None:
        """Output that was gone before it could be read; nobody is to take the rest for all of it."""
        if gap.end > self._seen[0]:
            self.gaps.append((max(gap.first, self._seen[0]), gap.end))
            self._seen[0] = gap.end
            self._asked = dataclasses.replace(self._asked, offset=gap.end)

    def _request(self, command: str | Sequence[str]) -> tuple[ExecCommand, list[Request]]:
        options = self._options
        text = command if isinstance(command, str) else ""
        argv = () if isinstance(command, str) else tuple(command)
        parts = list["Request"]()
        size = len(text) + sum(map(len, argv))
        if size > TEXT_LIMIT_BYTES:
            raise BadInput(f"a command of {size} bytes; at most {TEXT_LIMIT_BYTES}", code="too-large")
        if size > INLINE_TEXT_BYTES:
            if "\0" in text or any("\0" in word for word in argv):
                raise BadInput(
                    "a NUL byte in the command or prompt, which no shell and no agent can take", code="nul-byte"
                )
            text, argv = "".join(f"{word}\0" for word in argv) or text, ()  # NUL bytes tell words from a text
            parts += self._parts("text", text.encode(errors="surrogateescape"))
        if options.stdin is not None:
            parts += self._parts("stdin", options.stdin)
        asked = ExecCommand(
            session=self.session,
            exec_id=self.exec_id,
            own_manager=self._own_manager,
            text="" if parts and size > INLINE_TEXT_BYTES else text,
            argv=argv,
            spooled=size > INLINE_TEXT_BYTES,
            stdin="spool" if options.stdin is not None else "tty" if options.tty_stdin else "null",
            env=dict(options.env),
            cwd=options.cwd,
            apart=options.pipe,
            record=options.record,
            detach=options.detach,
            timeout_s=options.timeout_s,
            kill_after_s=options.kill_after_s,
            wait_prompt_s=options.wait_prompt_s,
            viewer=options.viewer,
            lease_wait_s=options.lease_wait_s,
            once=options.once,
            wait_input=options.wait_input,
        )
        return asked, parts

    def _parts(self, what: str, data: bytes) -> list[Request]:
        return [
            PutSpool(
                session=self.session,
                exec_id=self.exec_id,
                own_manager=self._own_manager,
                what=what,
                offset=offset,
                data_b64=base64.b64encode(data[offset : offset + PART_BYTES]).decode("ascii"),
            )
            for offset in range(0, max(1, len(data)), PART_BYTES)
        ]


class CommandStream(CommandReading):
    """Iterate for (channel, bytes): 0 the terminal, 1 stdout, 2 stderr; then look at `command`."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return iterated(self._flow())


class Collection:
    """A command's whole output; what is past `limit_bytes` is left out, and the result says so."""

    def __init__(self, limit_bytes: int | None) -> None:
        self._limit_bytes = limit_bytes
        self._found = {0: bytearray(), 1: bytearray(), 2: bytearray()}
        self._truncated = False

    def add(self, channel: int, data: bytes) -> None:
        """As far as there is room."""
        held = sum(map(len, self._found.values()))
        room = len(data) if self._limit_bytes is None else max(0, self._limit_bytes - held)
        self._truncated = self._truncated or room < len(data)
        self._found[channel] += data[:room]

    def result(self, stream: CommandReading) -> Result:
        """When it is all there."""
        if stream.command is None:
            raise PeerBroke("the command ended without a word")
        return Result(
            command=stream.command,
            output=bytes(self._found[0] or self._found[1]),
            errors=bytes(self._found[2]),
            newlines=stream.newlines,
            truncated=self._truncated,
            gaps=tuple(stream.gaps),
        )


def collected(stream: CommandReading, limit_bytes: int | None = None) -> Call[Result]:
    """The whole result."""
    collection = Collection(limit_bytes)
    with closing(stream._flow()) as flow:
        pieces = Pieces(flow)
        while (piece := (yield from pieces.next())) is not None:
            collection.add(*piece)
    return collection.result(stream)


def collect(stream: CommandStream, *, limit_bytes: int | None = None) -> Result:
    """The whole result, of a stream that was begun in a blocking way."""
    return blocked(collected(stream, limit_bytes))

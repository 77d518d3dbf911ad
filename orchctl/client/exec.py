"""A command's output as an iterator, and its end: it survives the supervisor, and nothing runs twice."""

from __future__ import annotations

import base64
import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.client.views import NewlineView, RawView, View
from orchctl.core import bash
from orchctl.errors import BadInput, PeerBroke
from orchctl.model.command import Command, Result
from orchctl.protocol.framing import Data
from orchctl.protocol.messages import CommandBegins, CommandEnds, Done, ExecCommand, PutSpool, Request, StreamGap

PART_BYTES = 1 << 18
INLINE_TEXT_BYTES = 1 << 17  # larger text goes ahead in parts
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


class CommandStream:
    """Iterate for (channel, bytes): 0 the terminal, 1 stdout, 2 stderr; then look at `command`."""

    def __init__(
        self,
        session: str,
        command: str | Sequence[str],
        options: Options,
        own_manager: str,
        borrow: Callable[[], Connection],
        give_back: Callable[[Connection], None],
    ) -> None:
        self.exec_id = secrets.token_hex(8)
        self.session = session
        self._options = options
        self._own_manager = own_manager
        self._borrow = borrow
        self._give_back = give_back
        self._asked, self._spools = self._request(command)
        self._seen = {0: 0, 1: 0, 2: 0}
        self._views: dict[int, View] = {0: RawView(), 1: RawView(), 2: RawView()}
        self.command: Command | None = None
        self.gaps: list[tuple[int, int]] = []

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

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        patience = Patience()
        while True:
            try:
                for piece in self._read():
                    patience = Patience()
                    yield piece
                break
            except ConnectionLost as error:
                patience.spend(error)
        for channel, view in self._views.items():
            if rest := view.end():
                yield channel, rest

    def _read(self) -> Iterator[tuple[int, bytes]]:
        connection = self._borrow()
        whole = False
        try:
            for part in self._spools:
                connection.ask(part)
            number = connection.begin(self._asked)
            while True:
                item = connection.next(number)
                if isinstance(item, CommandBegins):
                    self._begin(item.command)
                elif isinstance(item, CommandEnds):
                    self.command = item.command
                    whole = True
                    return
                elif isinstance(item, Data):
                    yield from self._take(item)
                elif isinstance(item, StreamGap):
                    self._skip(item)
                elif not isinstance(item, Done):
                    raise PeerBroke(f"{item.kind!r} came in the middle of a command", code="bad-stream")
        finally:
            if whole:
                self._give_back(connection)
            else:  # something of it may still come
                connection.close()

    def _begin(self, command: Command) -> None:
        if self.command is None and not self._options.raw:
            self._views[0] = NewlineView(mapped=command.newlines == "mapped")
        self.command = command

    def _take(self, item: Data) -> Iterator[tuple[int, bytes]]:
        """What of it is new; after a lost connection some of it may come again."""
        data = item.chunk.data[max(0, self._seen[item.channel] - item.chunk.offset) :]
        if self.command is not None and not self.command.ran:
            data = data.replace(bash.PREFIX.encode(), b"")  # bash quotes it with a first line that does not parse
        if item.chunk.offset > self._seen[item.channel] > 0:
            raise PeerBroke(f"output at {item.chunk.offset} came where {self._seen[item.channel]} was due")
        self._seen[item.channel] = max(self._seen[item.channel], item.chunk.end)
        if item.channel == 0:
            self._asked = dataclasses.replace(self._asked, offset=self._seen[0])
        if shown := self._views[item.channel].feed(data):
            yield item.channel, shown

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
        parts = list[Request]()
        size = len(text) + sum(map(len, argv))
        if size > TEXT_LIMIT_BYTES:
            raise BadInput(f"a command of {size} bytes; at most {TEXT_LIMIT_BYTES}", code="too-large")
        if size > INLINE_TEXT_BYTES:
            text, argv = bash.quote_argv(argv) if argv else text, ()
            if "\0" in text:
                raise BadInput("a NUL byte in the command, which no shell can take", code="nul-byte")
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


def collect(stream: CommandStream, *, limit_bytes: int | None = None) -> Result:
    """The whole result; output past `limit_bytes` is left out, and the result says so."""
    found = {0: bytearray(), 1: bytearray(), 2: bytearray()}
    truncated = False
    for channel, data in stream:
        room = len(data) if limit_bytes is None else max(0, limit_bytes - sum(map(len, found.values())))
        truncated = truncated or room < len(data)
        found[channel] += data[:room]
    command = stream.command
    if command is None:
        raise PeerBroke("the command ended without a word")
    output = bytes(found[0] or found[1])
    return Result(
        command=command,
        output=output,
        errors=bytes(found[2]),
        newlines=stream.newlines,
        truncated=truncated,
        gaps=tuple(stream.gaps),
    )

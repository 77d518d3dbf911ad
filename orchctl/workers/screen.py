"""`screen` as a process: a log played to a real terminal emulator, libghostty-vt, and what it then shows.

The newest run is played from its first byte that is kept: the emulator is fast enough for a whole ring, and its state
is right without any guess at where a screen begins. The emulator is an extra of the package, and is native code: both
are reasons for a process of its own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from orchctl import extras
from orchctl.errors import NoSuchSession, OrchctlError
from orchctl.log.commands import TypedLog
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore, Spec
from orchctl.plain import to_plain
from orchctl.session.search import Cursor, Painting, Screen, Size
from orchctl.session.stream import Chunk, Gap
from orchctl.shell.marks import MarkCutter
from orchctl.shell.typed_lines import TypedLines
from orchctl.workers.sizes import sizes, start_of_run

BLOCK_BYTES = 1 << 18
SCROLLBACK = 1000  # lines: a terminal that becomes higher shows some of them again
_OSC = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def main(asked: dict[str, Any]) -> None:
    """Of one session, as one JSON object; an error is one too. It says what is shown, or how to paint it."""
    try:
        look = _paint if asked.get("paint") else _screen
        answer = to_plain(look(SessionStore(asked["sessions_dir"]), asked["session"]))
    except OrchctlError as error:
        answer = {"error": type(error).__name__, "code": error.code, "message": error.message}
    sys.stdout.write(json.dumps(answer))


def _screen(store: SessionStore, session: str) -> Screen:
    spec, log = _opened(store, session)
    end, start = log.end, min(log.end, start_of_run(store, session))
    terminal = _Terminal(sizes(store, spec, end), start, _typed(store, spec, start, log))
    first, missing = start, 0
    for piece in _pieces(log, start, end):
        if isinstance(piece, Gap):
            missing += piece.end - piece.first
            first = piece.end if piece.first == first else first
        else:
            terminal.play(piece)
    return terminal.screen(session, spec.name, first, end, missing)


def _paint(store: SessionStore, session: str) -> Painting:
    spec, log = _opened(store, session)
    end, start = log.end, min(log.end, start_of_run(store, session))
    terminal = _Terminal(sizes(store, spec, end), start, _typed(store, spec, start, log))
    for piece in _pieces(log, start, end):
        if isinstance(piece, Chunk):
            terminal.play(piece)
    return terminal.painting(end)


def _opened(store: SessionStore, session: str) -> tuple[Spec, OutputLog]:
    spec = store.read_spec(session)
    if spec is None:
        raise NoSuchSession(f"the files of session {session} cannot be read")
    return spec, OutputLog(store.folder(session))


def _typed(store: SessionStore, spec: Spec, start: int, log: OutputLog) -> TypedLines:
    """The lines that were typed for commands, which their own text takes the place of."""
    typed, lines = TypedLog(store.folder(spec.id), spec.shell), TypedLines()
    if spec.shell is not None:
        typed.look()
        for one in typed.lines[typed.after(start, log) :]:
            lines.know(one)
    return lines


def _pieces(log: OutputLog, offset: int, end: int) -> Iterator[Chunk | Gap]:
    while offset < end:
        data = log.read(offset, min(BLOCK_BYTES, end - offset))
        if data:
            yield Chunk(offset, data)
            offset += len(data)
        elif (gap := log.gap(offset)) is not None:
            yield gap
            offset = gap.end
        else:
            return


class _Terminal:
    """The emulator, with the sizes that the real one had."""

    def __init__(self, known: Any, start: int, lines: TypedLines) -> None:
        self._ghostty = _emulator()
        before = [size for size in known if size.offset <= start]
        self._later: list[Size] = [size for size in known if size.offset > start]
        self._terminal = self._ghostty.Terminal(before[-1].cols, before[-1].rows, scrollback=SCROLLBACK)
        self._remember_begun()
        self._lines, self._cutter = lines, MarkCutter()
        lines.limit = before[-1].cols

    def _remember_begun(self) -> None:
        """Have it keep what has begun and is not whole, so that its length can be asked for."""
        lib, ffi = self._ghostty.lib, self._ghostty.ffi
        limit = ffi.new("size_t*", BLOCK_BYTES)
        lib.ghostty_terminal_set(self._terminal._t[0], lib.GHOSTTY_TERMINAL_OPT_CONTINUATION_MAX_BYTES, limit)

    def play(self, chunk: Chunk) -> None:
        while self._later and self._later[0].offset <= chunk.end:
            at = max(0, self._later[0].offset - chunk.offset)
            self._feed(self._lines.feed(Chunk(chunk.offset, chunk.data[:at])))
            chunk = Chunk(chunk.offset + at, chunk.data[at:])
            self._resize(self._later.pop(0))
        self._feed(self._lines.feed(chunk))

    def screen(self, session: str, name: str | None, first: int, end: int, missing: int) -> Screen:
        self._feed(self._lines.end())
        self._write(self._cutter.end())
        for size in self._later:  # after the last byte
            self._resize(size)
        cols, rows = self._terminal.size
        lines = self._terminal.text().split("\n")
        x, y = self._terminal.cursor
        return Screen(
            session=session,
            name=name,
            first_offset=first,
            offset=end,
            dropped_bytes=missing,
            cols=cols,
            rows=rows,
            cursor=Cursor(x=x, y=y, visible=self._terminal.mode(25)),
            alternate=self._terminal.get("active_screen", "int32_t") == 1,
            title=self._title(),
            lines=tuple(line.rstrip(" ") for line in lines + [""] * (rows - len(lines)))[:rows],
            ansi=self._coloured(cols, rows),
        )

    def painting(self, end: int) -> Painting:
        """What another terminal is to be told to be like this one; what has only begun is left to what follows."""
        pending = self._lines.held_bytes + self._cutter.held_bytes + self._begun_bytes()
        for size in self._later:
            self._resize(size)
        cols, rows = self._terminal.size
        return Painting(
            offset=end - pending,
            cols=cols,
            rows=rows,
            title=self._title(),
            sequence=self._whole_state(cols, rows),
        )

    def _begun_bytes(self) -> int:
        """Of a sequence or a character that is not whole yet."""
        count = self._ghostty.ffi.new("size_t*")
        self._ghostty.lib.ghostty_terminal_continuation_buf(self._terminal._t[0], self._ghostty.ffi.NULL, 0, count)
        return int(count[0])

    def _whole_state(self, cols: int, rows: int) -> str:
        """Modes, text, region, cursor, style and keyboard."""
        core, lib, ffi = self._ghostty.core, self._ghostty.lib, self._ghostty.ffi
        options = core.init_sized("GhosttyFormatterTerminalOptions")
        options.emit, options.unwrap, options.trim = lib.GHOSTTY_FORMATTER_FORMAT_VT, False, True
        for name in ("modes", "scrolling_region", "keyboard"):
            setattr(options.extra, name, True)
        for name in ("cursor", "style", "kitty_keyboard", "charsets"):
            setattr(options.extra.screen, name, True)
        selection = self._selection(cols, rows)
        options.selection = selection
        formatter = ffi.new("GhosttyFormatter*")
        handle = self._terminal._t[0]
        self._ghostty.core.check(lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, handle, options[0]), "format")
        try:
            made: str = core.read_buf(
                lambda buffer, size, count: lib.ghostty_formatter_format_buf(formatter[0], buffer, size, count)
            )
        finally:
            lib.ghostty_formatter_free(formatter[0])
        return made

    def _selection(self, cols: int, rows: int) -> Any:
        selection = self._ghostty.core.init_sized("GhosttySelection")
        selection.start = self._terminal.ref(0, 0)[0]
        selection.end = self._terminal.ref(cols - 1, rows - 1)[0]
        return selection

    def _feed(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self._write(self._cutter.feed(chunk))

    def _write(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self._terminal.feed(chunk.data)

    def _resize(self, size: Size) -> None:
        self._terminal.resize(size.cols, size.rows)
        self._lines.limit = size.cols

    def _title(self) -> str:
        found = self._terminal.get("title", "GhosttyString")
        text: bytes = self._ghostty.ffi.buffer(found.ptr, found.len)[:] if found.len else b""
        return text.decode(errors="replace")

    def _coloured(self, cols: int, rows: int) -> str:
        """With SGR sequences and no others."""
        core, lib = self._ghostty.core, self._ghostty.lib
        selection = self._selection(cols, rows)
        options = core.init_sized("GhosttyTerminalSelectionFormatOptions")
        options.emit, options.unwrap, options.trim = lib.GHOSTTY_FORMATTER_FORMAT_VT, False, True
        options.selection = selection
        handle = self._terminal._t[0]  # the package wraps the plain form of this call only
        made: str = core.read_buf(
            lambda buffer, size, count: lib.ghostty_terminal_selection_format_buf(
                handle, options[0], buffer, size, count
            )
        )
        text = _OSC.sub("", made).replace("\r\n", "\n")
        return text + "\n" * (rows - 1 - text.count("\n"))


def _emulator() -> Any:
    try:
        return import_module("pyghostty")
    except (ImportError, OSError) as error:
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise OrchctlError(
            f"the terminal emulator is not installed{why}; install it with: {extras.install_command('screen')}",
            code="missing-extra",
        ) from None

"""A pexpect object on a supervised session: `expect`, `sendline`, `before`, `after` and the rest of that interface.

The session does not belong to it. `close` lets go of it, and it goes on; `terminate` ends it. When the supervisor
is killed, reading and typing go on with the next one. Our shells' marks are cut.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from pexpect import EOF, TIMEOUT, ExceptionPexpect
from pexpect.spawnbase import SpawnBase

from orchctl.client.call import blocked
from orchctl.client.caller import Caller
from orchctl.client.calls import control, sessions, wait
from orchctl.client.several import Many, Reader
from orchctl.errors import Conflict, NoSuchSession, OrchctlError, TimedOut
from orchctl.protocol.messages import ReadOutput
from orchctl.session.model import Session
from orchctl.session.stream import Chunk
from orchctl.terminal.views import MarkView

if TYPE_CHECKING:
    _Base = SpawnBase[Any]
else:
    _Base = SpawnBase


KEYS_BYTES = 1000
Filter = Callable[[bytes], bytes]


def interact(spawn: SessionSpawn, escape: bytes | None, keys_filter: Filter, output_filter: Filter) -> None:
    """Until the escape is typed, or the session has ended; the terminal is as before afterwards."""
    keyboard = sys.stdin.fileno()
    modes = termios.tcgetattr(keyboard)
    tty.setraw(keyboard)
    try:
        while True:
            ready = select.select([keyboard, *spawn.filenos()], [], [], 0 if spawn.has_come else None)[0]
            if (spawn.has_come or set(ready) - {keyboard}) and not _show(spawn, output_filter):
                return
            if keyboard in ready and not _pass_on(spawn, os.read(keyboard, KEYS_BYTES), escape, keys_filter):
                return
    finally:
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, modes)


def _show(spawn: SessionSpawn, output_filter: Filter) -> bool:
    """What has come; False at the end."""
    try:
        text = spawn.read_nonblocking(1 << 16, 0)
    except TIMEOUT:  # it was no output
        return True
    except EOF:
        return False
    data = text if isinstance(text, bytes) else text.encode(spawn.encoding or "utf-8", spawn.codec_errors)
    with open(1, "wb", closefd=False) as terminal:
        terminal.write(output_filter(data))
    return True


def _pass_on(spawn: SessionSpawn, typed: bytes, escape: bytes | None, keys_filter: Filter) -> bool:
    """The keys up to the escape; False once it came."""
    keys = keys_filter(typed)
    at = keys.rfind(escape) if escape is not None else -1
    if at >= 0:
        keys = keys[:at]
    if keys:
        spawn.type_keys(keys)
    return at < 0 and bool(typed)


AT_ONCE_S = 0.01  # what the program wrote is on its way for so long: that is "now" for a timeout of 0
LOOK_AGAIN_S = 0.1  # the terminal's modes change without an event
_CONTROL = {"@": 0, "`": 0, "[": 27, "{": 27, "\\": 28, "|": 28, "]": 29, "}": 29, "^": 30, "~": 30, "_": 31, "?": 127}
_END_OF_FILE, _INTERRUPT = b"\x04", b"\x03"


class SessionSpawn(_Base):
    """Reads from the last input on, else from the run's start, or from `offset`; other options are pexpect's own."""

    _decoder: Any
    _encoder: Any
    _log: Callable[[Any, str], None]
    _coerce_send_string: Callable[[Any], Any]

    def __init__(
        self,
        client: Caller,
        session: str,
        *,
        offset: int | None = None,
        timeout: float | None = 30,
        maxread: int = 2000,
        searchwindowsize: int | None = None,
        logfile: IO[Any] | None = None,
        encoding: str | None = None,
        codec_errors: str = "strict",
    ) -> None:
        super().__init__(timeout, maxread, searchwindowsize, logfile, encoding, codec_errors)
        self._client = client
        self._session = self._look(session)
        if self._session.backend != "pty":
            raise Conflict(f"the session {session!r} has no terminal, and pexpect needs one", code="no-terminal")
        asked = ReadOutput(
            session="",
            offset=offset,
            since_input=offset is None,
            follow=True,
        )
        self._reader = Reader(self._session, asked)
        self._marks = MarkView()
        self._come = b""  # and not read yet
        self._ended = False
        self._many = Many(client._connect)
        blocked(self._many.begin(self._session.id, self._reader.request))
        self.pid = self._session.pid
        self.command = self._session.command[0]
        self.args = list(self._session.command)
        self.cwd = self._session.cwd
        self.name = f"<session {self._session.name or self._session.id}>"
        self.echo = False
        with _unless_ended():  # then there is only its output
            self.echo = self.getecho()
        self.closed = False
        self.terminated = False
        self._note(self._session)

    def __del__(self) -> None:
        if hasattr(self, "_many"):  # else it never came to be
            self._many.close()

    def __str__(self) -> str:
        facts = {
            "session": self._session.id,
            "command": self._session.command,
            "buffer (last 100 characters)": self.buffer[-100:],
            "before (last 100 characters)": self.before[-100:] if self.before else self.before,
            "after": self.after,
            "match": self.match,
            "exitstatus": self.exitstatus,
            "closed": self.closed,
        }
        return "\n".join([repr(self), *(f"{name}: {value!r}" for name, value in facts.items())])

    # reading

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> Any:
        """At most `size` bytes, or characters, of what has come; waits up to `timeout` seconds for the first."""
        self._check_open()
        limit_s = self.timeout if timeout == -1 else timeout
        until = None if limit_s is None else time.monotonic() + max(AT_ONCE_S, limit_s)
        while True:
            if self._come:
                data, self._come = self._come[:size], self._come[size:]
                text = self._decoder.decode(data, final=False)
                if text:  # else a character that is not whole yet
                    self._log(text, "read")
                    return text
            elif self._ended:
                self.flag_eof = True
                raise EOF("End Of File (EOF): the session has ended.")
            else:
                self._receive(until)

    @property
    def has_come(self) -> bool:
        """Whether something can be read without waiting, be it the end."""
        return bool(self._come) or self._many.has_come or self._ended

    def filenos(self) -> list[int]:
        """What becomes readable when there is output."""
        return self._many.filenos()

    def _receive(self, until: float | None) -> None:
        """Wait for something to come."""
        left = None if until is None else until - time.monotonic()
        found = blocked(self._many.next(left)) if left is None or left > 0 else None
        if found is None:
            raise TIMEOUT("Timeout exceeded.")
        if isinstance(found[1], OrchctlError):
            raise found[1]
        self._ended, piece = self._reader.take(found[1])
        if isinstance(piece, Chunk):
            self._come += self._marks.feed(piece.data)
        if self._ended:
            self._come += self._marks.end()
            self._many.close()
            self._note(self._reader.session)

    def expect_list(
        self, pattern_list: Any, timeout: Any = -1, searchwindowsize: Any = -1, async_: Any = False, **given: Any
    ) -> Any:
        _check_blocking(async_ or given.pop("async", False))
        return super().expect_list(pattern_list, timeout, searchwindowsize, **given)

    def expect_exact(
        self, pattern_list: Any, timeout: Any = -1, searchwindowsize: Any = -1, async_: Any = False, **given: Any
    ) -> Any:
        _check_blocking(async_ or given.pop("async", False))
        return super().expect_exact(pattern_list, timeout, searchwindowsize, **given)

    # typing

    def send(self, s: Any) -> int:
        """Type it; how many bytes that were. What the terminal does not take is an error of orchctl's."""
        self._check_open()
        if self.delaybeforesend is not None:
            time.sleep(self.delaybeforesend)
        text = self._coerce_send_string(s)
        self._log(text, "send")
        return self._type(self._encoder.encode(text, final=False))

    def sendline(self, s: Any = "") -> int:
        return self.send(self._coerce_send_string(s) + self.linesep)

    def write(self, s: Any) -> None:
        self.send(s)

    def writelines(self, sequence: Any) -> None:
        for one in sequence:
            self.send(one)

    def sendcontrol(self, char: str) -> int:
        """Ctrl and this key; 0 for one that has none."""
        key = char.lower()
        if "a" <= key <= "z":
            return self.type_keys(bytes([ord(key) - ord("a") + 1]))
        return self.type_keys(bytes([_CONTROL[key]])) if key in _CONTROL else 0

    def sendeof(self) -> None:
        """Ctrl-D: the end of input, at the beginning of a line."""
        self.type_keys(_END_OF_FILE)

    def sendintr(self) -> None:
        self.type_keys(_INTERRUPT)

    def type_keys(self, keys: bytes) -> int:
        """Bytes as they are, at once; how many that were."""
        self._log(keys if self.encoding is None else keys.decode(self.encoding, "replace"), "send")
        return self._type(keys)

    def _type(self, data: bytes) -> int:
        blocked(control.send(self._client, self._session.id, data))
        return len(data)

    # the program

    def isalive(self) -> bool:
        """Whether it runs; once it does not, `exitstatus` or `signalstatus` is known."""
        if not self.terminated:
            self._note(self._look(self._session.id))
        return not self.terminated

    def wait(self) -> int | None:
        """Until it has ended; its exit status, None if a signal ended it. Output may be unread: nothing is lost."""
        if not self.terminated:
            self._note(blocked(wait.wait(self._client, self._session.id)))
        return self.exitstatus

    def kill(self, sig: int) -> None:
        with _unless_ended():
            blocked(sessions.control(self._client, self._session.id, "signal", signal=int(sig)))

    def terminate(self, force: bool = False) -> bool:
        """End it: HUP, CONT and INT, with `force` KILL too; whether it has ended."""
        numbers = [signal.SIGHUP, signal.SIGCONT, signal.SIGINT, *([signal.SIGKILL] if force else [])]
        for number in numbers:
            if self.terminated:
                break
            self.kill(number)
            with contextlib.suppress(TimedOut):
                self._note(blocked(wait.wait(self._client, self._session.id, timeout_s=self.delayafterterminate)))
        return not self.isalive()

    def close(self, force: bool = False) -> None:
        """Let go of the session, which goes on; with `force` it is ended first."""
        if self.closed:
            return
        if force and not self.terminate(force=True):
            raise ExceptionPexpect("the session's program could not be ended")
        self._many.close()
        self.closed = True

    def eof(self) -> bool:
        return bool(self.flag_eof)

    def _look(self, session: str) -> Session:
        return blocked(sessions.look(self._client, session))

    def _note(self, session: Session) -> None:
        self._session = session
        if session.is_alive:
            return
        self.terminated = True
        self.exitstatus, self.signalstatus = session.exit_code, session.signal
        if session.exit_status is not None:  # as waitpid tells it; of a session that is lost nothing is known
            self.status = session.signal if session.signal is not None else (session.exit_code or 0) << 8

    # the terminal

    def isatty(self) -> bool:
        """A session without a terminal has no such object."""
        return True

    def getwinsize(self) -> tuple[int, int]:
        found = self._look(self._session.id)
        return found.rows or 0, found.cols or 0

    def setwinsize(self, rows: int, cols: int) -> None:
        blocked(sessions.control(self._client, self._session.id, "resize", size=(cols, rows)))

    def getecho(self) -> bool:
        return blocked(control.terminal(self._client, self._session.id)).echo

    def setecho(self, state: bool) -> None:
        """Have it show what is typed, or not; a program may change that at any time."""
        self.echo = blocked(control.terminal(self._client, self._session.id, echo=bool(state))).echo

    def waitnoecho(self, timeout: float | None = -1) -> bool:
        """Until the terminal shows nothing of what is typed, as for a password; False if that took too long."""
        limit_s = self.timeout if timeout == -1 else timeout
        until = None if limit_s is None else time.monotonic() + limit_s
        while self.getecho():
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    def interact(
        self,
        escape_character: str | None = chr(29),
        input_filter: Callable[[bytes], bytes] | None = None,
        output_filter: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Give the session to the person at this terminal, until the escape character, Ctrl-] if not said otherwise."""

        if not os.isatty(sys.stdin.fileno()):
            raise Conflict("interact needs a terminal on stdin", code="no-terminal")
        self._check_open()
        self.write_to_stdout(self.buffer)
        self.stdout.flush()
        self.buffer = self.string_type()
        escape = None if escape_character is None else escape_character.encode("latin-1")
        interact(self, escape, input_filter or bytes, output_filter or bytes)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")


@contextlib.contextmanager
def _unless_ended() -> Iterator[None]:
    """A program may end at any moment, also while something is asked about it."""
    try:
        yield
    except OrchctlError as error:
        if not isinstance(error, NoSuchSession) and error.code != "session-ended":
            raise


def _check_blocking(asynchronous: object) -> None:
    if asynchronous:
        raise NotImplementedError("a supervised session is expected of in a blocking way; async_ is not supported")

"""One session in the hands of a Python program: its operations, and the handle of the blocking client.

The handle of the awaiting client is made of the same operations, in `aio/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from orchctl.client.call import Blocking, Call, make_methods, opening, operation
from orchctl.client.calls import control, sessions
from orchctl.client.calls import wait as waits
from orchctl.session.command import Command, Result
from orchctl.session.model import KillReport, Session

if TYPE_CHECKING:
    from orchctl.client.exec import ExecOptions
    from orchctl.client.pexpect import SessionSpawn
    from orchctl.client.streams import OutputStream
    from orchctl.session.model import Expected


class HandleState:
    """A session and the client to reach it by; `value` is as of when it was last looked at."""

    def __init__(self, client: Any, value: Session, *, is_new: bool = False, warnings: tuple[str, ...] = ()) -> None:
        self._client = client
        self.value = value
        self.is_new = is_new  # false for one that was there already
        self.warnings = warnings  # what of this process's standing its program does not have

    @classmethod
    def _of(cls, client: Any, held: tuple[Session, bool, tuple[str, ...]]) -> Self:
        return cls(client, held[0], is_new=held[1], warnings=held[2])

    def __repr__(self) -> str:
        return f"<session {self.value.name or self.id} {self.value.state.value}>"

    @property
    def id(self) -> str:
        """Its id, which never changes."""
        return self.value.id


def info(handle: HandleState) -> Call[Session]:
    """A new look at it."""
    return _look(handle, sessions.info(handle._client, handle.id))


def exec_command(handle: HandleState, command: str | Sequence[str], **options: Unpack[ExecOptions]) -> Call[Result]:
    """Run a command in its live shell; the options are those of `Client.exec`."""
    return waits.exec_command(handle._client, handle.id, command, **options)


def history(handle: HandleState) -> Call[Sequence[Command]]:
    """The commands run in its shell."""
    return sessions.history(handle._client, handle.id)


def wait_closed(handle: HandleState, *, timeout_s: float | None = None) -> Call[Session]:
    """Until it is closed."""
    return _look(handle, waits.wait(handle._client, handle.id, timeout_s=timeout_s))


def wait_for(handle: HandleState, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None) -> Call[str]:
    """The first condition that holds; they are those of `Client.wait_for`."""
    fired, handle.value = yield from waits.wait_for(
        handle._client, handle.id, *conditions, quiet_s=quiet_s, timeout_s=timeout_s
    )
    return fired


def wait_for_output(handle: HandleState, pattern: str, *, timeout_s: float | None = None) -> Call[re.Match[bytes]]:
    """The first match since the last input, or from now on."""
    return waits.wait_for_output(handle._client, handle.id, pattern, timeout_s=timeout_s)


def expect(handle: HandleState, *patterns: str | bytes, timeout_s: float | None = None) -> Call[Expected]:
    """Which of the regular expressions comes first in what was written since our last input, or comes yet."""
    return waits.expect(handle._client, handle.id, patterns, timeout_s=timeout_s)


def send(handle: HandleState, data: bytes, *, once: str | None = None) -> Call[None]:
    """Type into it."""
    return control.send(handle._client, handle.id, data, once=once)


def send_eof(handle: HandleState, *, once: str | None = None) -> Call[None]:
    """End its input, if it is on pipes."""
    return control.send_eof(handle._client, handle.id, once=once)


def interrupt(handle: HandleState) -> Call[None]:
    """What Ctrl-C does there."""
    return control.interrupt(handle._client, handle.id)


def signal(handle: HandleState, number: int) -> Call[None]:
    """To its program."""
    yield from _look(handle, sessions.control(handle._client, handle.id, "signal", signal=number))


def resize(handle: HandleState, cols: int, rows: int) -> Call[None]:
    """Another size for its terminal."""
    yield from _look(handle, sessions.control(handle._client, handle.id, "resize", size=(cols, rows)))


def pause(handle: HandleState) -> Call[None]:
    """Stop everything it runs."""
    yield from _look(handle, sessions.control(handle._client, handle.id, "pause"))


def unpause(handle: HandleState) -> Call[None]:
    """Let it go on."""
    yield from _look(handle, sessions.control(handle._client, handle.id, "unpause"))


def restart(handle: HandleState, *, grace_s: float = 5.0) -> Call[None]:
    """Another run of it."""
    yield from _look(handle, sessions.restart(handle._client, handle.id, grace_s=grace_s))


def rename(handle: HandleState, name: str | None) -> Call[None]:
    """Another name, or none."""
    yield from _look(handle, sessions.rename(handle._client, handle.id, name))


def label(handle: HandleState, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()) -> Call[None]:
    """Set and remove labels."""
    yield from _look(handle, sessions.label(handle._client, handle.id, labels, remove=remove))


def kill(handle: HandleState, *, grace_s: float = 5.0) -> Call[KillReport]:
    """End it, with everything it started."""
    return sessions.kill(handle._client, handle.id, grace_s=grace_s)


def output(
    handle: HandleState, *, offset: int | None = None, lines: int | None = None, follow: bool = False
) -> dict[str, Any]:
    """Its log."""
    return {"offset": offset, "lines": lines, "follow": follow}


def _look(handle: HandleState, call: Call[Session]) -> Call[Session]:
    handle.value = yield from call
    return handle.value


class Handle(HandleState):
    """The operations of a handle, in one table for both clients."""

    def __init_subclass__(cls) -> None:
        make_methods(Handle, cls)

    info = operation(info)
    exec = operation(exec_command)
    history = operation(history)
    wait = operation(wait_closed)
    wait_for = operation(wait_for)
    wait_for_output = operation(wait_for_output)
    expect = operation(expect)
    send = operation(send)
    send_eof = operation(send_eof)
    interrupt = operation(interrupt)
    signal = operation(signal)
    resize = operation(resize)
    pause = operation(pause)
    unpause = operation(unpause)
    restart = operation(restart)
    rename = operation(rename)
    label = operation(label)
    kill = operation(kill)


def _output(handle: Handle, options: dict[str, Any]) -> OutputStream:
    stream: OutputStream = handle._client.output(handle.id, **options)
    return stream


class SessionHandle(Handle, Blocking):
    """A session and the client to reach it by; `value` is as of when it was last looked at."""

    output = opening(_output, output)

    def pexpect(self, **options: Any) -> SessionSpawn:
        """A pexpect object on this session; the options are those of `Client.pexpect`."""
        spawned: SessionSpawn = self._client.pexpect(self.id, **options)
        return spawned

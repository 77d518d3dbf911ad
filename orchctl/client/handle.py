"""One session in the hands of a Python program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from orchctl.session.command import Command, Result
from orchctl.session.model import KillReport, Session

if TYPE_CHECKING:
    from orchctl.client.client import Client
    from orchctl.client.exec import ExecOptions
    from orchctl.client.output import OutputStream
    from orchctl.client.pexpect import SessionSpawn
    from orchctl.session.model import Expected


class SessionHandle:
    """A session and the client to reach it by; `value` is as of when it was last looked at."""

    def __init__(self, client: Client, value: Session, *, is_new: bool = False, warnings: tuple[str, ...] = ()) -> None:
        self._client = client
        self.value = value
        self.is_new = is_new  # false for one that was there already
        self.warnings = warnings  # what of this process's standing its program does not have

    def __repr__(self) -> str:
        return f"<session {self.value.name or self.id} {self.value.state.value}>"

    @property
    def id(self) -> str:
        """Its id, which never changes."""
        return self.value.id

    def info(self) -> Session:
        """A new look at it."""
        self.value = self._client.info(self.id)
        return self.value

    def exec(self, command: str | Sequence[str], **options: Unpack[ExecOptions]) -> Result:
        """Run a command in its live shell; the options are those of `Client.exec`."""
        return self._client.exec(self.id, command, **options)

    def history(self) -> Sequence[Command]:
        """The commands run in its shell."""
        return self._client.history(self.id)

    def wait(self, *, timeout_s: float | None = None) -> Session:
        """Until it is closed."""
        self.value = self._client.wait(self.id, timeout_s=timeout_s)
        return self.value

    def wait_for(self, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None) -> str:
        """The first condition that holds; they are those of `Client.wait_for`."""
        fired, self.value = self._client.wait_for(self.id, *conditions, quiet_s=quiet_s, timeout_s=timeout_s)
        return fired

    def wait_for_output(self, pattern: str, *, timeout_s: float | None = None) -> re.Match[bytes]:
        """The first match since the last input, or from now on."""
        return self._client.wait_for_output(self.id, pattern, timeout_s=timeout_s)

    def expect(self, *patterns: str | bytes, timeout_s: float | None = None) -> Expected:
        """Which of the regular expressions comes first in what was written since our last input, or comes yet."""
        return self._client.expect(self.id, patterns, timeout_s=timeout_s)

    def pexpect(self, **options: Any) -> SessionSpawn:
        """A pexpect object on this session; the options are those of `Client.pexpect`."""
        return self._client.pexpect(self.id, **options)

    def output(self, *, offset: int | None = None, lines: int | None = None, follow: bool = False) -> OutputStream:
        """Its log."""
        return self._client.output(self.id, offset=offset, lines=lines, follow=follow)

    def send(self, data: bytes, *, once: str | None = None) -> None:
        """Type into it."""
        self._client.send(self.id, data, once=once)

    def send_eof(self, *, once: str | None = None) -> None:
        """End its input, if it is on pipes."""
        self._client.send_eof(self.id, once=once)

    def interrupt(self) -> None:
        """What Ctrl-C does there."""
        self._client.interrupt(self.id)

    def signal(self, number: int) -> None:
        """To its program."""
        self.value = self._client.control(self.id, "signal", signal=number)

    def resize(self, cols: int, rows: int) -> None:
        """Another size for its terminal."""
        self.value = self._client.control(self.id, "resize", size=(cols, rows))

    def pause(self) -> None:
        """Stop everything it runs."""
        self.value = self._client.control(self.id, "pause")

    def unpause(self) -> None:
        """Let it go on."""
        self.value = self._client.control(self.id, "unpause")

    def restart(self, *, grace_s: float = 5.0) -> None:
        """Another run of it."""
        self.value = self._client.restart(self.id, grace_s=grace_s)

    def rename(self, name: str | None) -> None:
        """Another name, or none."""
        self.value = self._client.rename(self.id, name)

    def label(self, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()) -> None:
        """Set and remove labels."""
        self.value = self._client.label(self.id, labels, remove=remove)

    def kill(self, *, grace_s: float = 5.0) -> KillReport:
        """End it, with everything it started."""
        return self._client.kill(self.id, grace_s=grace_s)

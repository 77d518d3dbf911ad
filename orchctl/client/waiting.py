"""What a client can wait for: the end of sessions, prompts, input, quiet, words in their output."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from orchctl.client.choosing import Choosing
from orchctl.client.keeping import Keeping
from orchctl.client.output import OutputStream, search
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.attach.loop import Left
    from orchctl.client.client import Client
    from orchctl.client.pexpect import SessionSpawn
    from orchctl.session.model import Expected, Happened


def check_conditions(conditions: Sequence[str]) -> None:
    """Refuse what can never hold, before anybody is asked."""
    from orchctl.session.wait import OUTPUT, check, compile_pattern

    check(conditions)
    for condition in conditions:
        if condition.startswith(OUTPUT):
            compile_pattern(condition.removeprefix(OUTPUT))


class Waits(Keeping, Choosing):
    """A part of `Client`; its twin is written by hand, because it waits in another way."""

    @abstractmethod
    def _itself(self) -> Client: ...

    def wait(self, session: str, *, timeout_s: float | None = None) -> Session:
        """The session once it is closed."""
        asked = messages.WaitSession(session=session, own_manager=self._own_manager)
        return self._ask(asked, messages.OneSession, timeout_s=timeout_s).session

    def wait_for(
        self, session: str, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None
    ) -> tuple[str, Session]:
        """The first of the conditions that holds, and the session then.

        They are `exit`, `command`, `prompt`, `input` (it waits for input), `quiet` (no output for `quiet_s`),
        `state=STATE` and `output=REGEX`.
        """
        found = next(self.wait_for_each([session], conditions, quiet_s=quiet_s, timeout_s=timeout_s))
        return found.condition, found.session

    def wait_for_each(
        self,
        sessions: Sequence[str],
        conditions: Sequence[str],
        *,
        first_only: bool = False,
        quiet_s: float = 2.0,
        since: float | None = None,
        offset: int | None = None,
        new: bool = False,
        timeout_s: float | None = None,
    ) -> Iterator[Happened]:
        """For each of these sessions, as it comes to hold, the first condition that does; or for the first alone.

        Output is looked at from the last input on, else from the run's start; or from the Unix time `since`, from
        `offset`, or only as far as it is `new`. A session that ends before a condition holds is an error
        (`session-ended`), unless another may still be the first.
        """
        from orchctl.client.watching import Watching

        chosen = self.select(Selection(sessions=tuple(sessions)), ended_too=True)
        given = since is not None or offset is not None or new
        asked = messages.ReadOutput(
            session="",
            own_manager=self._own_manager,
            offset=offset,
            lines=0 if new else None,
            since_unix_s=since,
            since_input=not given,
            follow=True,
            commands=True,
        )
        watching = Watching(self._connect, chosen, conditions, asked, quiet_s=quiet_s, look=self._one)
        return watching.run(first_only=first_only, timeout_s=timeout_s)

    def _one(self, session: str) -> Session:
        (found,) = self.select(Selection(sessions=(session,)), ended_too=True)
        return found

    def wait_for_output(self, session: str, pattern: str, *, timeout_s: float | None = None) -> re.Match[bytes]:
        """The first match in what the session wrote since its last input, or writes from now on."""
        asked = messages.ReadOutput(
            session=session, own_manager=self._own_manager, since_input=True, follow=True, commands=True
        )
        return search(OutputStream(asked, self._lend_where_some, timeout_s=timeout_s), pattern)

    def expect(self, session: str, patterns: Sequence[str | bytes], *, timeout_s: float | None = None) -> Expected:
        """Which of the regular expressions comes first in what was written since our last input, or comes from now on.

        Our last input is that of this client's manager; if it is not known, anybody's.
        """
        from orchctl.client.pexpect import expect

        asked = messages.ReadOutput(
            session=session, own_manager=self._own_manager, since_own_input=True, follow=True, commands=True
        )
        return expect(OutputStream(asked, self._lend_where_some, timeout_s=timeout_s), patterns)

    def pexpect(self, session: str, **options: Any) -> SessionSpawn:
        """A pexpect object on a session: `expect`, `sendline`, `before`, `after` and the rest of that interface.

        It reads from the last input on, else from the run's start, or from `offset`. The other options are those of
        `pexpect.spawn`: `timeout`, `maxread`, `searchwindowsize`, `logfile`, `encoding` and `codec_errors`.
        """
        from orchctl.client.pexpect import SessionSpawn

        return SessionSpawn(self._itself(), self._connect, session, **options)

    def attach(
        self, session: str, *, read_only: bool = False, take: bool = False, detach_keys: str | None = None
    ) -> Left:
        """Give this process's terminal to a session, until it is left or has ended. Only in the main thread.

        The first key takes the lease if it is free; `take` takes it at once, by force. `read_only` only looks on.
        `detach_keys` are such as `ctrl-p,ctrl-q`; without them, those of the settings.
        """
        from orchctl.client.attach.enter import attach

        return attach(self._itself(), session, read_only=read_only, take=take, detach_keys=detach_keys)

    def terminal(self, session: str, *, echo: bool | None = None) -> messages.TerminalModes:
        """The modes of its terminal; with `echo`, made to show what is typed, or not to, before."""
        asked = messages.GetTerminal(session=session, own_manager=self._own_manager, echo=echo)
        return self._ask(asked, messages.TerminalModes)

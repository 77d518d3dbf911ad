"""What a client can ask of many sessions at once: their ends as they come, and their outputs as one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from orchctl.client.waiting import Waits
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.several import SeveralOutputs


class Gathering(Waits):
    """A part of `Client`; its twin is written by hand, because it waits in another way."""

    def wait_each(self, sessions: Sequence[str], *, timeout_s: float | None = None) -> Iterator[Session]:
        """Each of these sessions as it closes, in the order in which they do."""
        from orchctl.client.many import Many
        from orchctl.errors import OrchctlError, TimedOut

        expires_at = None if timeout_s is None else time.monotonic() + timeout_s
        many = Many(self._connect)
        try:
            for session in dict.fromkeys(sessions):
                many.begin(session, _asking_for(session, self._own_manager))
            while len(many):
                left = None if expires_at is None else max(0.0, expires_at - time.monotonic())
                found = many.next(left)
                if found is None:
                    raise TimedOut(f"{len(many)} sessions did not end in the time given")
                key, item = found
                if isinstance(item, OrchctlError):
                    raise item
                many.done(key)
                assert isinstance(item, messages.OneSession)
                yield item.session
        finally:
            many.close()

    def outputs(
        self,
        selection: Selection,
        *,
        offset: int | None = None,
        lines: int | None = None,
        since: float | None = None,
        until: float | None = None,
        until_offset: int | None = None,
        follow: bool = False,
        times: bool = False,
        ended_too: bool = True,
        quiet_s: float | None = None,
        stories: bool = False,
        commands: bool = False,
    ) -> SeveralOutputs:
        """The logs of several sessions as one iterator; with `follow`, new members of the selection join.

        With `quiet_s`, silence of that length is told too. With `stories`, conversations come as their events.
        `commands` is as in `output`.
        """
        from orchctl.client.several import SeveralOutputs
        from orchctl.session.selection import chooses

        def join(session_id: str) -> Session | None:
            (found,) = self.select(Selection(sessions=(session_id,)), ended_too=True)
            return found if chooses(selection, found) else None

        begun = time.time()
        asked = messages.ReadOutput(
            session="",
            own_manager=self._own_manager,
            offset=offset,
            lines=lines,
            since_unix_s=since,
            until_unix_s=until,
            until_offset=until_offset,
            follow=follow,
            times=times,
            commands=commands,
        )
        return SeveralOutputs(
            self._connect,
            list(self.select(selection, ended_too=ended_too or bool(selection.sessions))),
            asked,
            join=join if follow and selection.open else None,
            since=begun,
            quiet_s=quiet_s,
            stories=stories,
        )


def _asking_for(session: str, own_manager: str) -> Callable[[], messages.WaitSession]:
    return lambda: messages.WaitSession(session=session, own_manager=own_manager)

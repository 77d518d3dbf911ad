"""What a client can ask of what is kept: output, events, and that something goes."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchctl.client.connection import Connection
from orchctl.client.output import OutputStream, search
from orchctl.protocol import messages

if TYPE_CHECKING:
    from orchctl.client.events import EventStream


class Keeping(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    def _connect(self) -> Connection: ...

    @abstractmethod
    def _pruned(self, asked: messages.Prune) -> messages.Pruned: ...

    def wait_for_output(self, session: str, pattern: str, *, timeout_s: float | None = None) -> re.Match[bytes]:
        """The first match in what the session wrote since its last input, or writes from now on."""
        asked = messages.ReadOutput(session=session, own_manager=self._own_manager, since_input=True, follow=True)
        return search(OutputStream(asked, self._connect, timeout_s=timeout_s), pattern)

    def output(
        self,
        session: str,
        *,
        offset: int | None = None,
        lines: int | None = None,
        since: float | None = None,
        until: float | None = None,
        until_offset: int | None = None,
        follow: bool = False,
        times: bool = False,
        stream: int | None = None,
    ) -> OutputStream:
        """The log from `offset`, from the Unix time `since`, its last `lines`, or all of it.

        With `follow`, until the session is closed; in any case no further than `until`.
        """
        asked = messages.ReadOutput(
            session=session,
            own_manager=self._own_manager,
            offset=offset,
            lines=lines,
            since_unix_s=since,
            until_unix_s=until,
            until_offset=until_offset,
            follow=follow,
            times=times,
        )
        return OutputStream(asked, self._connect, only=stream)

    def events(
        self,
        *sessions: str,
        since_seq: int | None = None,
        since: float | None = None,
        types: Sequence[str] = (),
        follow: bool = False,
    ) -> EventStream:
        """What happened, in order; from an event's number or from a Unix time on."""
        from orchctl.client.events import EventStream

        asked = messages.ReadEvents(
            since_seq=since_seq,
            since_unix_s=since,
            sessions=sessions,
            types=tuple(types),
            follow=follow,
            own_manager=self._own_manager,
        )
        return EventStream(asked, self._connect)

    def prune(
        self,
        *sessions: str,
        older_than_s: float | None = None,
        keep_bytes: int | None = None,
        output: bool = False,
        dry_run: bool = False,
    ) -> messages.Pruned:
        """Take ended sessions away, or their output alone; what went."""
        asked = messages.Prune(
            sessions=sessions,
            older_than_s=older_than_s,
            keep_bytes=keep_bytes,
            output=output,
            dry_run=dry_run,
            own_manager=self._own_manager,
        )
        return self._pruned(asked)

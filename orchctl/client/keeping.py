"""What a client can ask of what is kept: output, events, and that something goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchctl.client.connection import Connection
from orchctl.client.output import OutputStream
from orchctl.protocol import messages
from orchctl.session.model import Selection

if TYPE_CHECKING:
    from orchctl.client.events import EventStream


class Keeping(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    def _connect(self) -> Connection: ...

    @abstractmethod
    def _lend_where_some(self) -> Connection: ...

    @abstractmethod
    def _pruned(self, asked: messages.Prune) -> messages.Pruned: ...

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
        snapshot: bool = False,
        credit_bytes: int | None = None,
        raw: bool = False,
        commands: bool = False,
    ) -> OutputStream:
        """The log from `offset`, from the Unix time `since`, its last `lines`, or all of it.

        With `follow`, until the session is closed; in any case no further than `until`. With `snapshot` it begins now,
        and its `screen()` is what the terminal shows. With `credit_bytes`, no more than that is on its way at a time.
        `raw`: of a conversation with an agent not the transcript, but the bytes of the server that holds it.
        Chunks are as they are in the log. With `commands`, the stream's `shown(chunk)` is for people: where the shell
        shows the line that was typed for an exec, it has the command's own text.
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
            snapshot=snapshot,
            credit_bytes=credit_bytes,
            raw=raw,
            commands=commands,
        )
        return OutputStream(asked, self._lend_where_some, only=stream)

    def events(
        self,
        *sessions: str,
        selection: Selection | None = None,
        since_seq: int | None = None,
        since: float | None = None,
        types: Sequence[str] = (),
        follow: bool = False,
        lines: int | None = None,
        places: Mapping[str, int] | None = None,
    ) -> EventStream:
        """What happened, in order; from an event's number or a Unix time on, or from the last lines of a session.

        `places` are offsets in sessions' output, by id, from where on it is told.
        """
        from orchctl.client.events import EventStream
        from orchctl.session.selection import check

        chosen = selection or Selection()
        check(chosen)
        asked = messages.ReadEvents(
            since_seq=since_seq,
            since_unix_s=since,
            sessions=(*sessions, *chosen.sessions, *(f"@{name}" for name in chosen.managers)),
            labels=chosen.labels,
            repo=chosen.repo,
            types=tuple(types),
            follow=follow,
            own_manager=self._own_manager,
            lines=lines,
            places=dict(places or {}),
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

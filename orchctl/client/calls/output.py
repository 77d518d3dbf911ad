"""Calls about what sessions write: reading it, searching it, showing it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from orchctl.client.call import Call, Flow, Give, Pieces, do
from orchctl.client.caller import Caller
from orchctl.client.calls.sessions import info, look, select
from orchctl.errors import Conflict
from orchctl.plain import from_plain
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.recording import Form
    from orchctl.client.streams import OutputReading
    from orchctl.session.search import Painting, Screen, Search, Size
    from orchctl.session.stream import Gap

# reading


class Log(NamedTuple):
    """What a stream of output is made of."""

    request: messages.ReadOutput
    only: int | None


def output(
    caller: Caller,
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
) -> Log:
    """The log from `offset`, from the Unix time `since`, its last `lines`, or all of it.

    With `follow`, until the session is closed; in any case no further than `until`. With `snapshot` it begins now,
    and its `screen()` is what the terminal shows. With `credit_bytes`, no more than that is on its way at a time.
    `raw`: of a conversation with an agent not the transcript, but the bytes of the server that holds it.
    Chunks are as they are in the log. With `commands`, the stream's `shown(chunk)` is for people: where the shell
    shows the line that was typed for an exec, it has the command's own text.
    """
    request = messages.ReadOutput(
        session=session,
        own_manager=caller._own_manager,
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
    return Log(request, stream)


def events(
    caller: Caller,
    *sessions: str,
    selection: Selection | None = None,
    since_seq: int | None = None,
    since: float | None = None,
    types: Sequence[str] = (),
    follow: bool = False,
    lines: int | None = None,
    places: Mapping[str, int] | None = None,
) -> messages.ReadEvents:
    """What happened, in order; from an event's number or a Unix time on, or from the last lines of a session.

    `places` are offsets in sessions' output, by id, from where on it is told.
    """
    from orchctl.session.selection import check

    chosen = selection or Selection()
    check(chosen)
    return messages.ReadEvents(
        since_seq=since_seq,
        since_unix_s=since,
        sessions=(*sessions, *chosen.sessions, *(f"@{name}" for name in chosen.managers)),
        labels=chosen.labels,
        repo=chosen.repo,
        types=tuple(types),
        follow=follow,
        own_manager=caller._own_manager,
        lines=lines,
        places=dict(places or {}),
    )


class Logs(NamedTuple):
    """What an iterator of several outputs is made of."""

    members: Sequence[Session]
    request: messages.ReadOutput
    options: dict[str, Any]


def outputs(
    caller: Caller,
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
) -> Call[Logs]:
    """The logs of several sessions as one iterator; with `follow`, new members of the selection join.

    With `quiet_s`, silence of that length is told too. With `stories`, conversations come as their events.
    `commands` is as in `output`.
    """
    from orchctl.session.selection import chooses

    def join(session_id: str) -> Call[Session | None]:
        found = yield from look(caller, session_id)
        return found if chooses(selection, found) else None

    begun = time.time()
    log = output(
        caller,
        "",
        offset=offset,
        lines=lines,
        since=since,
        until=until,
        until_offset=until_offset,
        follow=follow,
        times=times,
        commands=commands,
    )
    members = yield from select(caller, selection, ended_too=ended_too or bool(selection.sessions))
    joins = join if follow and selection.open else None
    return Logs(members, log.request, {"join": joins, "since": begun, "quiet_s": quiet_s, "stories": stories})


# looking: workers do it, processes that read the logs; the supervisor is only asked which sessions are meant


class Searched(NamedTuple):
    """What an iterator of a search is made of."""

    search: Search
    sessions: Sequence[Session]
    sessions_dir: str


def search(
    caller: Caller,
    pattern: str,
    selection: Selection | None = None,
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    before: int | None = None,
    after: int | None = None,
    since: float | None = None,
    count: bool = False,
    limit: int | None = None,
    numbers: bool = True,
    spans: bool = True,
) -> Call[Searched]:
    """The lines that match in all that is kept, of the sessions chosen or of all, also of ended ones.

    It is done by a process of its own, which reads the logs: the supervisor is only asked who is meant.
    """
    from orchctl.search.pattern import compiled
    from orchctl.session.search import Search

    wanted = Search(
        pattern=pattern,
        fixed=fixed,
        ignore_case=ignore_case,
        before=before,
        after=after,
        since=since,
        count=count,
        limit=limit,
        numbers=numbers,
        spans=spans,
    )
    compiled(wanted)  # what is wrong with it is said before anything is started
    chosen = Selection(everything=True) if selection is None else selection
    return Searched(wanted, (yield from select(caller, chosen, ended_too=True)), caller.root.sessions)


def screen(caller: Caller, session: str) -> Call[Screen]:
    """What a session's terminal shows now; of an ended one, what it showed last."""
    from orchctl.session.search import Screen

    found = yield from info(caller, session)
    if found.backend != "pty":
        raise Conflict(f"session {found.name or found.id} has no terminal", code="no-terminal")
    made = from_plain(Screen, (yield from _work(caller, "screen", found)))
    return replace(made, name=found.name)


def painting(caller: Caller, session: Session) -> Call[Painting]:
    """How another terminal is made to show what this session's shows now."""
    from orchctl.session.search import Painting

    return from_plain(Painting, (yield from _work(caller, "screen", session, paint=True)))


def sizes(caller: Caller, session: str) -> Call[Sequence[Size]]:
    """The sizes that a session's terminal has had, and from which byte of its output on."""
    from orchctl.session.search import Size

    found = yield from info(caller, session)
    if found.backend != "pty":
        return []
    return [from_plain(Size, size) for size in (yield from _work(caller, "sizes", found))]


def _work(caller: Caller, action: str, session: Session, **options: bool) -> Call[Any]:
    request = {"sessions_dir": caller.root.sessions, "session": session.id, **options}
    return (yield from do(caller._work, action, request))


def export(
    caller: Caller, session: str, form: Form, *, on_gap: Callable[[Gap], object] | None = None
) -> Call[Flow[bytes]]:
    """What a session has written, in one of the forms of `client.recording`."""
    from orchctl.client.recording import Recording, shows_commands
    from orchctl.client.streams import OutputReading

    log = output(caller, session, times=True, commands=shows_commands(form))
    recording = Recording((yield from sizes(caller, session)), form, on_gap)
    return _recorded(OutputReading(log.request, caller._lend_where_some), recording)


def _recorded(stream: OutputReading, recording: Any) -> Flow[bytes]:
    with closing(stream._flow()) as flow:
        pieces = Pieces(flow)
        while (piece := (yield from pieces.next())) is not None:
            for data in recording.take(piece, stream):
                yield Give(data)
    yield Give(recording.end(stream))

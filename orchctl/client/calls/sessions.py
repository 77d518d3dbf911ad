"""Calls about sessions: which there are, starting, naming, controlling and ending them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from orchctl.client.call import Call
from orchctl.client.caller import Caller, ask, ask_pages, expect_some, nothing_there
from orchctl.paths import repo_of
from orchctl.protocol import messages
from orchctl.session import manager
from orchctl.session.model import KillReport, Selection, Session

if TYPE_CHECKING:
    from orchctl.client.inherited import Stdin
    from orchctl.session.command import Command


class Held(NamedTuple):
    """What a session handle is made of."""

    session: Session
    is_new: bool = False
    warnings: tuple[str, ...] = ()


def list_sessions(
    caller: Caller,
    *,
    managed_by: str | None = None,
    ended_too: bool = False,
    usage: bool = False,
    waiting: bool = False,
) -> Call[list[Session]]:
    """The live sessions, oldest first; those under `managed_by` only; ended ones too if asked.

    With `usage`, what each of them uses: `cpu`, `memory`, `io` and `processes`. With `waiting`, whether each of
    them waits for input.
    """
    if (yield from nothing_there(caller)):
        return []
    request = messages.ListSessions(managed_by=managed_by, ended_too=ended_too, usage=usage, waiting=waiting)
    pages = yield from ask_pages(caller, request, messages.SomeSessions)
    return [session for page in pages for session in page.sessions]


def select(
    caller: Caller, selection: Selection, *, ended_too: bool = False, usage: bool = False, waiting: bool = False
) -> Call[Sequence[Session]]:
    """The sessions that are meant, oldest first; one that is named and unknown is an error."""
    yield from expect_some(caller, *selection.sessions)
    if (yield from nothing_there(caller)):
        return []
    request = messages.SelectSessions(
        selection=selection, ended_too=ended_too, own_manager=caller._own_manager, usage=usage, waiting=waiting
    )
    pages = yield from ask_pages(caller, request, messages.SomeSessions)
    return [session for page in pages for session in page.sessions]


def look(caller: Caller, session: str) -> Call[Session]:
    """One session, live or ended, as it is listed."""
    (found,) = yield from select(caller, Selection(sessions=(session,)), ended_too=True)
    return found


def info(caller: Caller, session: str, *, env: bool = False) -> Call[Session]:
    """One session in full, live or ended; with what its program was started with, if asked."""
    request = messages.GetSession(session=session, own_manager=caller._own_manager, env=env)
    return (yield from ask(caller, request, messages.OneSession)).session


def session(caller: Caller, text: str) -> Call[Held]:
    """A session that is there, by id, name, prefix or `@last`."""
    return Held((yield from info(caller, text)))


def spawn(
    caller: Caller,
    command: Sequence[str] = (),
    *,
    name: str | None = None,
    managed_by: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (80, 24),
    pty: bool = True,
    restart: str = "no",
    timeout_s: float | None = None,
    idle_s: float | None = None,
    bind_pid: int | None = None,
    labels: Mapping[str, str] | None = None,
    if_exists: str = "error",
    remove: bool = False,
    echo: bool = True,
    backend: str | None = None,
    profile: str | None = None,
    model: str | None = None,
    permission: str | None = None,
    resume: str | None = None,
    prompt: str | None = None,
    stdin: Stdin | None = None,
) -> Call[Held]:
    """Start `command`, or the user's shell, in a terminal of its own, or on pipes.

    It is ended after `timeout_s`, after `idle_s` without output or input, or when the process `bind_pid` ends.
    `if_exists` says what to do when a live session has the name: `error`, `reuse` it if it runs the same
    command in the same directory, or `skip`, which gives that one whatever it runs. With `echo` false its
    terminal does not show what is typed, from the start.

    `stdin` hands bytes, a file or a descriptor over, with its end; a shell takes it for a script, another run
    reads /dev/null. `open` leaves the input to `send`, as on a terminal; `null` is /dev/null, the default on pipes.

    With the `backend` of a harness, or a `profile`, it is a conversation with an agent, begun or to `resume`;
    `permission` says what is done when the agent asks for one: `ask`, `allow` or `deny`.
    """
    import uuid

    from orchctl import procfs
    from orchctl.client import inherited

    agent = backend not in (None, "pty", "pipe") or profile is not None
    chosen = backend or ("" if agent else "pty" if pty else "pipe")
    bind_pid = caller._bound(bind_pid)
    request = messages.SpawnSession(
        session_id=str(uuid.uuid4()),
        command=tuple(command) or (("agent",) if agent else (inherited.default_shell(caller.root),)),
        cwd=os.path.abspath(cwd) if cwd else inherited.current_directory(),
        env=caller._environment(),
        given=dict(env or {}),
        name=name,
        managed_by=manager.resolve(managed_by, caller._own_manager),
        cols=size[0],
        rows=size[1],
        backend=chosen,
        restart=restart,
        timeout_s=timeout_s,
        idle_s=idle_s,
        bind_pid=bind_pid,
        bind_ticks=inherited.start_ticks(bind_pid) if bind_pid is not None else 0,
        umask=inherited.umask(),
        limits=inherited.soft_limits(),
        labels=dict(labels or {}),
        if_exists=if_exists,
        remove=remove,
        standing=procfs.security_context(),
        echo=echo,
        profile=profile,
        model=model,
        permission=permission,
        resume=resume,
        prompt=prompt,
    )
    with inherited.stdin_of(stdin, pipes=chosen == "pipe") as (word, descriptor):
        request = replace(request, stdin=word)
        needs = "" if descriptor is None else "stdin"
        answer = yield from ask(caller, request, messages.OneSession, needs=needs, descriptor=descriptor)
    return Held(answer.session, answer.session.id == request.session_id, answer.warnings)


def rename(caller: Caller, session: str, name: str | None) -> Call[Session]:
    """Another name for a live session, or none."""
    request = messages.RenameSession(session=session, name=name, own_manager=caller._own_manager)
    return (yield from ask(caller, request, messages.OneSession)).session


def label(
    caller: Caller, session: str, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()
) -> Call[Session]:
    """Set and remove labels of a live session."""
    request = messages.LabelSession(
        session=session, labels=dict(labels or {}), remove=tuple(remove), own_manager=caller._own_manager
    )
    return (yield from ask(caller, request, messages.OneSession)).session


def control(
    caller: Caller, session: str, action: str, *, signal: int = 0, size: tuple[int, int] = (0, 0), viewer: str = ""
) -> Call[Session]:
    """`signal`, `resize`, `pause` or `unpause` it; where somebody holds the lease, only its holder resizes."""
    request = messages.ControlSession(
        session=session,
        own_manager=caller._own_manager,
        action=action,
        signal=signal,
        cols=size[0],
        rows=size[1],
        viewer=viewer,
    )
    return (yield from ask(caller, request, messages.OneSession)).session


def restart(caller: Caller, session: str, *, grace_s: float = 5.0) -> Call[Session]:
    """Another run of it, after its present one was ended."""
    found = yield from info(caller, session)
    request = messages.RestartSession(
        session=found.id,
        run=found.run,
        env=caller._environment(),
        own_manager=caller._own_manager,
        grace_s=grace_s,
    )
    return (yield from ask(caller, request, messages.OneSession)).session


def kill(caller: Caller, *sessions: str, grace_s: float = 5.0, signal: int = 0) -> Call[KillReport]:
    """End sessions, forcibly once the grace period is over; asked for with `signal` first if there is one."""
    request = messages.KillSessions(sessions=sessions, own_manager=caller._own_manager, grace_s=grace_s, signal=signal)
    return (yield from ask(caller, request, messages.Killed)).report


def kill_by_manager(caller: Caller, name: str, *, exact: bool = False, grace_s: float = 5.0) -> Call[KillReport]:
    """End every session of a manager and below it."""
    manager.parse(name)
    if (yield from nothing_there(caller)):
        return KillReport()
    request = messages.KillByManager(manager=name, exact=exact, grace_s=grace_s, own_manager=caller._own_manager)
    return (yield from ask(caller, request, messages.Killed)).report


def history(caller: Caller, session: str) -> Call[Sequence[Command]]:
    """The commands run in a session's shell, oldest first."""
    yield from expect_some(caller, session)
    request = messages.GetHistory(session=session, own_manager=caller._own_manager)
    pages = yield from ask_pages(caller, request, messages.SomeCommands)
    return [command for page in pages for command in page.commands]


def prune(
    caller: Caller,
    *sessions: str,
    older_than_s: float | None = None,
    keep_bytes: int | None = None,
    output: bool = False,
    dry_run: bool = False,
) -> Call[messages.Pruned]:
    """Take ended sessions away, or their output alone; what went."""
    request = messages.Prune(
        sessions=sessions,
        older_than_s=older_than_s,
        keep_bytes=keep_bytes,
        output=output,
        dry_run=dry_run,
        own_manager=caller._own_manager,
    )
    return (yield from ask(caller, request, messages.Pruned))


def selection_of(
    words: Sequence[str],
    *,
    managers: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    repo: str | None = None,
    everything: bool = False,
) -> Selection:
    """What words of a command line mean: `@MANAGER` is a manager, `@last` and everything else a session."""
    below = [word[1:] for word in words if word.startswith("@") and word != "@last"]
    return Selection(
        sessions=tuple(word for word in words if not word.startswith("@") or word == "@last"),
        managers=(*managers, *below),
        labels=dict(labels or {}),
        repo=None if repo is None else repo_of(os.path.realpath(repo)) or os.path.realpath(repo),
        everything=everything,
    )

"""Calls that wait: until a command has ended, a session is closed, or something is true of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from orchctl.client.call import Call, Flow, Pieces
from orchctl.client.caller import Caller, ask, expect_some
from orchctl.client.calls.sessions import look, select
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.exec import CommandReading, Options
    from orchctl.session.command import Result
    from orchctl.session.model import Expected, Happened

# commands


class Run(NamedTuple):
    """What a stream of a command is made of."""

    session: str
    command: str | Sequence[str]
    options: Options


def run(caller: Caller, session: str, command: str | Sequence[str], options: Options) -> Run:
    """The same as a stream: iterate for the output as it comes."""
    return Run(session, command, options)


def exec_command(
    caller: Caller,
    session: str,
    command: str | Sequence[str],
    *,
    stdin: bytes | None = None,
    tty_stdin: bool = False,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    pipe: bool = False,
    raw: bool = False,
    record: bool = True,
    detach: bool = False,
    timeout_s: float | None = None,
    kill_after_s: float = 2.0,
    wait_prompt_s: float | None = None,
    viewer: str = "",
    lease_wait_s: float = 0.0,
    max_output: int | None = None,
    once: str | None = None,
    wait_input: bool = True,
) -> Call[Result]:
    """Run shell text, or words that arrive unchanged, in a session's live shell; back when it ended.

    To an agent it is a prompt, said once for each `once`; back when its turn ended, or, unless `wait_input`, when
    it waits for a human.
    """
    from orchctl.client.exec import CommandReading, Options, collected

    options = Options(
        stdin=stdin,
        tty_stdin=tty_stdin,
        env=env or {},
        cwd=cwd,
        pipe=pipe,
        raw=raw,
        record=record,
        detach=detach,
        timeout_s=timeout_s,
        kill_after_s=kill_after_s,
        wait_prompt_s=wait_prompt_s,
        viewer=viewer,
        lease_wait_s=lease_wait_s,
        once=once,
        wait_input=wait_input,
    )
    reading: CommandReading = CommandReading(
        session, command, options, caller._own_manager, caller._lend_where_some, caller._take_back
    )
    return (yield from collected(reading, max_output))


def detach(caller: Caller, session: str, exec_id: str) -> Call[None]:
    """Let a command go on without anybody waiting for it."""
    request = messages.DetachCommand(session=session, exec_id=exec_id, own_manager=caller._own_manager)
    yield from ask(caller, request, messages.Done)


def interrupt_command(caller: Caller, session: str, exec_id: str, *, detach: bool = False) -> Call[str]:
    """Take a command out of the queue (`withdrawn`), or, once it has begun, interrupt it (`interrupted`).

    With `detach` a command that has begun goes on without anybody waiting for it (`detached`). One that has ended
    is `over`. The interrupt reaches no other command.
    """
    request = messages.InterruptCommand(
        session=session, exec_id=exec_id, own_manager=caller._own_manager, detach=detach
    )
    return (yield from ask(caller, request, messages.CommandInterrupted)).outcome


# conditions


def check_conditions(conditions: Sequence[str]) -> None:
    """Refuse what can never hold, before anybody is asked."""
    from orchctl.session.wait import OUTPUT, check, compile_pattern

    check(conditions)
    for condition in conditions:
        if condition.startswith(OUTPUT):
            compile_pattern(condition.removeprefix(OUTPUT))


def wait(caller: Caller, session: str, *, timeout_s: float | None = None) -> Call[Session]:
    """The session once it is closed."""
    request = messages.WaitSession(session=session, own_manager=caller._own_manager)
    return (yield from ask(caller, request, messages.OneSession, timeout_s=timeout_s)).session


def wait_each(caller: Caller, sessions: Sequence[str], *, timeout_s: float | None = None) -> Call[Flow[Session]]:
    """Each of these sessions as it closes, in the order in which they do."""
    from orchctl.client.watching import closings

    def request(session: str) -> Callable[[], messages.WaitSession]:
        return lambda: messages.WaitSession(session=session, own_manager=caller._own_manager)

    yield from expect_some(caller, *sessions)
    return closings(caller._connect, {session: request(session) for session in sessions}, timeout_s)


def wait_for(
    caller: Caller, session: str, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None
) -> Call[tuple[str, Session]]:
    """The first of the conditions that holds, and the session then.

    They are `exit`, `command`, `prompt`, `input` (it waits for input), `quiet` (no output for `quiet_s`),
    `state=STATE` and `output=REGEX`.
    """
    with closing(
        (yield from wait_for_each(caller, [session], conditions, quiet_s=quiet_s, timeout_s=timeout_s))
    ) as flow:
        found = yield from Pieces(flow).next()
    assert found is not None  # a session that ends before that is an error
    return found.condition, found.session


def wait_for_each(
    caller: Caller,
    sessions: Sequence[str],
    conditions: Sequence[str],
    *,
    first_only: bool = False,
    quiet_s: float = 2.0,
    since: float | None = None,
    offset: int | None = None,
    new: bool = False,
    timeout_s: float | None = None,
) -> Call[Flow[Happened]]:
    """For each of these sessions, as it comes to hold, the first condition that does; or for the first alone.

    Output is looked at from the last input on, else from the run's start; or from the Unix time `since`, from
    `offset`, or only as far as it is `new`. A session that ends before a condition holds is an error
    (`session-ended`), unless another may still be the first.
    """
    from orchctl.client.watching import Watching

    chosen = yield from select(caller, Selection(sessions=tuple(sessions)), ended_too=True)
    given = since is not None or offset is not None or new
    request = messages.ReadOutput(
        session="",
        own_manager=caller._own_manager,
        offset=offset,
        lines=0 if new else None,
        since_unix_s=since,
        since_input=not given,
        follow=True,
        commands=True,
    )
    watching = Watching(
        caller._connect, chosen, conditions, request, quiet_s=quiet_s, look=lambda session: look(caller, session)
    )
    return watching.run(first_only=first_only, timeout_s=timeout_s)


def wait_for_output(
    caller: Caller, session: str, pattern: str, *, timeout_s: float | None = None
) -> Call[re.Match[bytes]]:
    """The first match in what the session wrote since its last input, or writes from now on."""
    from orchctl.client.streams import OutputReading, search

    request = messages.ReadOutput(
        session=session, own_manager=caller._own_manager, since_input=True, follow=True, commands=True
    )
    return (yield from search(OutputReading(request, caller._lend_where_some, timeout_s=timeout_s), pattern))


def expect(
    caller: Caller, session: str, patterns: Sequence[str | bytes], *, timeout_s: float | None = None
) -> Call[Expected]:
    """Which of the regular expressions comes first in what was written since our last input, or comes from now on.

    Our last input is that of this client's manager; if it is not known, anybody's.
    """
    from orchctl.client.streams import OutputReading
    from orchctl.client.watching import expect as expect_in

    request = messages.ReadOutput(
        session=session, own_manager=caller._own_manager, since_own_input=True, follow=True, commands=True
    )
    return (yield from expect_in(OutputReading(request, caller._lend_where_some, timeout_s=timeout_s), patterns))

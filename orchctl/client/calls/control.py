"""Calls about input, leases, agents, and the supervisor itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchctl.client import start
from orchctl.client.call import Call, do
from orchctl.client.caller import Caller, Patience, ask, nothing_there
from orchctl.client.connection import ConnectionLost
from orchctl.errors import PeerBroke, SupervisorUnreachable
from orchctl.protocol import messages
from orchctl.session.model import RestartReport, SupervisorStatus

if TYPE_CHECKING:
    from orchctl.session.agent import HarnessStatus, Pending
    from orchctl.session.lease_state import Lease

PART_BYTES = 1 << 18  # of input in one message

# input


def send(
    caller: Caller,
    session: str,
    data: bytes,
    *,
    enter: bool = False,
    once: str | None = None,
    viewer: str = "",
    lease_wait_s: float = 0.0,
) -> Call[None]:
    """Type `data`, and Enter if asked; returns when the terminal has taken it. The same `once` is typed once.

    Where somebody holds the lease, it is refused unless `viewer` is its holder's secret, or the lease becomes
    free within `lease_wait_s`.
    """
    import base64

    once = once or os.urandom(16).hex()
    for part in range(0, max(1, len(data)), PART_BYTES):
        request = messages.SendInput(
            session=session,
            own_manager=caller._own_manager,
            data_b64=base64.b64encode(data[part : part + PART_BYTES]).decode("ascii"),
            once=f"{once}/{part}",
            enter=enter and part + PART_BYTES >= len(data),
            viewer=viewer,
            lease_wait_s=lease_wait_s,
        )
        yield from ask(caller, request, messages.Done)


def send_eof(
    caller: Caller, session: str, *, once: str | None = None, viewer: str = "", lease_wait_s: float = 0.0
) -> Call[None]:
    """End the input of a session on pipes, after all that was sent before: its program reads the end of it."""
    request = messages.SendInput(
        session=session,
        own_manager=caller._own_manager,
        data_b64="",
        once=once or os.urandom(16).hex(),
        eof=True,
        viewer=viewer,
        lease_wait_s=lease_wait_s,
    )
    yield from ask(caller, request, messages.Done, needs="stdin")


def interrupt(caller: Caller, session: str) -> Call[None]:
    """What Ctrl-C does in that terminal."""
    yield from ask(caller, messages.InterruptSession(session=session, own_manager=caller._own_manager), messages.Done)


def terminal(caller: Caller, session: str, *, echo: bool | None = None) -> Call[messages.TerminalModes]:
    """The modes of its terminal; with `echo`, made to show what is typed, or not to, before."""
    request = messages.GetTerminal(session=session, own_manager=caller._own_manager, echo=echo)
    return (yield from ask(caller, request, messages.TerminalModes))


# leases: `viewer` is the secret of whoever asks, 32 hexadecimal digits of its own choosing


def lease(caller: Caller, session: str, *, viewer: str = "") -> Call[messages.LeaseState]:
    """Who may type, whether that is this viewer, and who looks on."""
    request = messages.GetLease(session=session, own_manager=caller._own_manager, viewer=viewer)
    return (yield from ask(caller, request, messages.LeaseState))


def take_lease(
    caller: Caller,
    session: str,
    *,
    viewer: str,
    ttl_s: float | None = None,
    force: bool = False,
    wait_s: float = 0.0,
    terminal: str | None = None,
) -> Call[Lease]:
    """Keep others from typing, for `ttl_s`, or for as long as this viewer is attached and types.

    Where another holds it: wait up to `wait_s` for it, or take it by force; the other is told.
    """
    request = messages.TakeLease(
        session=session,
        viewer=viewer,
        own_manager=caller._own_manager,
        terminal=terminal,
        ttl_s=ttl_s,
        force=force,
        wait_s=wait_s,
    )
    return _held((yield from ask(caller, request, messages.LeaseState)))


def release_lease(caller: Caller, session: str, *, viewer: str) -> Call[None]:
    """Let go of the lease; it must be this viewer's."""
    request = messages.ReleaseLease(
        session=session, viewer=viewer, own_manager=caller._own_manager, once=os.urandom(8).hex()
    )
    yield from ask(caller, request, messages.LeaseState)


def transfer_lease(caller: Caller, session: str, *, viewer: str, to: str, give_back: bool = False) -> Call[Lease]:
    """Hand the lease to another viewer, by its public name or its manager; with `give_back` it comes back."""
    request = messages.TransferLease(
        session=session,
        viewer=viewer,
        to=to,
        give_back=give_back,
        own_manager=caller._own_manager,
        once=os.urandom(8).hex(),
    )
    return _held((yield from ask(caller, request, messages.LeaseState)))


def _held(state: messages.LeaseState) -> Lease:
    if state.lease is None:
        raise PeerBroke("a lease was granted that nobody holds")
    return state.lease


# agents: what they want to know, the replies, and which harnesses there are


def pending(caller: Caller, *sessions: str) -> Call[Sequence[Pending]]:
    """What agents wait for a human to say, oldest first: in these sessions, or in all."""
    if not sessions and (yield from nothing_there(caller)):
        return []
    request = messages.GetPending(sessions=sessions, own_manager=caller._own_manager)
    return (yield from ask(caller, request, messages.SomePending)).pending


def approve(caller: Caller, session: str, *, request: str | None = None, always: bool = False) -> Call[Pending]:
    """Let an agent do what it asks for; `always`: and the like of it from now on, where its harness knows that."""
    return _reply(caller, session, "approve", request, always=always)


def deny(caller: Caller, session: str, *, request: str | None = None) -> Call[Pending]:
    """Do not let it."""
    return _reply(caller, session, "deny", request)


def answer(caller: Caller, session: str, text: str, *, request: str | None = None) -> Call[Pending]:
    """Answer a question, with one of its choices or with any text where that is an answer."""
    return _reply(caller, session, "answer", request, text=text)


def _reply(
    caller: Caller, session: str, action: str, request: str | None, *, always: bool = False, text: str | None = None
) -> Call[Pending]:
    reply = messages.ReplyTo(
        session=session, own_manager=caller._own_manager, action=action, request=request, always=always, text=text
    )
    (replied,) = (yield from ask(caller, reply, messages.SomePending)).pending
    return replied


def harnesses(caller: Caller) -> Call[Sequence[HarnessStatus]]:
    """Which there are, whether they are installed, and what runs."""
    request = messages.ListHarnesses(path=os.environ.get("PATH", os.defpath))
    return (yield from ask(caller, request, messages.SomeHarnesses)).harnesses


# the supervisor


def status(caller: Caller) -> Call[SupervisorStatus]:
    """Of the running supervisor; never starts one."""
    try:
        if not (yield from do(caller._find)):
            return start.not_running(caller.root)
        return (yield from start_supervisor(caller))
    except SupervisorUnreachable as error:
        if error.code != "degraded":
            raise
        from orchctl.client import degraded

        return degraded.status(caller.root, error)


def start_supervisor(caller: Caller) -> Call[SupervisorStatus]:
    """Start it if there is none."""
    return start.with_config((yield from ask(caller, messages.GetStatus(), messages.Status)).status)


def stop_supervisor(caller: Caller, *, kill: bool = False, leave: bool = False) -> Call[bool]:
    """Stop it; False if there was none. Refused while sessions live, unless they are killed or left."""
    request = messages.StopSupervisor(kill=kill, leave=leave, own_manager=caller._own_manager)
    patience = Patience()
    while True:
        try:
            return (yield from _stop(caller, request))
        except ConnectionLost as error:  # it was replaced, or has died
            yield from patience.spend(error)


def _stop(caller: Caller, request: messages.StopSupervisor) -> Call[bool]:
    try:
        yield from do(caller._end, request, False)
    except start.NotRunning:
        if not request.kill or caller._no_sessions():
            return False
        yield from do(caller._end, request, True)  # there are sessions to end, left by an earlier one
    except SupervisorUnreachable as error:
        if error.code != "degraded":
            raise
        from orchctl.client import degraded

        stopped: bool = yield from do(caller._aside, lambda: degraded.stop(caller.root, request))
        return stopped
    return True


def restart_supervisor(caller: Caller) -> Call[RestartReport]:
    """Have a new one, of the version that is installed now, take over; every session goes on."""
    old = yield from status(caller)
    if old.running:
        request = messages.RestartSupervisor(pid=old.pid or 0, zygote=old.zygote or 0, executable=sys.executable)
        yield from ask(caller, request, messages.Done)
    new = yield from start_supervisor(caller)
    return RestartReport(old_pid=old.pid, pid=new.pid, zygote=new.zygote, version=new.version, sessions=new.sessions)

"""Requests about the supervisor itself: status, end, restart, and pruning what is kept."""

from __future__ import annotations

import os

from orchctl.errors import Conflict
from orchctl.protocol import messages
from orchctl.protocol.codec import PROTOCOL
from orchctl.session.model import SupervisorStatus
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers.control import end_all
from orchctl.supervisor.prune import Pruning
from orchctl.supervisor.request import Call
from orchctl.supervisor.restart import hand_over
from orchctl.units import count
from orchctl.version import VERSION


async def get(app: Supervisor, call: Call, asked: messages.GetStatus) -> None:
    """Also the cheapest way to see that it lives."""
    status = SupervisorStatus(
        running=True,
        pid=os.getpid(),
        zygote=app.zygote.pid,
        version=VERSION,
        protocol=PROTOCOL,
        started_at=app.started_at,
        sessions=len(app.registry.live()),
        socket=app.root.socket,
        state_dir=app.root.path,
        chain_head=app.house.teller.events.head,
        problems=app.house.config.problems,
        config=app.house.configuration.path,
    )
    await call.say(messages.Status(status=status))


async def stop(app: Supervisor, call: Call, asked: messages.StopSupervisor) -> None:
    """Refused while sessions live, unless they are to be ended or left to go on without us."""
    live = app.registry.live()
    if asked.kill:
        report = await end_all(app.registry.all(), asked.grace_s)
        if report.survivors:
            pids = ", ".join(map(str, report.survivors))
            raise Conflict(f"these processes would not end: {pids}; the supervisor goes on", code="survivors")
    elif live and not asked.leave:
        names = ", ".join(session.run.name or session.spec.id for session in live[:10])
        more = f" and {len(live) - 10} more" if len(live) > 10 else ""
        raise Conflict(
            f"{count(len(live), 'live session')}: {names}{more}; "
            "'stop --kill' ends them, 'stop --leave' lets them go on",
            code="sessions-live",
        )
    if not asked.leave:
        await end_all(app.registry.servers(), asked.grace_s)
    app.house.teller.announce("input", managed_by=None, who=asked.own_manager, action="stop")
    await call.say(messages.Done())
    app.stop.set()


async def restart(app: Supervisor, call: Call, asked: messages.RestartSupervisor) -> None:
    """Answered by the one that took over: whoever asks loses the connection, and asks it again."""
    async with app.restarting:
        if os.getpid() == asked.pid or app.zygote.pid == asked.zygote:
            await hand_over(app, asked.executable, asked.pid)
    await call.say(messages.Done())


NAMED = 100  # sessions in the event about a prune


async def prune(app: Supervisor, call: Call, asked: messages.Prune) -> None:
    """Answered with what went, or would go."""
    default = asked.older_than_s is None and asked.keep_bytes is None and not asked.sessions
    age = app.house.config.ended_s if default else asked.older_than_s
    meant = messages.Prune(
        sessions=asked.sessions,
        older_than_s=age,
        keep_bytes=asked.keep_bytes,
        output=asked.output,
        dry_run=asked.dry_run,
        own_manager=asked.own_manager,
    )
    pruned = await Pruning(app).prune(meant)
    if pruned.sessions and not asked.dry_run:
        what = {"action": "prune", "sessions": list(pruned.sessions[:NAMED]), "count": len(pruned.sessions)}
        app.house.teller.announce("input", managed_by=None, who=asked.own_manager, **what, output=asked.output)
    await call.say(pruned)

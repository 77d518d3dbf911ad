"""What is kept: sessions to be taken away."""

from __future__ import annotations

from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.prune import Pruning
from orchctl.supervisor.request import Call

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

"""Input: what is typed, or said to an agent; and the interrupt."""

from __future__ import annotations

import base64
import binascii

from orchctl.errors import BadInput
from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call


async def send(app: Supervisor, call: Call, asked: messages.SendInput) -> None:
    """Answered when the terminal, or the agent, has taken all of it."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    try:
        data = base64.b64decode(asked.data_b64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the input is not base64") from None
    await session.send(asked, data)
    await call.say(messages.Done())


async def interrupt(app: Supervisor, call: Call, asked: messages.InterruptSession) -> None:
    """What it does now."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    await session.interrupt(asked.own_manager)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, interrupt=True)
    await call.say(messages.Done())

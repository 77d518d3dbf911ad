"""Commands in a live shell, prompts to an agent: run, detach, look back."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace

from orchctl.errors import BadInput
from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.exec.answer import TEXT_SHOWN
from orchctl.supervisor.request import Call, pages
from orchctl.supervisor.session import SupervisedSession
from orchctl.units import LONGEST_S

_EXEC_ID = re.compile(r"[A-Za-z0-9-]{8,40}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPOOLS = {"stdin": "i", "text": "t"}


async def exec_command(app: Supervisor, call: Call, asked: messages.ExecCommand) -> None:
    """Run it, or come back to it; answered by its output and then by how it ended."""
    _check(asked)
    await app.registry.find(asked.session, asked.own_manager).exec(call, asked)


async def put_spool(app: Supervisor, call: Call, asked: messages.PutSpool) -> None:
    """A part of what a command is to read, or of its own text."""
    if not _EXEC_ID.fullmatch(asked.exec_id) or asked.what not in SPOOLS:
        raise BadInput("a part of nothing that is known")
    store = app.registry.find(asked.session, asked.own_manager).spool(call, asked)
    try:
        data = base64.b64decode(asked.data_b64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the part is not base64") from None
    name = f"{SPOOLS[asked.what]}{asked.exec_id}"
    if asked.offset > (size := store.size_of(name)):  # parts come in order; a hole would be read as zero bytes
        raise BadInput(f"a part at byte {asked.offset} of a file that ends at {size}", code="bad-offset")
    store.put_part(name, asked.offset, data)
    await call.say(messages.Done())


async def detach(app: Supervisor, call: Call, asked: messages.DetachCommand) -> None:
    """The command goes on, whoever leaves."""
    session = app.registry.find(asked.session, asked.own_manager)
    if (running := session.command(asked.exec_id)) is not None:
        running.detach()
    await call.say(messages.Done())


async def interrupt_command(app: Supervisor, call: Call, asked: messages.InterruptCommand) -> None:
    """Take it out of the queue, or interrupt it if it has begun: decided here, in one step."""
    if not _EXEC_ID.fullmatch(asked.exec_id):
        raise BadInput("a command's id is 8 to 40 letters, digits and dashes")
    session = _running_in(app, asked.exec_id) or app.registry.find(asked.session, asked.own_manager)
    outcome = "over" if session.closed else await session.interrupt_command(asked)
    if outcome == "interrupted":
        app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, interrupt=True)
    await call.say(messages.CommandInterrupted(outcome=outcome))


def _running_in(app: Supervisor, exec_id: str) -> SupervisedSession | None:
    """Where a command is by its id: a name, or `@last`, may mean another session than when it was asked for."""
    return next((one for one in app.registry.live() if one.command(exec_id) is not None), None)


async def history(app: Supervisor, call: Call, asked: messages.GetHistory) -> None:
    """Oldest first; what runs now is the last."""
    found = app.registry.find(asked.session, asked.own_manager).history()
    parts = pages([replace(one, text=one.text[:TEXT_SHOWN]) for one in found])
    for number, page in enumerate(parts, 1):
        await call.say(messages.SomeCommands(commands=tuple(page), more=number < len(parts)))


def _check(asked: messages.ExecCommand) -> None:
    if not _EXEC_ID.fullmatch(asked.exec_id):
        raise BadInput("a command's id is 8 to 40 letters, digits and dashes")
    if "\0" in asked.text or any("\0" in word for word in (*asked.argv, *asked.env.values(), asked.cwd or "")):
        raise BadInput("a NUL byte in the command, which no shell can take", code="nul-byte")
    bad = next((name for name in asked.env if not _NAME.fullmatch(name)), None)
    if bad is not None:
        raise BadInput(f"{bad!r} is not the name of a variable", code="bad-env")
    if asked.stdin not in ("null", "spool", "tty"):
        raise BadInput(f"stdin is {asked.stdin!r}")
    for seconds in (asked.timeout_s, asked.kill_after_s, asked.wait_prompt_s):
        if seconds is not None and not 0 <= seconds <= LONGEST_S:
            raise BadInput(f"{seconds} seconds", code="bad-duration")

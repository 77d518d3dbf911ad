"""Scenes on the server of `stub.py`: a host, a conversation, a prompt that is worked on."""

from __future__ import annotations

from typing import Any

from orchctl.agents.interface import Prompt
from orchctl.agents.opencode.http import Patience
from orchctl.session.events import Delivered, Opened, TurnStarted
from tests.agents.opencode.hosting import MemoryHost
from tests.agents.opencode.stub import Stub

HERE, THERE = "/w/a", "/w/b"


def host_of(stub: Stub, **patience: Any) -> MemoryHost:
    """One that has heard the server say where it listens."""
    limits = Patience(**{"look_again_s": 0.1, **patience})
    return MemoryHost(stub.notes, lambda: b"opencode server listening on http://127.0.0.1\n", limits)


async def begun(host: MemoryHost, stub: Stub, session: str = "s1", directory: str = HERE) -> str:
    """A conversation with a prompt that has come back and is worked on; its id at the server."""
    opened = await host.opened(session, directory)
    assert isinstance(opened, Opened)
    native = opened.native["id"]
    host.server.send(session, Prompt(text="go", once="p1"))
    await host.until(lambda: host.of(Delivered, session) or None)
    work(stub, native)
    await host.until(lambda: host.of(TurnStarted, session) or None)
    return native


def work(stub: Stub, native: str) -> str:
    """The prompt comes back, and an answer begins; the prompt's id."""
    message = str(stub.messages[native][-1]["info"]["id"])
    stub.push("message.updated", sessionID=native, info=stub.messages[native][-1]["info"])
    stub.status[native] = {"type": "busy"}
    stub.push("session.status", sessionID=native, status={"type": "busy"})
    return message


def an_answer(native: str, text: str, *, completed: bool = True, **more: Any) -> dict[str, Any]:
    """As it can be read."""
    time = {"created": 1, **({"completed": 2} if completed else {})}
    info = {"id": "msg_ffffffffffff00000000000000", "sessionID": native, "role": "assistant", "time": time, **more}
    part = {"id": "prt_1", "sessionID": native, "messageID": info["id"], "type": "text", "text": text}
    return {"info": info, "parts": [{**part, "time": {"start": 1, "end": 2}}]}


def idle(stub: Stub, native: str) -> None:
    """The server is done."""
    stub.status.pop(native, None)
    stub.push("session.status", sessionID=native, status={"type": "idle"})
    stub.push("session.idle", sessionID=native)

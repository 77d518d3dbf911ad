"""Reading from the server what the stream of events did not tell, as one record for the raw log."""

from __future__ import annotations

from typing import Any

from orchctl.agents.opencode import records
from orchctl.agents.opencode.http import Door
from orchctl.agents.opencode.ids import before
from orchctl.agents.opencode.translate import Translator

_PAGE = 50  # messages; a turn seldom has more
_PAGES = 40  # a turn of two thousand messages is read from its end


async def read(door: Door, translator: Translator, session: str, *, last: bool = False) -> bytes | None:
    """All about the open turn of a session; None when it has none any more."""
    conversation, directory = translator.conversation(session), translator.directory(session)
    if conversation is None or directory is None or conversation.turn is None:
        return None
    since = conversation.turn.message
    # first of all, because what is idle now has said all that it will
    status = (await door.ask("GET", "/session/status", directory=directory)).value or {}
    permissions = (await door.ask("GET", "/permission", directory=directory)).value or []
    questions = (await door.ask("GET", "/question", directory=directory)).value or []
    children = await _children(door, conversation.native, directory)
    family = {conversation.native, *children}
    messages: list[Any] = []
    for native in (conversation.native, *children):
        messages += await _messages(door, native, directory, since)
    return records.line(
        records.READ,
        session=session,
        status=status.get(conversation.native),
        messages=messages,
        permissions=[one for one in permissions if one.get("sessionID") in family],
        questions=[one for one in questions if one.get("sessionID") in family],
        children=children,
        last=last,
    )


async def _children(door: Door, native: str, directory: str) -> dict[str, str]:
    """Sub-agents of it, and theirs, each with the conversation that began it."""
    found: dict[str, str] = {}
    waiting = [native]
    while waiting:
        parent = waiting.pop()
        answer = await door.ask("GET", f"/session/{parent}/children", directory=directory)
        for one in answer.value if answer.ok and isinstance(answer.value, list) else ():
            if one["id"] not in found:
                found[one["id"]] = parent
                waiting.append(one["id"])
    return found


async def _messages(door: Door, native: str, directory: str, since: str) -> list[Any]:
    """Those of the open turn, oldest first."""
    found: list[Any] = []
    more: dict[str, str] = {}
    for _ in range(_PAGES):
        path = f"/session/{native}/message"
        answer = await door.ask("GET", path, None, directory=directory, limit=str(_PAGE), **more)
        page = answer.value if answer.ok and isinstance(answer.value, list) else []
        found = [*page, *found]
        if not page or answer.next is None or before(str(page[0]["info"]["id"]), since):
            break
        more = {"before": answer.next}
    return [one for one in found if not before(str(one["info"]["id"]), since)]

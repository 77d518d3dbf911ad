"""Traffic recorded from opencode 1.18.33, as lines of a raw log.

Rows are `{"event": …}` as it came on the stream of a directory, and `{"get": …, "answer": …}` for what was read
beside it. Prompts were posted by hand then, so our records of them are put in where their messages come back.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from orchctl.agents.opencode import records
from orchctl.agents.opencode.conversation import Conversation
from orchctl.agents.opencode.translate import Translator
from orchctl.session.events import AgentEvent, Reasoning, Text

FOLDER = Path(__file__).parent / "transcripts"
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9]*.ndjson"))
CUT_OFF = {"50_kill9_during_text", "51_sigterm_during_tool", "52_kill9_pending_permission"}
HALVES = {"33_gap_reconnect_part1", "33_gap_reconnect_part2"}
ONE_TURN = [name for name in NAMES if name not in {*CUT_OFF, *HALVES, "25_sync_message_endpoint"}]
SESSION, DIRECTORY = "ours", "/w/proj/a"
T = TypeVar("T")


@functools.cache
def rows(name: str) -> list[dict[str, Any]]:
    """All that was recorded under this name."""
    return [json.loads(line) for line in (FOLDER / f"{name}.ndjson").read_text().splitlines()]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The events of one conversation, which is known from the start."""

    native: str
    lines: list[bytes]
    messages: list[dict[str, Any]]  # as they could be read at the end

    def translator(self) -> Translator:
        """One that knows the conversation and has heard nothing."""
        translator = Translator()
        translator.know(SESSION, self.native, DIRECTORY)
        return translator


def _info(event: dict[str, Any]) -> dict[str, Any]:
    info = event.get("properties", {}).get("info")
    return info if isinstance(info, dict) else {}


def conversations(name: str) -> list[str]:
    """The ids of conversations in which something was asked, without sub-agents."""
    found: list[str] = []
    children: set[str] = set()
    for event in (row["event"] for row in rows(name) if "event" in row):
        info = _info(event)
        if event["type"] == "session.created" and info.get("parentID"):
            children.add(info["id"])
        if info.get("role") == "user" and info["sessionID"] not in (*found, *children):
            found.append(info["sessionID"])
    return found


@functools.cache
def recording(name: str, native: str | None = None) -> Recording:
    """With our record of a prompt before the message that it became, unless a turn is open."""
    native = native or conversations(name)[0]
    lines: list[bytes] = []
    messages: dict[str, dict[str, Any]] = {}
    known: set[str] = set()
    translator = Translator()
    translator.know(SESSION, native, DIRECTORY)
    for row in rows(name):
        if "event" not in row:
            continue
        event, info = row["event"], _info(row["event"])
        upsert(messages, event)
        conversation = translator.conversation(SESSION)
        assert conversation is not None
        mine = info.get("role") == "user" and info["sessionID"] == native and info["id"] not in known
        if mine and conversation.turn is None:
            lines.append(records.line(records.POSTING, session=SESSION, once=f"p{len(known)}", message=info["id"]))
            translator.hear(lines[-1])
        if mine:
            known.add(info["id"])
        lines.append(json.dumps(event).encode())
        translator.hear(lines[-1])
    return Recording(native=native, lines=lines, messages=list(messages.values()))


def upsert(messages: dict[str, dict[str, Any]], event: dict[str, Any]) -> None:
    """What `GET /session/ID/message` would show: a text only once it is complete."""
    fields, info = event.get("properties", {}), _info(event)
    if event["type"] == "message.updated":
        messages.setdefault(info["id"], {"info": {}, "parts": []})["info"] = info
    elif event["type"] == "message.part.updated":
        part = fields["part"]
        parts = messages.setdefault(part["messageID"], {"info": {}, "parts": []})["parts"]
        parts[:] = [one for one in parts if one["id"] != part["id"]] + [part]


def heard(translator: Translator, lines: list[bytes]) -> list[AgentEvent]:
    """What they tell, one after another."""
    return [one for line in lines for _, told in translator.hear(line) for one in told]


def said(happenings: list[AgentEvent]) -> dict[str, str]:
    """The texts and thoughts, by the part that they belong to."""
    texts: dict[str, str] = {}
    for one in happenings:
        if isinstance(one, Text | Reasoning):
            texts[one.part] = texts.get(one.part, "") + one.text
    return texts


def told(name: str) -> list[AgentEvent]:
    """All that a recording tells."""
    found = recording(name)
    return heard(found.translator(), found.lines)


def of(kind: type[T], happenings: list[AgentEvent]) -> list[T]:
    """Those of one kind."""
    return [one for one in happenings if isinstance(one, kind)]


def event(kind: str, **fields: Any) -> bytes:
    """As the stream of a directory has it."""
    return json.dumps({"id": "evt_1", "type": kind, "properties": fields}).encode()


def a_turn(native: str = "ses_root") -> Translator:
    """One conversation, in which a prompt has come back as a message and is being worked on."""
    translator = Translator()
    translator.know(SESSION, native, DIRECTORY)
    heard(
        translator,
        [
            records.line(records.POSTING, session=SESSION, once="p1", message="msg_1"),
            event("message.updated", sessionID=native, info={"id": "msg_1", "sessionID": native, "role": "user"}),
            event("session.status", sessionID=native, status={"type": "busy"}),
        ],
    )
    return translator


def conversation(translator: Translator) -> Conversation:
    """The one that there is."""
    found = translator.conversation(SESSION)
    assert found is not None
    return found


def children_at(found: Recording, end: int) -> dict[str, str]:
    """Conversations of sub-agents, with those that began them."""
    infos = [json.loads(line).get("properties", {}).get("info") or {} for line in found.lines[:end]]
    return {info["id"]: info["parentID"] for info in infos if info.get("parentID") and info["id"].startswith("ses")}

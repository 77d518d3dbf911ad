"""A harness without an agent: its server does what prompts tell it. For trying out what holds for all harnesses."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any

from orchctl.agents import jsonrpc
from orchctl.agents.interface import Harness, Host, Launch, Opening, Profile, Prompt, Reply, Server
from orchctl.agents.jsonrpc import Name
from orchctl.errors import BadInput
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    Choice,
    Closed,
    Delivered,
    Need,
    NeedsInput,
    NotOpened,
    Opened,
    Phase,
    Reasoning,
    Refused,
    Text,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
    Usage,
)

CHOICES = (
    Choice(id="yes", label="Allow", kind="allow"),
    Choice(id="always", label="Always allow", kind="always"),
    Choice(id="no", label="Deny", kind="deny"),
)


def agent_event(event: dict[str, Any]) -> AgentEvent:
    """Of one event."""
    kind = str(event.get("kind", ""))
    make = _KINDS.get(kind)
    return make(event) if make is not None else Unknown(kind=kind or "nothing")


def _tool(event: dict[str, Any]) -> Tool:
    return Tool(
        id=event["id"],
        phase=Phase(event["phase"]),
        name=event.get("name", ""),
        title=event.get("title", ""),
        output=event.get("output", ""),
        ok=event.get("ok"),
    )


def _asks(event: dict[str, Any]) -> NeedsInput:
    options = tuple(Choice(id=one, label=one) for one in event.get("options", ()))
    return NeedsInput(
        request=event["request"],
        need=Need(event["need"]),
        title=event["title"],
        choices=CHOICES if event["need"] == Need.PERMISSION else options,
        free_text=event["need"] == Need.QUESTION,
        tool=event.get("tool"),
        subagent=event.get("subagent"),
    )


def _ended(event: dict[str, Any]) -> TurnEnded:
    usage = Usage(input_tokens=event.get("input", 0), output_tokens=event.get("output", 0))
    return TurnEnded(turn=event["turn"], end=TurnEnd(event["end"]), usage=usage, error=event.get("error"))


_KINDS: dict[str, Callable[[dict[str, Any]], AgentEvent]] = {
    "text": lambda event: Text(text=event["text"], part=event.get("part", "")),
    "reasoning": lambda event: Reasoning(text=event["text"]),
    "tool": _tool,
    "asks": _asks,
    "answered": lambda event: Answered(request=event["request"], reply=event.get("reply", "")),
    "checkpoint": lambda event: Checkpoint(native=event["native"]),
    "trouble": lambda event: Trouble(code=event["code"], message=event["message"], again=event.get("again", False)),
    "turn-started": lambda event: TurnStarted(turn=event["turn"]),
    "turn-ended": _ended,
}


class ScriptedServer:
    """One process; conversations are told apart by the name that the server gave them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._peer = jsonrpc.Peer(host.write)
        self._native: dict[str, str] = {}  # our session → the server's name for it
        self._sessions: dict[str, str] = {}

    @property
    def owes(self) -> bool:
        return self._peer.owed

    def begin(self) -> None:
        self._peer.ask(Name(what="hello"), "hello")

    def know(self, opening: Opening) -> None:
        self._bind(opening.session, opening.native.get("id", ""))

    def open(self, opening: Opening) -> None:
        params = {"cwd": opening.cwd, "model": opening.model, "conversation": opening.native.get("id")}
        self._peer.ask(Name(what="open", session=opening.session), "open", params)

    def send(self, session: str, prompt: Prompt) -> None:
        params = {"conversation": self._native[session], "text": prompt.text}
        self._peer.ask(Name(what="prompt", session=session, more=prompt.once), "prompt", params)

    def reply(self, session: str, request: str, reply: Reply) -> None:
        """Told, not asked: that the request is answered is heard as an event."""
        self._peer.tell("reply", {"request": request, "choice": reply.choice, "text": reply.text})

    def interrupt(self, session: str) -> None:
        self._peer.tell("interrupt", {"conversation": self._native[session]})

    def close(self, session: str) -> None:
        self._peer.ask(Name(what="close", session=session), "close", {"conversation": self._native.get(session)})

    def hear(self, line: bytes) -> None:
        heard = jsonrpc.read(line)
        if isinstance(heard, jsonrpc.Answer):
            if self._peer.take(heard):
                self._hear_answer(heard)
        elif isinstance(heard, jsonrpc.Told):
            session = self._sessions.get(str(heard.params.get("conversation")))
            if session is not None:
                self._host.emit(session, *_understood(heard.params))
        elif isinstance(heard, jsonrpc.Asked):
            self._peer.refuse(heard.id, "nobody knows this")

    async def attend(self) -> None:
        """It has no I/O of its own."""

    def _bind(self, session: str, native: str) -> None:
        self._native[session] = native
        self._sessions[native] = session

    def _hear_answer(self, answer: jsonrpc.Answer) -> None:
        name = answer.name
        if name.what == "hello":
            self._host.ready(str(answer.result.get("version")) if isinstance(answer.result, dict) else None)
        elif name.what == "open" and answer.code is None:
            self._bind(name.session, answer.result["conversation"])
            native = {"id": answer.result["conversation"]}
            self._host.emit(name.session, Opened(native=native, model=answer.result.get("model")))
        elif name.what == "open":
            self._host.emit(name.session, NotOpened(code="not-opened", message=answer.message))
        elif name.what == "prompt" and answer.code is None:
            self._host.emit(name.session, Delivered(once=name.more))
        elif name.what == "prompt":
            self._host.emit(name.session, Refused(once=name.more, code="refused", message=answer.message))
        elif name.what == "close":
            self._host.emit(name.session, Closed())


def _understood(event: dict[str, object]) -> tuple[AgentEvent, ...]:
    try:
        found = agent_event(event)
    except (KeyError, ValueError, TypeError):
        return (Unknown(kind=str(event.get("kind"))),)
    if isinstance(found, TurnEnded) and found.end is TurnEnd.FAILED:
        return (Trouble(code="turn-failed", message=found.error or ""), found)
    return (found,)


class ScriptedHarness:
    """A profile says which program it is."""

    name = "scripted"
    shared = True
    speaks_on_stdout = True
    passes = ("SCRIPTED_*",)
    tested = ("1.0", "1.9")
    install = 'a profile with harness = "scripted" and the argv of a server'

    def program(self, profile: Profile, path: str) -> str | None:
        return shutil.which(profile.argv[0], path=path) if profile.argv else None

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        return Launch(argv=(program, *profile.argv[1:]))

    def version_of(self, printed: str) -> str | None:
        return next(iter(reversed(printed.split())), None)

    def check(self, profile: Profile, opening: Opening) -> None:
        """It knows one model."""
        if opening.model not in (None, "fake", "slow"):
            raise BadInput(f"there is no model {opening.model!r}; there are fake and slow", code="unknown-model")

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        return ScriptedServer(host)


HARNESS: Harness = ScriptedHarness()


__all__ = ["HARNESS"]

"""How a conversation with an agent is begun, resumed, and given the settings that were asked for.

Each step's id says what is left to be done, so that its answer is understood by whoever hears it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from orchctl.agents.acp import settling
from orchctl.agents.acp.translate import message_of
from orchctl.agents.interface import Host, Opening
from orchctl.agents.jsonrpc import Answer, Name, Peer
from orchctl.session.happening import Happening, NotOpened, Opened, Trouble

MARK = "_orchctl/mark"  # known to no agent: its refusal says that the agent has come to it
AUTH_REQUIRED = -32000
WHATS = ("open", "settle", "unfit", "unable")
_LOST = Trouble(code="not-resumed", message="the agent could not resume the conversation; this is a new one")
Record = dict[str, Any]


class Openings:
    """Of one process. `bind` is told which conversation a session has, once it is there."""

    def __init__(self, host: Host, peer: Peer, bind: Callable[[str, str], None]) -> None:
        self._host = host
        self._peer = peer
        self._bind = bind
        self._asked: dict[str, Opening] = {}
        self.can: frozenset[str] = frozenset()  # what the agent can: `load`, `resume`, `close`
        self.unfit: str | None = None  # why it cannot be used at all

    def know(self, native: Mapping[str, str]) -> None:
        """What the agent could when this conversation was opened, it can still."""
        self.can |= set(native.get("can", "").split())

    def open(self, opening: Opening) -> None:
        """Begin or resume."""
        self._asked[opening.session] = opening
        self.know(opening.native)
        native = opening.native.get("id")
        if self.unfit is not None:
            self._peer.ask(Name(what="unfit", session=opening.session), MARK)
        elif native is None:
            self._ask(opening, "session/new", {})
        elif self.can & {"resume", "load"}:
            # a replay of all that was said is of no use to us
            self._ask(opening, "session/resume" if "resume" in self.can else "session/load", {"sessionId": native})
        else:
            more = json.dumps({"ours": "can" in opening.native})
            self._peer.ask(Name(what="unable", session=opening.session, more=more), MARK)

    def hear(self, name: Name, answer: Answer) -> list[Happening]:
        """An answer to one of the steps."""
        if name.what == "unfit":
            return [NotOpened(code="unfit", message=self.unfit or "this agent cannot be used")]
        left = json.loads(name.more)
        if name.what == "unable":
            return self._not_resumed(name.session, "this agent cannot resume a conversation", ours=left["ours"])
        if name.what == "settle":
            return self._settled(name.session, answer, left)
        return self._opened(name.session, answer, left)

    def _ask(self, opening: Opening, method: str, more: Record) -> None:
        left = {
            **more,
            "model": opening.model,
            "mode": opening.options.get("mode"),
            "ours": "can" in opening.native,
            "can": " ".join(sorted(self.can)),
        }
        params = {"cwd": opening.cwd, "mcpServers": []}
        params |= {"sessionId": more["sessionId"]} if "sessionId" in more else {}
        self._peer.ask(Name(what="open", session=opening.session, more=json.dumps(left)), method, params)

    def _opened(self, session: str, answer: Answer, left: Record) -> list[Happening]:
        resumed = "sessionId" in left
        if answer.code == AUTH_REQUIRED:
            return [NotOpened(code="auth", message=f"log in with the agent's own command first: {message_of(answer)}")]
        if answer.code is not None and resumed:
            return self._not_resumed(session, message_of(answer), ours=left["ours"])
        if answer.code is not None:
            return [NotOpened(code="not-opened", message=message_of(answer))]
        result = answer.result if isinstance(answer.result, dict) else {}
        native = str(result.get("sessionId") or left["sessionId"])
        try:
            steps = settling.steps(native, result, model=left["model"], mode=left["mode"], resumed=resumed)
        except settling.NotOffered as problem:
            return [NotOpened(code=problem.code, message=str(problem))]
        model = left["model"] or settling.model_of(result)
        then = {"native": native, "can": left["can"], "model": model, "lost": bool(left.get("lost"))}
        return self._settle(session, {**then, "steps": [[step.method, step.params] for step in steps]})

    def _settle(self, session: str, left: Record) -> list[Happening]:
        """One setting after another; then it is open."""
        if not left["steps"]:
            self._bind(session, left["native"])
            opened = Opened(native={"id": left["native"], "can": left["can"]}, model=left["model"])
            return [opened, *([_LOST] if left["lost"] else [])]
        if not self._host.replaying:
            method, params = left["steps"][0]
            more = json.dumps({**left, "steps": left["steps"][1:]})
            self._peer.ask(Name(what="settle", session=session, more=more), method, params)
        return []

    def _settled(self, session: str, answer: Answer, left: Record) -> list[Happening]:
        if answer.code is not None:
            return [NotOpened(code="not-offered", message=f"the agent does not take a setting: {message_of(answer)}")]
        return self._settle(session, left)

    def _not_resumed(self, session: str, why: str, *, ours: bool) -> list[Happening]:
        """A conversation of ours goes on as a new one; one that somebody asked for by its name does not."""
        opening = self._asked.get(session)
        if not ours:
            return [NotOpened(code="not-resumed", message=why)]
        if opening is not None and not self._host.replaying:
            self._ask(opening, "session/new", {"lost": True})
        return []

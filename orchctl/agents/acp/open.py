"""How a conversation with an agent is begun, resumed, and given the settings that were asked for.

Each step's id says what is left to be done, so that its answer is understood by whoever hears it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from orchctl.agents.acp.translate import message_of
from orchctl.agents.interface import Host, Opening
from orchctl.agents.jsonrpc import Answer, Name, Peer
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import AgentEvent, NotOpened, Opened, Trouble

Record = dict[str, Any]
ASKING = "default"  # agents that have modes call the one in which a human is asked by this name


class NotOffered(Exception):
    """What was asked for is not to be had. `code` is stable."""

    def __init__(self, why: str, code: str = "not-offered") -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request that changes a setting."""

    method: str
    params: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    what: str
    method: str
    fixed: Record
    key: str
    current: object
    offered: dict[str, str]  # value → name

    def step(self, wanted: str) -> Step | None:
        """To get there; None when it is so."""
        value = self.find(wanted)
        if value is None:
            known = ", ".join(self.offered) or "none"
            raise NotOffered(f"there is no {self.what} {wanted!r}; there are {known}", f"unknown-{self.what}")
        return None if value == self.current else Step(method=self.method, params={**self.fixed, self.key: value})

    def find(self, wanted: str) -> str | None:
        """The value that goes by this word: by itself, or by its name for people."""
        if wanted in self.offered:
            return wanted
        return next((value for value, name in self.offered.items() if name == wanted), None)


def settling_steps(session: str, result: Record, *, model: str | None, mode: str | None, resumed: bool) -> list[Step]:
    """What is to be asked before the conversation is as it was wanted. Raises NotOffered."""
    found = []
    for what, wanted in (("mode", mode), ("model", model)):
        setting = _setting(session, result, what)
        if setting is None and wanted is not None and not resumed:
            raise NotOffered(f"this agent does not let its {what} be chosen here; the profile's argv or env may")
        if setting is None:
            continue  # one that was resumed is as it was
        if wanted is not None:
            found.append(setting.step(wanted))
        elif what == "mode" and ASKING in setting.offered:
            found.append(setting.step(ASKING))  # in some, a model decides instead of a human
    return [step for step in found if step is not None]


def model_of(result: Record) -> str | None:
    """The model that the agent says it uses."""
    setting = _setting("", result, "model")
    return str(setting.current) if setting is not None and setting.current else None


def _setting(session: str, result: Record, what: str) -> _Setting | None:
    for option in result.get("configOptions") or ():
        if isinstance(option, dict) and what in (option.get("category"), option.get("id")):
            values = [one for one in option.get("options") or () if isinstance(one, dict)]
            return _Setting(
                what=what,
                method="session/set_config_option",
                fixed={"sessionId": session, "configId": option.get("id")},
                key="value",
                current=option.get("currentValue"),
                offered={str(one.get("value")): str(one.get("name")) for one in values if "value" in one},
            )
    listed = result.get(f"{what}s")
    if not isinstance(listed, dict):
        return None
    key, many = (("modeId", "availableModes"), ("modelId", "availableModels"))[what == "model"]
    values = [one for one in listed.get(many) or () if isinstance(one, dict)]
    return _Setting(
        what=what,
        method=f"session/set_{what}",
        fixed={"sessionId": session},
        key=key,
        current=listed.get(f"current{what.capitalize()}Id"),
        offered={str(one.get(key) or one.get("id")): str(one.get("name")) for one in values},
    )


MARK = "_orchctl/mark"  # known to no agent: its refusal says that the agent has come to it
AUTH_REQUIRED = -32000
WHATS = ("open", "settle", "unfit", "unable")
_LOST = Trouble(code="not-resumed", message="the agent could not resume the conversation; this is a new one")


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

    def hear(self, name: Name, answer: Answer) -> list[AgentEvent]:
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

    def _opened(self, session: str, answer: Answer, left: Record) -> list[AgentEvent]:
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
            steps = settling_steps(native, result, model=left["model"], mode=left["mode"], resumed=resumed)
        except NotOffered as problem:
            return [NotOpened(code=problem.code, message=str(problem))]
        model = left["model"] or model_of(result)
        then = {"native": native, "can": left["can"], "model": model, "lost": bool(left.get("lost"))}
        return self._settle(session, {**then, "steps": [[step.method, step.params] for step in steps]})

    def _settle(self, session: str, left: Record) -> list[AgentEvent]:
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

    def _settled(self, session: str, answer: Answer, left: Record) -> list[AgentEvent]:
        if answer.code is not None:
            return [NotOpened(code="not-offered", message=f"the agent does not take a setting: {message_of(answer)}")]
        return self._settle(session, left)

    def _not_resumed(self, session: str, why: str, *, ours: bool) -> list[AgentEvent]:
        """A conversation of ours goes on as a new one; one that somebody asked for by its name does not."""
        opening = self._asked.get(session)
        if not ours:
            return [NotOpened(code="not-resumed", message=why)]
        if opening is not None and not self._host.replaying:
            self._ask(opening, "session/new", {"lost": True})
        return []

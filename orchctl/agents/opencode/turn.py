"""What one prompt has led to so far, and how that ends. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import AgentEvent, Phase, Reasoning, Text, Tool, TurnEnd, TurnEnded, Usage

_KINDS: dict[str, type[Text] | type[Reasoning]] = {"text": Text, "reasoning": Reasoning}
_HALF = re.compile("[\ud800-\udfff]")
_TELLING = ("command", "filePath", "path", "pattern", "url", "query", "description")


@dataclass(slots=True)
class _Said:
    """One text. `broken`: pieces of it were missed. `half`: the first half of a character that came in two."""

    kind: str = ""
    length: int = 0
    broken: bool = False
    closed: bool = False
    half: str = ""


class Texts:
    """What the agent says and thinks."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def gap(self) -> None:
        """Something was missed: an open text goes on only with its whole."""
        for said in self._said.values():
            said.broken, said.half = True, ""

    def whole(self, part: Mapping[str, Any], *, live: bool) -> list[AgentEvent]:
        """The part as the server has it now; `live` when it says so in order, among its pieces."""
        key, text = str(part.get("id", "")), _repaired(str(part.get("text") or ""))
        said = self._said.get(key)
        if said is None:
            said = self._said[key] = _Said(broken=not live)
        said.kind = str(part.get("type"))
        ended = bool((part.get("time") or {}).get("end"))
        new = "" if said.closed else text[said.length :]
        said.length += len(new)
        said.closed = said.closed or ended
        if live and len(text) >= said.length:
            said.broken, said.half = False, ""  # up to here it is complete, and what follows will be heard
        return self._told(said.kind, key, new)

    def piece(self, key: str, text: str) -> list[AgentEvent]:
        """The next piece. It does not tell what it is a piece of: the part's beginning did."""
        said = self._said.setdefault(key, _Said(broken=True))
        if said.broken or said.closed:
            return []
        text = said.half + text
        said.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = _repaired(text.removesuffix(said.half))
        said.length += len(text)
        return self._told(said.kind, key, text)

    @staticmethod
    def _told(kind: str, key: str, text: str) -> list[AgentEvent]:
        return [_KINDS[kind](text=text, part=key)] if text and kind in _KINDS else []


def _repaired(text: str) -> str:
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Tools:
    """What the agent does. The server repeats a tool call as a whole at each step, with all that it printed so far."""

    def __init__(self) -> None:
        self._last: dict[str, Tool] = {}
        self._printed: dict[str, str] = {}

    def part(self, key: str, part: Mapping[str, Any]) -> list[AgentEvent]:
        """A tool call as it is now, by the name that it has with us."""
        state: Mapping[str, Any] = part.get("state") or {}
        status, last = state.get("status"), self._last.get(key)
        if (status == "pending" and last is None) or (last is not None and last.phase is Phase.FINISHED):
            return []  # nobody knows yet what it will be about
        told: list[AgentEvent] = []
        if last is None:
            last = self._last[key] = _tool(key, part, Phase.STARTED)
            told.append(last)
        if status in ("completed", "error"):
            self._last[key] = _tool(key, part, Phase.FINISHED)
            return [*told, self._last[key]]
        now = replace(_tool(key, part, Phase.UPDATED), output=self._piece(key, state))
        if now.output or (now.title, now.input) != (last.title, last.input):
            self._last[key] = now
            told.append(now)
        return told

    def _piece(self, key: str, state: Mapping[str, Any]) -> str:
        """What it printed since. When much was printed its beginning is cut off: then the end of it is all there is."""
        printed = _repaired(str((state.get("metadata") or {}).get("output") or ""))
        before = self._printed.get(key, "")
        if not printed.startswith(before):
            return ""
        self._printed[key] = printed
        return printed[len(before) :]


def _titled(given: Mapping[str, Any]) -> str:
    """What it is about, until the server says so itself, which it does at the end."""
    found = next((given[key] for key in _TELLING if isinstance(given.get(key), str)), "")
    return _repaired(str(found).partition("\n")[0])


def _tool(key: str, part: Mapping[str, Any], phase: Phase) -> Tool:
    state: Mapping[str, Any] = part.get("state") or {}
    details: Mapping[str, Any] = state.get("metadata") or {}
    given: dict[str, Any] = dict(state.get("input") or {})
    ok: bool | None = None
    output = ""
    if phase is Phase.FINISHED and state.get("status") == "error":
        ok, output = False, str(state.get("error") or "")
    elif phase is Phase.FINISHED:
        # a command that failed is `completed` with its exit code, and one that was interrupted with none
        ok, output = details.get("exit", 0) == 0, str(state.get("output") or "")
    return Tool(
        id=key,
        phase=phase,
        name=str(part.get("tool") or ""),
        title=str(state.get("title") or "") or _titled(given),
        input=given,
        output=_repaired(output),
        ok=ok,
    )


Fields = Mapping[str, Any]
_ABORTED = "MessageAbortedError"


@dataclass(slots=True)
class Turn:
    """What one prompt has led to so far."""

    once: str
    message: str
    delivered: bool = False
    started: bool = False
    seen: bool = False  # the prompt came back as a message: what follows is about it
    busy: bool = False
    stopping: bool = False
    aborted: bool = False
    early: bool = False  # idle was heard while an answer was open, or an error before it was busy: see `uneasy`
    error: str | None = None
    attempt: int = 0
    model: str | None = None
    last: str | None = None  # the newest answer
    open: set[str] = field(default_factory=set)  # answers without an end
    hidden: set[str] = field(default_factory=set)  # messages that are nobody's answer: prompts, summaries
    usage: dict[str, Usage] = field(default_factory=dict)  # by the part that tells it
    texts: Texts = field(default_factory=Texts)
    tools: Tools = field(default_factory=Tools)

    def note(self, error: Any) -> None:
        """The first error of a turn is the one that tells; more follow, with stack traces."""
        if not isinstance(error, Mapping):
            return
        if error.get("name") == _ABORTED:
            self.aborted = True
        elif self.error is None:
            self.error = _error_text(error)

    def ended(self) -> TurnEnded:
        """How it ended, now that it has. An interrupt while it waits to try again is not told as one."""
        interrupted = self.aborted or (self.stopping and self.error is None)
        end = TurnEnd.INTERRUPTED if interrupted else TurnEnd.FAILED if self.error else TurnEnd.COMPLETED
        error = self.error if end is TurnEnd.FAILED else None
        return TurnEnded(turn=self.message, end=end, usage=_sum(self.usage.values()), error=error)


def usage(part: Fields) -> Usage:
    tokens: Fields = part.get("tokens") or {}
    cache: Fields = tokens.get("cache") or {}
    cost = part.get("cost")
    return Usage(
        input_tokens=int(tokens.get("input") or 0),
        output_tokens=int(tokens.get("output") or 0),
        cached_tokens=int(cache.get("read") or 0),
        reasoning_tokens=int(tokens.get("reasoning") or 0),
        cost_usd=float(cost) if cost else None,
    )


def _sum(steps: Iterable[Usage]) -> Usage | None:
    steps = list(steps)
    if not steps:
        return None
    costs = [step.cost_usd for step in steps if step.cost_usd is not None]
    return Usage(
        input_tokens=sum(step.input_tokens for step in steps),
        output_tokens=sum(step.output_tokens for step in steps),
        cached_tokens=sum(step.cached_tokens for step in steps),
        reasoning_tokens=sum(step.reasoning_tokens for step in steps),
        cost_usd=sum(costs) if costs else None,
    )


def one_line(text: Any) -> str:
    return str(text or "").strip().partition("\n")[0][:1000]


def _error_text(error: Fields) -> str:
    """Its name, its message and the status; never the body of the provider's answer, which may hold anything."""
    data: Fields = error.get("data") or {}
    status = f" {data['statusCode']}" if data.get("statusCode") else ""
    return f"{error.get('name') or 'error'}{status}: {one_line(data.get('message'))}"

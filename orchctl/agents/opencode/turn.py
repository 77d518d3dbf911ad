"""What one prompt has led to so far, and how that ends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from orchctl.agents.opencode.parts import Texts, Tools
from orchctl.lazy_dataclass import dataclass
from orchctl.session.happening import TurnEnd, TurnEnded, Usage

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

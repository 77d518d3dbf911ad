"""A conversation with an agent, folded from its journal. Pure: the same records give the same conversation.

A record says how far into the server's raw log (`at`) and into the transcript (`text`) it goes, so that the next
supervisor goes on behind it and tells nothing twice.

A prompt and its turn. A prompt is recorded before it is sent, and sent once:

    state       record or event        next        effect
    (idle)      prompt                 SENT        the answer begins where the transcript ends
    SENT        Delivered, TurnStarted DELIVERED   a turn is open from TurnStarted on
    SENT        Refused                (idle)      over, with the server's reason
    SENT        maybe                  (idle)      its server ended with the prompt on its way: never sent again
    DELIVERED   NeedsInput, Answered   DELIVERED   a request is pending until it is answered or taken back
    DELIVERED   interrupt              DELIVERED   the server is asked to end the turn; its end comes as any other
    DELIVERED   TurnEnded              (idle)      completed, failed or interrupted; usage is added up
    any         broke                  (idle)      the server is gone: an open turn ends as interrupted
    (idle)      TurnStarted            (busy)      a turn that nobody here asked for: no prompt is taken until its end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from orchctl.lazy_dataclass import dataclass
from orchctl.session import events
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    Closed,
    Delivered,
    NeedsInput,
    NotOpened,
    Opened,
    Reasoning,
    Refused,
    Text,
    Tool,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
    Usage,
)

Record = dict[str, Any]
REPLIES_KEPT = 64  # requests that were answered are known by name for a while, to say so


@dataclass(slots=True)
class Said:
    """A prompt, and what became of it."""

    once: str
    number: int
    text: str
    who: str
    time: float
    start_offset: int  # of the answer in the transcript
    delivery: str = "sent"  # then `delivered`, `refused`, or `maybe` when nobody will ever know
    end: TurnEnd | None = None
    error: str | None = None
    ended_at: float | None = None
    end_offset: int | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.end is not None or self.delivery in ("refused", "maybe")


@dataclass(slots=True)
class Request:
    """What the agent asks, and the reply on its way."""

    asked: NeedsInput
    since: float
    reply: Record | None = None


@dataclass(slots=True)
class Conversation:
    """What is known so far."""

    server: str | None = None
    last_server: str | None = None  # also when that is gone
    at: int = 0  # the raw log of that server is on record up to here
    quiet_at: int = 0  # and may be heard again from here
    text: int = 0  # the transcript is on record up to here
    fresh: bool = True
    part: str = ""
    opened: bool = False  # on that server
    native: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    trouble: NotOpened | None = None
    prompts: dict[str, Said] = field(default_factory=dict)
    turn_open: bool = False
    interrupting: bool = False
    missed: bool = (
        False  # bytes of the raw log were lost while a turn was open, and nothing of that turn was heard since
    )
    blurred: int = 0  # text of lines up to here may be in the transcript already, or be lost
    closed: bool = False  # the server says so
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    unknown: int = 0
    pending: dict[str, Request] = field(default_factory=dict)
    answered: dict[str, None] = field(default_factory=dict)  # in order

    @property
    def current(self) -> Said | None:
        """The prompt that is being worked on."""
        last = next(reversed(self.prompts.values()), None)
        return last if last is not None and not last.over else None

    @property
    def busy(self) -> bool:
        """Whether no prompt can be taken."""
        return self.turn_open or self.current is not None

    def apply(self, record: Record) -> None:
        """Take one record in; a type from the future is passed over."""
        self.at = max(self.at, record.get("at", 0))
        self.text = record.get("text", self.text)
        self.fresh, self.part = record.get("fresh", self.fresh), record.get("part", self.part)
        rule = _RECORDS.get(str(record.get("type")))
        if rule is not None:
            rule(self, record)
        for plain in record.get("happened", ()):
            happening = events.decode(plain)
            if happening is not None:
                self._happen(happening, record)
        if not self.busy and not self.pending:
            self.quiet_at = self.at

    def is_at_work(self, one: AgentEvent) -> bool:
        """Whether it tells that a turn was still open when it was said."""
        return isinstance(one, Text | Reasoning | Tool | NeedsInput | TurnStarted | TurnEnded)

    def _happen(self, one: AgentEvent, record: Record) -> None:
        self.missed = self.missed and not self.is_at_work(one)
        if isinstance(one, Opened):
            self.opened, self.native, self.trouble = True, dict(one.native), None
            self.model = one.model or self.model
        elif isinstance(one, NotOpened):
            self.trouble = one
        elif isinstance(one, Delivered | Refused) and one.once in self.prompts:
            said = self.prompts[one.once]
            said.delivery = "delivered" if isinstance(one, Delivered) else "refused"
            if isinstance(one, Refused):
                said.error, said.ended_at, said.end_offset = one.message, record.get("time"), record.get("text")
        elif isinstance(one, Closed):
            self.closed = True
        else:
            self._turn(one, record)

    def _turn(self, one: AgentEvent, record: Record) -> None:
        if isinstance(one, TurnStarted):
            self.turn_open = True
            self.model = one.model or self.model
            if self.current is not None:
                self.current.delivery = "delivered"
        elif isinstance(one, TurnEnded):
            self._ended(one, record)
        elif isinstance(one, NeedsInput):
            self.pending[one.request] = Request(one, record.get("time", 0.0))
        elif isinstance(one, Answered):
            self.pending.pop(one.request, None)
            self.answered[one.request] = None
            while len(self.answered) > REPLIES_KEPT:
                del self.answered[next(iter(self.answered))]
        elif isinstance(one, Checkpoint):
            self.native |= one.native
        elif isinstance(one, Unknown):
            self.unknown += 1

    def _ended(self, one: TurnEnded, record: Record) -> None:
        said = self.current
        if said is not None:
            said.delivery = "delivered" if said.delivery == "sent" else said.delivery
            said.end, said.error = one.end, one.error
            said.ended_at, said.end_offset = record.get("time"), record.get("text")
        self.turn_open = self.interrupting = False
        self.turns += 1
        if one.usage is not None:
            self.usage = _sum(self.usage, one.usage)


def _sum(one: Usage, other: Usage) -> Usage:
    cost = None if one.cost_usd is None and other.cost_usd is None else (one.cost_usd or 0) + (other.cost_usd or 0)
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        reasoning_tokens=one.reasoning_tokens + other.reasoning_tokens,
        cost_usd=cost,
    )


def _server(talk: Conversation, record: Record) -> None:
    """Another process holds it from now on; of the last one nothing more is heard."""
    talk.server = talk.last_server = record["server"]
    talk.opened = talk.closed = False
    talk.at = talk.quiet_at = record["from"]
    talk.interrupting = talk.missed = False
    talk.blurred = 0


def _prompt(talk: Conversation, record: Record) -> None:
    talk.prompts[record["once"]] = Said(
        once=record["once"],
        number=len(talk.prompts) + 1,
        text=record["prompt"],
        who=record.get("who", "user"),
        time=record["time"],
        start_offset=record["text"],
    )


def _maybe(talk: Conversation, record: Record) -> None:
    said = talk.prompts.get(record["once"])
    if said is not None and not said.over:
        said.delivery = "maybe"
        said.ended_at, said.end_offset = record["time"], talk.text


def _replied(talk: Conversation, record: Record) -> None:
    if record["request"] in talk.pending:
        talk.pending[record["request"]].reply = {"choice": record.get("choice"), "text": record.get("reply")}


def _interrupt(talk: Conversation, record: Record) -> None:
    talk.interrupting = talk.busy


def _broke(talk: Conversation, record: Record) -> None:
    talk.server, talk.opened, talk.missed = None, False, False


def _gap(talk: Conversation, record: Record) -> None:
    talk.missed, talk.blurred = True, record["blurred"]


def _mark(talk: Conversation, record: Record) -> None:
    talk.missed = False


_RECORDS: dict[str, Callable[[Conversation, Record], None]] = {
    "server": _server,
    "prompt": _prompt,
    "maybe": _maybe,
    "replied": _replied,
    "interrupt": _interrupt,
    "broke": _broke,
    "gap": _gap,
    "mark": _mark,
}

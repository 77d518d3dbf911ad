"""A conversation folded from its journal, and the transcript made of what happens."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchctl.agents.conversation import Conversation
from orchctl.agents.transcript import GATHERED, Uptake
from orchctl.session import events
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
from orchctl.session.tale import of_conversation

ASKS = NeedsInput(request="r", need=Need.PERMISSION, title="May I?", choices=(Choice(id="y", label="Yes"),))
ALL: list[AgentEvent] = [
    Text(text="hello"),
    Reasoning(text="hm"),
    Tool(id="t", phase=Phase.STARTED, name="command", title="ls", input={"a": [1, {"b": None}]}),
    TurnStarted(turn="u", model="m"),
    TurnEnded(turn="u", end=TurnEnd.FAILED, usage=Usage(input_tokens=1), error="no"),
    ASKS,
    Answered(request="r", reply="y"),
    Checkpoint(native={"id": "x"}),
    Trouble(code="c", message="m", again=True),
    Unknown(kind="k"),
    Opened(native={"id": "x"}, model="m", details={"sandbox": {"type": "readOnly"}}),
    NotOpened(code="c", message="m"),
    Delivered(once="o"),
    Refused(once="o", code="c", message="m"),
    Closed(),
]


def _record(kind: str, *said: AgentEvent, at: int = 0, text: int = 0, **fields: Any) -> dict[str, Any]:
    happened = [events.encode(one) for one in said]
    return {"type": kind, "time": 1.0, "at": at, "text": text, "happened": happened, **fields}


def _folded(*records: dict[str, Any]) -> Conversation:
    talk = Conversation()
    for record in records:
        talk.apply(record)
    return talk


def test_every_happening_comes_back_from_its_journal() -> None:
    assert {type(one) for one in ALL} == set(AgentEvent.__args__)
    assert [events.decode(events.encode(one)) for one in ALL] == ALL
    assert events.decode({"happening": "from the future"}) is None
    assert events.decode({"happening": "tool"}) is None


def test_a_long_text_is_cut_in_the_middle() -> None:
    cut = events.shortened("a" * 50 + "b" * 50, 20)
    assert cut.startswith("a" * 10)
    assert cut.endswith("b" * 10)
    assert "80 characters" in cut


OPENING = _record("server", server="s", **{"from": 5}), _record("heard", Opened(native={"id": "x"}), at=9)
PROMPT = _record("prompt", at=9, once="o", prompt="do it", who="me", text=10)


def test_a_prompt_makes_it_busy_until_its_turn_ends() -> None:
    talk = _folded(*OPENING)
    assert (talk.opened, talk.busy, talk.at, talk.quiet_at) == (True, False, 9, 9)
    talk.apply(PROMPT)
    assert talk.busy
    talk.apply(_record("heard", TurnStarted(), at=20))
    assert talk.prompts["o"].delivery == "delivered"
    talk.apply(_record("heard", TurnEnded(usage=Usage(input_tokens=3)), at=30, text=50))
    said = talk.prompts["o"]
    assert (talk.busy, said.over, said.end_offset, talk.turns) == (False, True, 50, 1)
    assert (talk.usage.input_tokens, talk.quiet_at) == (3, 30)


def test_it_is_heard_again_from_where_nothing_was_open() -> None:
    talk = _folded(*OPENING, PROMPT, _record("heard", TurnStarted(), ASKS, at=20))
    assert (talk.at, talk.quiet_at) == (20, 9)


def test_a_loss_is_in_doubt_until_something_of_the_turn_is_heard() -> None:
    lost = (
        *OPENING,
        PROMPT,
        _record("heard", TurnStarted(), at=20),
        _record("gap", at=90, first=20, end=90, blurred=30),
    )
    talk = _folded(*lost)
    assert (talk.missed, talk.blurred, talk.at, talk.busy) == (True, 30, 90, True)
    assert _folded(*lost, _record("heard", Checkpoint(native={}), at=95)).missed
    for more in (_record("heard", Reasoning(text="hm"), at=95), _record("mark", at=95), _record("broke")):
        assert not _folded(*lost, more).missed
    (event,) = of_conversation(lost[-1])
    assert event == {"type": "gap", "first": 20, "end": 90, "of": "server", "offset": 0, "time": 1.0}
    other = _folded(*lost, _record("server", server="t", **{"from": 0}))
    assert (other.missed, other.blurred, other.at) == (False, 0, 0)


def test_a_loss_is_told_on_a_line_of_its_own() -> None:
    uptake = Uptake()
    uptake.take([Text(text="half a li", part="a")])
    assert uptake.gap(7, fresh=False) == "\n[… 7 bytes of what the agent's server said are lost …]\n"
    assert uptake.take([Text(text="ne", part="a")]).text == "ne"
    assert not uptake.gap(7, fresh=True).startswith("\n")


def test_a_prompt_that_is_refused_or_lost_is_over() -> None:
    refused = _folded(*OPENING, PROMPT, _record("heard", Refused(once="o", code="c", message="no"), at=12))
    assert (refused.busy, refused.prompts["o"].delivery) == (False, "refused")
    lost = _folded(*OPENING, PROMPT, {"type": "maybe", "once": "o", "time": 2.0})
    assert (lost.busy, lost.prompts["o"].delivery) == (False, "maybe")


def test_a_request_is_open_until_it_is_answered() -> None:
    talk = _folded(*OPENING, PROMPT, _record("heard", ASKS, at=20))
    assert list(talk.pending) == ["r"]
    talk.apply({"type": "replied", "request": "r", "choice": "y", "time": 2.0})
    assert talk.pending["r"].reply == {"choice": "y", "text": None}
    talk.apply(_record("heard", Answered(request="r"), at=30))
    assert (talk.pending, list(talk.answered)) == ({}, ["r"])


def test_another_server_is_heard_from_its_own_beginning() -> None:
    talk = _folded(*OPENING, _record("broke", at=9), _record("server", server="t", **{"from": 2}))
    assert (talk.server, talk.opened, talk.at, talk.native) == ("t", False, 2, {"id": "x"})


def test_records_and_happenings_of_the_future_are_passed_over() -> None:
    talk = _folded(*OPENING, {"type": "new", "at": 11, "happened": [{"happening": "newer"}]})
    assert talk.at == 11


def test_events_are_told_of_all_that_matters() -> None:
    events = [event["type"] for one in ALL for event in of_conversation(_record("heard", one))]
    assert events == [
        "reasoning", "tool", "turn", "turn", "needs-input", "answered", "checkpoint", "error", "checkpoint", "error",
        "error",
    ]  # fmt: skip
    (said,) = of_conversation(PROMPT)
    assert (said["type"], said["bytes"], said["who"]) == ("input", 5, "me")


# the transcript


def test_text_is_in_the_transcript_and_in_no_journal() -> None:
    taken = Uptake().take([Text(text="hel", part="1"), Text(text="lo", part="1"), Text(text="you", part="2")])
    assert (taken.text, taken.journal) == ("hello\nyou", [])


def test_what_is_no_text_stands_on_a_line_of_its_own() -> None:
    uptake = Uptake()
    tool = Tool(id="t", phase=Phase.STARTED, name="command", title="a\nb")
    assert uptake.take([Text(text="hi"), tool, ASKS]).text == "hi\n[command: a b]\n[asks: May I? / Yes]\n"
    assert uptake.take([Text(text="so")]).text == "so"
    assert uptake.prompt("one\ntwo") == "\n> one\n> two\n"


def test_pieces_are_gathered_until_something_else_happens() -> None:
    uptake = Uptake()
    assert uptake.take([Reasoning(text="a", part="p")]).journal == []
    assert uptake.take([Reasoning(text="b", part="p")]).journal == []
    assert uptake.take([Text(text="x")]).journal == [Reasoning(text="ab", part="p")]
    printed = [Tool(id="t", phase=Phase.UPDATED, output=one) for one in "xyz"]
    assert uptake.take(printed).journal == []
    assert uptake.flush() == [Tool(id="t", phase=Phase.UPDATED, output="xyz")]
    assert uptake.flush() == []


def test_many_pieces_become_a_record_of_their_own() -> None:
    taken = Uptake().take([Reasoning(text="a" * GATHERED)])
    assert [len(one.text) for one in taken.journal if isinstance(one, Reasoning)] == [GATHERED]


@given(st.lists(st.sampled_from(ALL), max_size=12), st.integers(0, 12))
def test_the_transcript_goes_on_after_a_record_as_if_nothing_had_been(said: list[AgentEvent], cut: int) -> None:
    whole, journalled = Uptake(), ""
    first = [whole.take([one]) for one in said[:cut]]
    journalled = "".join(one.text for one in first)
    rest = "".join(whole.take([one]).text for one in said[cut:])
    again = Uptake()
    for one in said[:cut]:
        again.take([one])
    resumed = Uptake(fresh=again.fresh, part=again.part)
    assert journalled + "".join(resumed.take([one]).text for one in said[cut:]) == journalled + rest

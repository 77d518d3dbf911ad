from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.client.attach.viewer import LIMIT_BYTES, PART_BYTES, Outbox
from orchctl.terminal.keys import Kind, Typed

TYPED = st.builds(Typed, st.sampled_from(Kind), st.binary(min_size=1, max_size=5))


@given(st.lists(st.one_of(TYPED, st.just("arrived"), st.just("lost")), max_size=60))
def test_whatever_is_lost_on_the_way_every_byte_arrives_once_and_in_order(steps: list[Typed | str]) -> None:
    box, wanted, came = Outbox(), list[tuple[Kind, int]](), dict[int, list[tuple[Kind, int]]]()
    for step in [*steps, *(["arrived"] * len(steps))]:
        letter = box.next() or box.again()
        if letter is not None:  # each name means the same bytes, however often it is said
            said = [(letter.kind, byte) for byte in letter.data]
            assert came.setdefault(letter.number, said) == said
        if isinstance(step, Typed):
            box.add(step)
            wanted += [(step.kind, byte) for byte in step.data]
        elif step == "arrived":
            box.arrived()
    assert [one for number in sorted(came) for one in came[number]] == wanted
    assert box.empty
    assert box.unsent_bytes == 0


def test_what_is_typed_meanwhile_goes_as_one() -> None:
    box = Outbox()
    box.add(Typed(Kind.KEYS, b"a"))
    first = box.next()
    assert first is not None
    assert first.data == b"a"
    for key in (b"b", b"c", b"d"):
        box.add(Typed(Kind.KEYS, key))
        assert box.next() is None
    box.arrived()
    second = box.next()
    assert second is not None
    assert second.data == b"bcd"


def test_a_long_paste_goes_in_parts_and_fills_the_box() -> None:
    box = Outbox()
    box.add(Typed(Kind.KEYS, b"x" * LIMIT_BYTES))
    assert box.full
    first = box.next()
    assert first is not None
    assert len(first.data) == PART_BYTES
    assert box.unsent_bytes == LIMIT_BYTES

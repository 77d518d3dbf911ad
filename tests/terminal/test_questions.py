"""What programs ask of their terminal is found wherever it stands, and nothing else is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.terminal.replay import answers

ASKED = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b[0c": b"\x1b[?62;22c", b"\x1b[5n": b"\x1b[0n", b"\x1b[6n": b"\x1b[1;1R"}
OTHERS = [
    b"\x1b[1c",
    b"\x1b[>c",
    b"\x1b[?6n",
    b"\x1b[16n",
    b"\x1b[?62;22c",
    b"\x1b[0n",
    b"\x1b[1;1R",
    b"[6n",
    b"\x1b[",
    b"text",
]

pieces = st.sampled_from(OTHERS) | st.binary(max_size=5).map(lambda data: data.replace(b"\x1b", b""))


@given(st.lists(st.tuples(pieces, st.sampled_from(list(ASKED))), max_size=6), st.integers(0, 1 << 40))
def test_each_question_is_found_with_its_place_and_its_answer(parts: list[tuple[bytes, bytes]], offset: int) -> None:
    output, expected = b"", []
    for before, question in parts:
        output += before + b"." + question
        expected.append((offset + len(output), ASKED[question]))
    assert answers(output, offset) == expected


@given(st.lists(st.sampled_from(OTHERS), max_size=8))
def test_what_only_looks_like_a_question_gets_no_answer(parts: list[bytes]) -> None:
    assert answers(b" ".join(parts), 0) == []

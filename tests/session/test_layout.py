"""The names on users' disks, which never change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.session import layout


def test_the_names_are_as_they_have_always_been() -> None:
    assert (layout.SPEC, layout.ENVIRONMENT, layout.JOURNAL) == ("spec.json", "env.json", "run.jnl")
    assert (layout.SOCKET, layout.OUTPUT) == ("pair.sock", "out")
    assert (layout.COMMANDS, layout.SHELL) == ("commands.jnl", "shell")
    assert layout.segment(0) == "out/00000000000000000000.seg"
    assert layout.segment(65536) == "out/00000000000000065536.seg"


@settings(deadline=None)
@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_segments_sort_by_name_as_they_do_by_offset(one: int, other: int) -> None:
    assert (layout.segment(one) < layout.segment(other)) == (one < other)

"""The ledger: the rules of `moved.txt` on small data, and that every test that ever was is accounted for."""

from __future__ import annotations

import pytest

from tests.ledger import IDS, MOVED, BadLine, Moves, places, problems, read_ids, read_moves, write_ids
from tests.ledger.collect import collected

A, B, C = "tests/test_a.py", "tests/test_b.py", "tests/new/test_c.py"


def _moves(*lines: str) -> Moves:
    return read_moves("\n".join(["# a comment", "", *lines]))


def test_every_test_is_in_the_ledger_and_every_test_of_the_ledger_is_somewhere() -> None:
    ledger = read_ids(IDS.read_text(encoding="utf-8"))
    found = problems(ledger, read_moves(MOVED.read_text(encoding="utf-8")), collected())
    assert not found, "\n".join(found)


def test_a_test_is_in_its_function_class_file_and_folders() -> None:
    held = ["tests/new/test_c.py::G::test_x[a::b/c[1]]", f"{C}::G::test_x", f"{C}::G", C, "tests/new/", "tests/"]
    assert places(held[0]) == held
    assert places("tests/new/") == held[-2:]


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (f"{A} -> {B}", f"{A}::test_x", f"{B}::test_x"),
        (f"{A} -> {B}", f"{A}::Group::test_x[1]", f"{B}::Group::test_x[1]"),
        ("tests/ -> tests/new/", "tests/test_c.py::test_x", f"{C}::test_x"),
        (f"{A}::test_x -> {B}::test_y", f"{A}::test_x", f"{B}::test_y"),
        (f"{A}::test_x -> {B}::test_y", f"{A}::test_x[a -> b]", f"{B}::test_y[a -> b]"),
        (f"{A}::test_x -> {B}::test_y", f"{A}::test_x[1]", f"{B}::test_y"),
        (f"{A}::test_x -> {B}::test_y[all]", f"{A}::test_x[1]", f"{B}::test_y[all]"),
        (f"{A}::test_x[1] -> {B}::test_y[one]", f"{A}::test_x[1]", f"{B}::test_y[one]"),
    ],
)
def test_a_place_moves_with_what_is_in_it(line: str, old: str, new: str) -> None:
    assert _moves(line).follow(old, {new}) == new
    assert problems([old, new], _moves(line), [new]) == []


def test_a_name_that_only_begins_like_another_stays() -> None:
    moves = _moves(f"{A}::test_x -> {B}::test_x", "tests/test_a -> tests/test_z")
    assert moves.follow(f"{A}::test_xy", {f"{B}::test_xy"}) is None


def test_moves_follow_each_other_and_the_most_particular_wins() -> None:
    moves = _moves(f"{A} -> {B}", f"{B} -> {C}", f"{A}::test_x -> {C}::test_z", f"{B}::test_y -> {C}::test_w")
    there = {f"{C}::test_z", f"{C}::test_w", f"{C}::test_v"}
    assert moves.follow(f"{A}::test_x", there) == f"{C}::test_z"
    assert moves.follow(f"{A}::test_y", there) == f"{C}::test_w"
    assert moves.follow(f"{A}::test_v", there) == f"{C}::test_v"
    assert problems([f"{A}::test_x", f"{B}::test_y", *there], moves, there) == []


def test_a_test_that_is_there_needs_no_line_and_one_that_moves_in_a_circle_is_lost() -> None:
    moves = _moves(f"{A} -> {B}", f"{B} -> {A}")
    assert moves.follow(f"{A}::test_x", {f"{A}::test_x"}) == f"{A}::test_x"
    assert moves.follow(f"{A}::test_x", set()) is None


def test_a_test_that_is_removed_has_a_reason() -> None:
    moves = _moves(f"{A}::test_x -> removed: the option is gone", f"{B} -> {A}")
    assert moves.follow(f"{B}::test_x[1]", set()) == "removed: the option is gone"
    assert problems([f"{A}::test_x", f"{B}::test_x"], moves, []) == []
    with pytest.raises(BadLine):
        _moves(f"{A}::test_x -> removed:")


def test_each_problem_is_told() -> None:
    there = [f"{B}::test_x", f"{B}::test_new"]
    moves = _moves(f"{A} -> {B}", f"{A}::test_y -> {C}::test_y", f"{C} -> {B}")
    found = problems([f"{A}::test_x", f"{A}::test_y", f"{A}::test_lost", f"{B}::test_x"], moves, there)
    assert found == [
        f"{A}::test_lost is not collected, and moved.txt does not say what became of it",
        f"{A}::test_y is not collected, and moved.txt does not say what became of it",
        f"{B}::test_new is not in the ledger: python -m tests.ledger",
        f"moved.txt: {A}::test_y -> {C}::test_y, where no test is",
        f"moved.txt: {C} names nothing that is in the ledger",
    ]


@pytest.mark.parametrize("text", ["tests/a.py", "a -> b", "tests/a/ -> tests/a.py", f"{A} -> {B}\n{A} -> {C}"])
def test_a_line_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadLine):
        read_moves(text)


def test_ids_survive_being_written_whatever_their_parameters_are() -> None:
    many = [f"{A}::test_many[{number:030}]" for number in range(9)]
    odd = [f'{A}::test_x[a b"]', f"{A}::test_x[]", f"{A}::test_x[[1]-\\n\u00e9]", f"{B}::Group::test_y", f"{A}::test_z"]
    text = write_ids([*many, *odd])
    assert sorted(read_ids(text)) == sorted([*many, *odd])
    assert write_ids(read_ids(text)) == text
    assert text.count("\n") == 16

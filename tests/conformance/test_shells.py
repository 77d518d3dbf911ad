"""orchctl and the table in the other shells, and fish's own table: some of the core, and with `--long` all of it."""

from __future__ import annotations

import pytest

from tests.conformance import fish
from tests.conformance.case import Case
from tests.conformance.differences import DIFFERENCES, ENDLESS, endless, why
from tests.conformance.kinds import BOURNE, FISH, Kind
from tests.conformance.runner import run
from tests.conformance.table import CASES, CORE
from tests.needs import marks, needs
from tests.world import World


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """By default half of the core in each shell, and all of it in two or three of them: every start takes its time."""
    all_of_it = bool(metafunc.config.getoption("--long"))
    if "fish_case" in metafunc.fixturenames:
        metafunc.parametrize("fish_case", fish.CASES if all_of_it else fish.CORE, ids=lambda case: case.name)
    if "case" in metafunc.fixturenames:
        pairs = [
            (kind, case)
            for number, kind in enumerate(BOURNE)
            for case in (CASES if all_of_it else CORE[number % 2 :: 2])
            if not endless(case, kind)
        ]
        metafunc.parametrize(
            ("kind", "case"),
            [pytest.param(*pair, id=f"{pair[0].name}: {pair[1].name}", marks=marks(pair[0].name)) for pair in pairs],
        )


def test_a_text_gives_what_the_shell_gives(shared_world: World, kind: Kind, case: Case) -> None:
    faults = run(shared_world, case, kind=kind, differs=why(case, kind) is not None)
    assert not faults, "\n".join(faults)


@needs("fish")
def test_a_text_gives_what_fish_gives(shared_world: World, fish_case: Case) -> None:
    faults = run(shared_world, fish_case, kind=FISH)
    assert not faults, "\n".join(faults)


def test_every_difference_is_about_a_case_and_a_shell_and_is_told_once() -> None:
    names, shells = {case.name for case in CASES}, {kind.name for kind in BOURNE}
    told = [
        (case, shell) for cases in (*DIFFERENCES.values(), ENDLESS) for case in cases for shell in cases[case].split()
    ]
    assert {case for case, _ in told} <= names
    assert {shell for _, shell in told} <= shells
    assert len(told) == len(set(told))


def test_each_shell_answers_most_of_the_table_as_bash_does() -> None:
    for kind in BOURNE:
        same = [case for case in CASES if why(case, kind) is None and not endless(case, kind)]
        assert len(same) >= 350, kind.name
    assert len(fish.CASES) >= 95

"""orchctl and the table: each case in a bash of its own."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.runner import run
from tests.conformance.table import CASES
from tests.world import World


def test_the_table_is_as_large_as_promised_and_its_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) >= 150
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_text_gives_what_bash_gives(shared_world: World, case: Case) -> None:
    faults = run(shared_world, case)
    assert not faults, "\n".join(faults)

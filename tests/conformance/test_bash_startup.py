"""orchctl and the table's core, in shells whose user set them up in ways that get between a tool and its answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.case import Case
from tests.conformance.runner import run
from tests.conformance.startup import STARTUPS, Startup
from tests.conformance.table import CORE
from tests.world import World

_AT_ONCE = 8
_PAIRS = [
    pytest.param(startup, case, id=f"{startup.name}: {case.name}")
    for startup in STARTUPS
    for case in CORE
    if not startup.slow and (case.strict or not startup.strict)
]


def _faults(world: World, startup: Startup, case: Case) -> str:
    return "\n".join(run(world, case, files=((".bashrc", startup.text.encode()),), size=startup.size))


def test_the_core_is_large_enough_to_tell() -> None:
    assert len(CORE) >= 25
    assert len([case for case in CORE if case.strict]) >= 25


@pytest.mark.parametrize(("startup", "case"), _PAIRS)
def test_the_users_own_settings_change_no_answer(shared_world: World, startup: Startup, case: Case) -> None:
    faults = _faults(shared_world, startup, case)
    assert not faults, faults


@pytest.mark.parametrize("startup", [startup for startup in STARTUPS if startup.slow], ids=lambda startup: startup.name)
def test_the_first_prompt_is_awaited(shared_world: World, startup: Startup) -> None:
    cases = CORE[::3]  # a third of them, many at a time: each of them waits
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda case: (case.name, _faults(shared_world, startup, case)), cases)
    assert [(name, faults) for name, faults in found if faults] == []

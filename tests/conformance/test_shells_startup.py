"""orchctl in the other shells, set up by their users in ways that get between a tool and its answer."""

from __future__ import annotations

import pytest

from tests.conformance.everyday import everyday
from tests.conformance.kinds import KINDS, Kind
from tests.conformance.runner import run
from tests.conformance.startup import Startup
from tests.conformance.startups import STARTUPS
from tests.needs import marks
from tests.world import World

_PAIRS = [
    pytest.param(kind, startup, id=f"{kind.name}: {startup.name}", marks=marks(kind.name))
    for kind in KINDS
    for startup in STARTUPS.get(kind.name, ())
]


@pytest.mark.parametrize(("kind", "startup"), _PAIRS)
def test_the_users_own_settings_change_no_answer(shared_world: World, kind: Kind, startup: Startup) -> None:
    case = everyday(kind.name, strict=startup.strict, asks=startup.asks)
    faults = run(shared_world, case, kind=kind, files=((kind.file, startup.text.encode()),), size=startup.size)
    assert not faults, "\n".join(faults)

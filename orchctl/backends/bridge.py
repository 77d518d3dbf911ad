"""An agent's backend for a supervisor of an older version that goes on after an upgrade in place.

Such a supervisor imports a backend when it is first used, and by then finds this version's. It has the values that
cross that border loaded under older names: the backend must use those very classes, not the same ones loaded again.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the older one may be loaded, and must be the only one
    from orchctl.agents.interface import Harness

_VALUES = {
    "orchctl.backends.interface": "orchctl.agents.interface",
    "orchctl.model.agent": "orchctl.session.agent",
    "orchctl.model.happening": "orchctl.session.happening",
}


def harness(name: str) -> Harness:
    """The harness of that name, made of the values that this process has."""
    for older, present in _VALUES.items():
        if older in sys.modules:
            sys.modules[present] = sys.modules[older]
    found: Harness = importlib.import_module(f"orchctl.agents.{name}").HARNESS
    return found

"""An agent's backend for a supervisor of an older version that goes on after an upgrade in place.

Such a supervisor imports a backend when it is first used, and by then finds this version's. It has the values that
cross that border loaded under older names: the backend must use those very classes, not the same ones loaded again.
What this version tells more of an event than the older one knows is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the older one may be loaded, and must be the only one
    from orchctl.agents.interface import Harness

_EVENTS = "orchctl.model.happening"
_VALUES = {
    "orchctl.backends.interface": "orchctl.agents.interface",
    "orchctl.model.agent": "orchctl.session.agent",
    _EVENTS: "orchctl.session.events",
}


def harness(name: str) -> Harness:
    """The harness of that name, made of the values that this process has."""
    for older, present in _VALUES.items():
        if older in sys.modules:
            sys.modules[present] = sys.modules[older]
    events = sys.modules.get(_EVENTS)
    if events is not None and not hasattr(events, "AgentEvent"):
        _adapt(events)
    found: Harness = importlib.import_module(f"orchctl.agents.{name}").HARNESS
    return found


def _adapt(events: ModuleType) -> None:
    """Its union gets its present name, and its classes pass over fields that they do not have."""
    vars(events)["AgentEvent"] = vars(events)["Happening"]
    for kind in [one for one in vars(events).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]:
        kind.__init__ = _lenient(kind, kind.__init__)  # type: ignore[method-assign]


def _lenient(kind: type[Any], make: Callable[..., None]) -> Callable[..., None]:
    names = {field.name for field in dataclasses.fields(kind)}

    @functools.wraps(make)
    def init(self: object, **given: Any) -> None:
        make(self, **{name: value for name, value in given.items() if name in names})

    return init

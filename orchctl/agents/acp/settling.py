"""How a new conversation gets the model and the mode that were asked for. Pure.

Agents offer them in three ways: `configOptions`, `modes`, and `models`, which the protocol has dropped, and agents not.
"""

from __future__ import annotations

from typing import Any

from orchctl.lazy_dataclass import dataclass

Record = dict[str, Any]
ASKING = "default"  # agents that have modes call the one in which a human is asked by this name


class NotOffered(Exception):
    """What was asked for is not to be had. `code` is stable."""

    def __init__(self, why: str, code: str = "not-offered") -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request that changes a setting."""

    method: str
    params: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    what: str
    method: str
    fixed: Record
    key: str
    current: object
    offered: dict[str, str]  # value → name

    def step(self, wanted: str) -> Step | None:
        """To get there; None when it is so."""
        value = self.find(wanted)
        if value is None:
            known = ", ".join(self.offered) or "none"
            raise NotOffered(f"there is no {self.what} {wanted!r}; there are {known}", f"unknown-{self.what}")
        return None if value == self.current else Step(method=self.method, params={**self.fixed, self.key: value})

    def find(self, wanted: str) -> str | None:
        """The value that goes by this word: by itself, or by its name for people."""
        if wanted in self.offered:
            return wanted
        return next((value for value, name in self.offered.items() if name == wanted), None)


def steps(session: str, result: Record, *, model: str | None, mode: str | None, resumed: bool) -> list[Step]:
    """What is to be asked before the conversation is as it was wanted. Raises NotOffered."""
    found = []
    for what, wanted in (("mode", mode), ("model", model)):
        setting = _setting(session, result, what)
        if setting is None and wanted is not None and not resumed:
            raise NotOffered(f"this agent does not let its {what} be chosen here; the profile's argv or env may")
        if setting is None:
            continue  # one that was resumed is as it was
        if wanted is not None:
            found.append(setting.step(wanted))
        elif what == "mode" and ASKING in setting.offered:
            found.append(setting.step(ASKING))  # in some, a model decides instead of a human
    return [step for step in found if step is not None]


def model_of(result: Record) -> str | None:
    """The model that the agent says it uses."""
    setting = _setting("", result, "model")
    return str(setting.current) if setting is not None and setting.current else None


def _setting(session: str, result: Record, what: str) -> _Setting | None:
    for option in result.get("configOptions") or ():
        if isinstance(option, dict) and what in (option.get("category"), option.get("id")):
            values = [one for one in option.get("options") or () if isinstance(one, dict)]
            return _Setting(
                what=what,
                method="session/set_config_option",
                fixed={"sessionId": session, "configId": option.get("id")},
                key="value",
                current=option.get("currentValue"),
                offered={str(one.get("value")): str(one.get("name")) for one in values if "value" in one},
            )
    listed = result.get(f"{what}s")
    if not isinstance(listed, dict):
        return None
    key, many = (("modeId", "availableModes"), ("modelId", "availableModels"))[what == "model"]
    values = [one for one in listed.get(many) or () if isinstance(one, dict)]
    return _Setting(
        what=what,
        method=f"session/set_{what}",
        fixed={"sessionId": session},
        key=key,
        current=listed.get(f"current{what.capitalize()}Id"),
        offered={str(one.get(key) or one.get("id")): str(one.get("name")) for one in values},
    )

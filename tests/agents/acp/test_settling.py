"""A conversation gets the model and the mode that were asked for, or none."""

from __future__ import annotations

from typing import Any

import pytest

from orchctl.agents.acp import open
from orchctl.agents.acp.open import NotOffered, Step

MODES = {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "Auto"}, {"id": "default", "name": "Ask"}]}
MODELS = {
    "currentModelId": "big|1",
    "availableModels": [{"modelId": "big|1", "name": "big"}, {"modelId": "s", "name": "small"}],
}
CONFIG = [
    {"id": "model", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b", "name": "B"}]},
    {"id": "agent", "category": "mode", "currentValue": "build", "options": [{"value": "build"}, {"value": "plan"}]},
]


def steps(
    result: dict[str, Any], model: str | None = None, mode: str | None = None, *, resumed: bool = False
) -> list[Step]:
    """Of a conversation `n`."""
    return open.settling_steps("n", result, model=model, mode=mode, resumed=resumed)


def test_an_agent_that_offers_nothing_is_taken_as_it_is() -> None:
    assert steps({}) == steps({"modes": None, "configOptions": []}) == []


def test_the_mode_is_one_in_which_somebody_is_asked() -> None:
    assert steps({"modes": MODES}) == [Step(method="session/set_mode", params={"sessionId": "n", "modeId": "default"})]
    assert steps({"modes": {**MODES, "currentModeId": "default"}}) == []
    assert steps({"configOptions": CONFIG}) == []  # these modes are of another kind


def test_what_was_asked_for_is_set_by_its_value_or_its_name() -> None:
    assert steps({"modes": MODES}, mode="auto") == []
    assert steps({"models": MODELS}, model="big") == []
    small = [Step(method="session/set_model", params={"sessionId": "n", "modelId": "s"})]
    assert steps({"models": MODELS}, model="small") == steps({"models": MODELS}, model="s") == small
    assert steps({"configOptions": CONFIG}, model="B", mode="plan") == [
        Step(method="session/set_config_option", params={"sessionId": "n", "configId": "agent", "value": "plan"}),
        Step(method="session/set_config_option", params={"sessionId": "n", "configId": "model", "value": "b"}),
    ]


@pytest.mark.parametrize(
    ("result", "wanted"), [({"models": MODELS}, "huge"), ({"configOptions": CONFIG}, "huge"), ({}, "huge")]
)
def test_what_is_not_offered_is_refused(result: dict[str, Any], wanted: str) -> None:
    with pytest.raises(NotOffered):
        steps(result, model=wanted)


def test_one_that_is_resumed_by_an_agent_that_says_nothing_is_as_it_was() -> None:
    assert steps({}, model="big", resumed=True) == []


def test_the_model_is_told_where_the_agent_tells_it() -> None:
    assert open.model_of({"models": MODELS}) == "big|1"
    assert open.model_of({"configOptions": CONFIG}) == "a"
    assert open.model_of({}) is None

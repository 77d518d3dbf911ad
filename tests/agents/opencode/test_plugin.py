"""Our plugin beside what the user has in the server's environment."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

import pytest

from orchctl.agents.interface import Opening, Profile
from orchctl.agents.opencode import HARNESS, records

RETRIES, TIMEOUT = "npm_config_fetch_retries", "npm_config_fetch_timeout"


def configured(env: dict[str, str]) -> dict[str, Any]:
    """The configuration that a server gets with it."""
    found: dict[str, Any] = json.loads(records.variables(env)[records.CONTENT])
    return found


def test_the_plugin_is_a_file_that_comes_with_us() -> None:
    ((url, options),) = configured({})["plugin"]
    assert options == {"hidden": [RETRIES, TIMEOUT]}
    with open(urllib.parse.unquote(urllib.parse.urlparse(url).path), encoding="ascii") as file:
        text = file.read()
    assert f"metadata?.{records.KEPT}" in text
    assert "import" not in text  # nothing that would have to be installed


def test_what_the_user_has_stays() -> None:
    own = {"model": "a/b", "plugin": ["theirs", ["other", {"x": 1}]]}
    found = configured({records.CONTENT: json.dumps(own)})
    assert found | {"plugin": found["plugin"][:-1]} == own
    assert len(found["plugin"]) == 3


@pytest.mark.parametrize("content", ["{// mine\n}", "[]", "7", '{"plugin": "x"}', '{"plugin": null}'])
def test_a_configuration_that_cannot_be_added_to_is_left_as_it_is(content: str) -> None:
    assert records.variables({records.CONTENT: content}) == {}


def test_an_empty_configuration_is_none() -> None:
    assert configured({records.CONTENT: ""}).keys() == {"plugin"}


def test_a_registry_that_does_not_answer_is_waited_for_as_the_user_says() -> None:
    found = records.variables({RETRIES: "5"})
    assert RETRIES not in found
    assert int(found[TIMEOUT]) < 30_000
    assert configured({RETRIES: "5"})["plugin"][0][1] == {"hidden": [TIMEOUT]}


def test_a_server_is_launched_with_it() -> None:
    profile = Profile(name="it", harness="opencode", env={records.CONTENT: '{"model": "a/b"}'})
    launch = HARNESS.launch(profile, "/bin/opencode", Opening(session="s", cwd="/"))
    assert json.loads(launch.env[records.CONTENT])["model"] == "a/b"
    assert launch.env[RETRIES] == "0"

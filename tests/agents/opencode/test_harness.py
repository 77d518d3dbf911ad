"""How an opencode server is started, and what is refused before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchctl.agents import registry
from orchctl.agents.interface import Opening, Profile
from orchctl.errors import BadInput


def profile(**more: Any) -> Profile:
    """One for opencode."""
    return Profile(name="it", harness="opencode", **more)


OPENCODE = registry.find("opencode")
OPENING = Opening(session="s1", cwd="/")


def test_it_is_offered() -> None:
    assert "opencode" in registry.shown()
    assert OPENCODE.shared
    assert not OPENCODE.speaks_on_stdout


def test_a_server_listens_on_loopback_with_a_port_and_a_password_of_its_own() -> None:
    first, second = (OPENCODE.launch(profile(), "/bin/opencode", OPENING) for _ in range(2))
    assert first.argv[:4] == ("/bin/opencode", "serve", "--hostname", "127.0.0.1")
    assert first.argv[-1] == first.notes["port"] != "4096"
    password = first.env["OPENCODE_SERVER_PASSWORD"]
    assert password == first.notes["password"] != second.notes["password"]
    assert len(password) >= 32
    assert not any(password in word for word in first.argv)


def test_everything_but_looking_is_asked_about_unless_the_profile_leaves_that_to_opencode() -> None:
    rules = json.loads(OPENCODE.launch(profile(), "o", OPENING).env["OPENCODE_PERMISSION"])
    assert next(iter(rules)) == "*"  # the last one that matches holds, so this is for what no other rule names
    assert rules["*"] == "ask"
    assert not {"bash", "edit", "webfetch", "external_directory"} & {*rules}
    assert rules["read"]["*.env"] == "ask"
    own = OPENCODE.launch(profile(options={"rules": "own"}), "o", OPENING)
    assert "OPENCODE_PERMISSION" not in own.env


def test_words_of_the_profile_come_before_ours() -> None:
    launch = OPENCODE.launch(profile(argv=("opencode", "--log-level", "DEBUG")), "/bin/opencode", OPENING)
    assert launch.argv[:4] == ("/bin/opencode", "--log-level", "DEBUG", "serve")


@pytest.mark.parametrize(
    ("opening", "code"),
    [
        ({"model": "gpt"}, "unknown-model"),
        ({"model": "/gpt"}, "unknown-model"),
        ({"model": "openai/"}, "unknown-model"),
        ({"options": {"sandbox": "x"}}, "unknown-option"),
        ({"options": {"rules": "x"}}, "unknown-option"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(opening: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        OPENCODE.check(profile(), Opening(session="s1", cwd="/", **opening))
    assert refused.value.code == code


def test_what_can_be_is_not() -> None:
    OPENCODE.check(profile(), Opening(session="s1", cwd="/", model="openrouter/openai/gpt", options={"rules": "own"}))


def test_its_version_is_what_it_prints() -> None:
    assert OPENCODE.version_of("1.18.33\n") == "1.18.33"
    assert OPENCODE.version_of("no number") is None


def test_it_is_looked_up_in_the_path_or_as_the_profile_says() -> None:
    assert OPENCODE.program(profile(), "/nowhere") is None
    assert OPENCODE.program(profile(argv=("sh",)), "/bin:/usr/bin") is not None

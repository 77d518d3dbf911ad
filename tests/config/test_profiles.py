"""Profiles in the config file."""

from __future__ import annotations

import pytest

from orchctl.config import read_text
from orchctl.session.agent import Permission


def test_a_profile_says_how_a_harness_is_run() -> None:
    text = b"""
[profiles.fast]
harness = "codex"
argv = ["/opt/codex", "app-server"]
env = {CODEX_HOME = "/srv/codex"}
model = "small"
permission = "deny"
options = {sandbox = "read-only"}
"""
    found = read_text(text)
    assert found.problems == ()
    profile = found.config.profiles["fast"]
    assert (profile.harness, profile.argv[0], profile.model) == ("codex", "/opt/codex", "small")
    assert (profile.permission, profile.options["sandbox"]) == (Permission.DENY, "read-only")


@pytest.mark.parametrize(
    "lines",
    [
        "model = 'x'",
        "harness = 'codex'\nnew = 1",
        "harness = 'codex'\nargv = 'codex'",
        "harness = 'codex'\nenv = {A = 1}",
        "harness = 'codex'\npermission = 'perhaps'",
        "harness = 'codex'\nmodel = 5",
    ],
)
def test_what_is_wrong_with_a_profile_is_said_and_the_others_hold(lines: str) -> None:
    found = read_text(f"[profiles.good]\nharness = 'codex'\n[profiles.bad]\n{lines}\n".encode())
    assert list(found.config.profiles) == ["good"]
    (problem,) = found.problems
    assert problem.name == "profiles.bad"
    assert problem.line == 3

"""How Claude Code is started: with what it resumes, and without what its user has for work by hand."""

from __future__ import annotations

import os
import uuid
from typing import Any

import pytest

from orchctl.agents.claude import HARNESS
from orchctl.agents.interface import Opening, Profile
from orchctl.errors import BadInput
from tests.world import World

PROFILE = Profile(name="claude", harness="claude")


def argv(**fields: Any) -> tuple[str, ...]:
    """The words for this opening."""
    return HARNESS.launch(PROFILE, "/bin/claude", Opening(session="s", cwd="/w", **fields)).argv


def test_a_new_conversation_has_an_id_of_ours() -> None:
    launch = HARNESS.launch(PROFILE, "/bin/claude", Opening(session="s", cwd="/w"))
    assert (
        launch.argv[launch.argv.index("--session-id") + 1] == launch.notes["id"] == str(uuid.UUID(launch.notes["id"]))
    )


def test_one_that_was_begun_is_resumed_and_one_that_was_not_has_another_id() -> None:
    begun = argv(native={"id": "n", "begun": "yes"})
    assert begun[begun.index("--resume") + 1] == "n"
    assert "--resume" in argv(native={"id": "n"})  # one that somebody asked for by its id
    assert "n" not in argv(native={"id": "n", "begun": "no"})


def test_hooks_settings_and_servers_of_the_user_stay_out() -> None:
    words = argv()
    assert "--strict-mcp-config" in words
    assert words[words.index("--setting-sources") + 1] == ""
    assert "disableAllHooks" in words[words.index("--settings") + 1]
    own = argv(options={"settings": "user,project"})
    assert own[own.index("--setting-sources") + 1] == "user,project"
    assert "--strict-mcp-config" not in own


def test_its_process_sees_what_its_commands_are_to_see() -> None:
    told = {"ORCHCTL_SESSION": "s", "ORCHCTL_MANAGER": "user:x"}
    launch = HARNESS.launch(PROFILE, "/bin/claude", Opening(session="s", cwd="/w", tools_env=told))
    assert launch.env.items() >= told.items()
    assert launch.env["DISABLE_AUTOUPDATER"] == "1"


def test_a_model_is_passed_on() -> None:
    assert argv(model="opus")[-2:] == ("--model", "opus")


@pytest.mark.parametrize("options", [{"mode": "yolo"}, {"colour": "red"}])
def test_options_that_cannot_be_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        HARNESS.check(PROFILE, Opening(session="s", cwd="/w", options=options))


def test_the_program_is_found_in_the_path_or_where_the_profile_says(world: World) -> None:
    assert HARNESS.program(PROFILE, world.folder) is None
    os.makedirs(f"{world.folder}/bin")
    with open(f"{world.folder}/bin/claude", "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o755)
    assert HARNESS.program(PROFILE, f"{world.folder}/bin") == f"{world.folder}/bin/claude"
    other = Profile(name="x", harness="claude", argv=(f"{world.folder}/bin/claude", "--add-dir", "/x"))
    assert HARNESS.program(other, "/nowhere") == f"{world.folder}/bin/claude"
    assert HARNESS.launch(other, "/bin/claude", Opening(session="s", cwd="/w")).argv[:3] == (
        "/bin/claude",
        "--add-dir",
        "/x",
    )


def test_its_version_is_read() -> None:
    assert HARNESS.version_of("2.1.325 (Claude Code)\n") == "2.1.325"
    assert HARNESS.version_of("what?") is None

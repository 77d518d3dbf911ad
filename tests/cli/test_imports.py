"""Start-up is a feature: what one-shot commands import is pinned."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.world import World

HEAVY = {
    "asyncio",
    "email",
    "hashlib",
    "http",
    "httpx",
    "psutil",
    "msgspec",
    "pexpect",
    "logging",
    "secrets",
    "subprocess",
    "tempfile",
    "rich",
    "textual",
    "ssl",
    "concurrent",
    "tomlkit",
    "platformdirs",
}
COMMANDS = [
    "--version",
    "list",
    "list --json",
    "info shell",
    "tail shell",
    "wait shell --for prompt",
    "kill @last",
    "send shell x",
    "spawn true",
    "exec shell true",
]
MODULES_LIMIT = 191  # each costs about a fifth of a millisecond
OURS_LIMIT = 45  # modules of our own for `list`
OTHERS = {"supervisor", "pair", "workers", "agents", "log", "shell", "search"}  # rooms that `list` has no need of


def _imported(world: World, *words: str) -> set[str]:
    code = (
        "import sys\nfrom orchctl.cli.main import main\ntry:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    print('\\0'.join(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], env=world.env, capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split("\0"))


def test_list_imports_just_what_it_needs(world: World) -> None:
    world.ok("spawn", "sleep", "1000")
    ours = {name for name in _imported(world, "list") if name.partition(".")[0] == "orchctl"}
    assert len(ours) <= OURS_LIMIT, sorted(ours)
    assert {name.split(".")[1] for name in ours if "." in name} & OTHERS <= {"shell"}


@pytest.mark.parametrize("words", COMMANDS)
def test_one_shot_commands_import_nothing_heavy(world: World, words: str) -> None:
    world.ok("spawn", "--name", "shell", "sh")
    found = _imported(world, *words.split())
    assert found & HEAVY == set()
    assert len(found) < MODULES_LIMIT


@pytest.mark.parametrize("words", ["config show", "config path", "config get shell", "config check", "limits"])
def test_only_a_change_of_the_settings_imports_the_editor(world: World, words: str) -> None:
    world.ok("config", "set", "limits.total", "9")
    assert "tomlkit" not in _imported(world, *words.split())
    assert "tomlkit" in _imported(world, "config", "set", "limits.total", "9")


def test_the_users_configuration_directory_is_looked_up_only_until_it_is_written_down(world: World) -> None:
    del world.env["ORCHCTL_STATE_DIR"]  # the home is one of this test's own
    assert "platformdirs" not in _imported(world, "list")
    assert "platformdirs" in _imported(world, "config", "set", "limits.total", "9")
    for words in ("list", "limits", "config show", "config path", "supervisor status", "config set limits.total 8"):
        assert "platformdirs" not in _imported(world, *words.split())


def test_help_imports_no_command(world: World) -> None:
    found = _imported(world, "--help")
    assert not {name for name in found if name.startswith(("orchctl.cli.commands", "orchctl.client.blocking"))}

"""Start-up is a feature: what one-shot commands import is pinned."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.world import World

HEAVY = {
    "asyncio",
    "httpx",
    "psutil",
    "msgspec",
    "pexpect",
    "logging",
    "subprocess",
    "rich",
    "textual",
    "ssl",
    "concurrent",
}
COMMANDS = ["list", "list --json", "info @last", "tail @last", "kill @last"]
OURS_FOR_LIST = {
    "orchctl",
    "orchctl.cli",
    "orchctl.cli.app",
    "orchctl.cli.chosen",
    "orchctl.cli.colour",
    "orchctl.cli.columns",
    "orchctl.cli.commands",
    "orchctl.cli.commands.sessions",
    "orchctl.cli.forms",
    "orchctl.cli.main",
    "orchctl.cli.stdio",
    "orchctl.cli.tables",
    "orchctl.cli.words",
    "orchctl.client",
    "orchctl.client.agents",
    "orchctl.client.choosing",
    "orchctl.client.client",
    "orchctl.client.connection",
    "orchctl.client.gathering",
    "orchctl.client.handle",
    "orchctl.client.keeping",
    "orchctl.client.looking",
    "orchctl.client.output",
    "orchctl.client.patience",
    "orchctl.client.places",
    "orchctl.client.start",
    "orchctl.client.supervising",
    "orchctl.client.surroundings",
    "orchctl.client.views",
    "orchctl.client.waiting",
    "orchctl.core",
    "orchctl.core.manager",
    "orchctl.core.marks",
    "orchctl.core.stream",
    "orchctl.errors",
    "orchctl.model",
    "orchctl.model.agent",
    "orchctl.model.command",
    "orchctl.model.selection",
    "orchctl.model.session",
    "orchctl.model.stream",
    "orchctl.model.supervisor",
    "orchctl.model.units",
    "orchctl.model.values",
    "orchctl.protocol",
    "orchctl.protocol.agents",
    "orchctl.protocol.codec",
    "orchctl.protocol.commands",
    "orchctl.protocol.framing",
    "orchctl.protocol.hello",
    "orchctl.protocol.kept",
    "orchctl.protocol.messages",
    "orchctl.protocol.waiting",
    "orchctl.settings",
    "orchctl.standing",
    "orchctl.version",
}


def _imported(world: World, *words: str) -> set[str]:
    code = (
        "import sys\nfrom orchctl.cli.main import main\ntry:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    print('\\0'.join(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], env=world.env, capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split("\0"))


def test_list_imports_just_what_it_needs(world: World) -> None:
    world.ok("spawn", "sleep", "1000")
    found = _imported(world, "list")
    assert {name for name in found if name.partition(".")[0] == "orchctl"} == OURS_FOR_LIST


@pytest.mark.parametrize("words", COMMANDS)
def test_one_shot_commands_import_nothing_heavy(world: World, words: str) -> None:
    world.ok("spawn", "--wait", "true")
    assert _imported(world, *words.split()) & HEAVY == set()


def test_help_imports_no_command(world: World) -> None:
    found = _imported(world, "--help")
    assert not {name for name in found if name.startswith(("orchctl.cli.commands", "orchctl.client.client"))}

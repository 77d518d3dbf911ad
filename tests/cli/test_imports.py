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
MODULES_LIMIT = 190  # each costs about a fifth of a millisecond
OURS_FOR_LIST = {
    "orchctl",
    "orchctl.cli",
    "orchctl.cli.app",
    "orchctl.cli.options",
    "orchctl.cli.colour",
    "orchctl.cli.columns",
    "orchctl.cli.commands",
    "orchctl.cli.commands.list",
    "orchctl.cli.output",
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
    "orchctl.client.inputs",
    "orchctl.client.leasing",
    "orchctl.client.looking",
    "orchctl.client.output",
    "orchctl.client.patience",
    "orchctl.client.places",
    "orchctl.client.start",
    "orchctl.client.supervising",
    "orchctl.client.inherited",
    "orchctl.terminal.views",
    "orchctl.client.waiting",
    "orchctl.session.manager",
    "orchctl.shell.marks",
    "orchctl.session.stream",
    "orchctl.errors",
    "orchctl.session",
    "orchctl.session.agent",
    "orchctl.session.command",
    "orchctl.lazy_dataclass",
    "orchctl.session.lease_value",
    "orchctl.session.selected",
    "orchctl.session.screen",
    "orchctl.session.model",
    "orchctl.session.stream_values",
    "orchctl.session.supervisor",
    "orchctl.units",
    "orchctl.plain",
    "orchctl.protocol",
    "orchctl.protocol.messages.agents",
    "orchctl.protocol.codec",
    "orchctl.protocol.messages.exec",
    "orchctl.protocol.frames",
    "orchctl.protocol.hello",
    "orchctl.protocol.messages.input",
    "orchctl.protocol.messages.output",
    "orchctl.protocol.messages.lease",
    "orchctl.protocol.messages.supervisor",
    "orchctl.protocol.messages",
    "orchctl.protocol.messages.wait",
    "orchctl.paths",
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
    world.ok("spawn", "--name", "shell", "sh")
    found = _imported(world, *words.split())
    assert found & HEAVY == set()
    assert len(found) < MODULES_LIMIT


def test_help_imports_no_command(world: World) -> None:
    found = _imported(world, "--help")
    assert not {name for name in found if name.startswith(("orchctl.cli.commands", "orchctl.client.client"))}

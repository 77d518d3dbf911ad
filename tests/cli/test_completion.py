"""Completion, tried live: a shell on a terminal, a Tab, and what comes."""

from __future__ import annotations

import os
import subprocess

import pytest

from orchctl.cli.main import ALIASES, COMMANDS
from tests.cli.prompt import SCRIPTS, Prompt, prompt
from tests.cli.test_imports import HEAVY
from tests.cli.test_imports import _imported as imported
from tests.generate.tree import SIGNALS, tree
from tests.needs import COMPLETION, each, needs
from tests.test_build import TOP
from tests.world import World, processes_of

shells = pytest.mark.parametrize("shell", each(*SCRIPTS))
ODD = "sleep 1000 #$(touch pwned)`touch pwned`\x1b[31m\x1b]0;title\x07a:b\n\t\\*\udcff\x80é\"'"


def _shown(at: Prompt, text: str, *expected: str) -> str:
    """With as many Tabs as this shell needs to show a list."""
    return at.shows(text + ("\t" if at.shell == "fish" else "\t\t"), *expected)


@shells
def test_commands_options_and_choices(shell: str, world: World) -> None:
    with prompt(shell, world) as at:
        assert at.words("orchctl interr\t") == ["interrupt"]
        assert at.words("orchctl sho\tx") == ["show", "x"]  # an alias
        assert at.words("orchctl --no-auto\tls") == ["--no-autostart", "ls"]
        assert at.words("orchctl supervisor stat\t--js\t") == ["supervisor", "status", "--json"]
        assert at.words("orchctl spawn --idle-t\t5m --name x --no-p\t") == [
            *("spawn", "--idle-timeout=5m" if shell == "zsh" else "--idle-timeout"),
            *(() if shell == "zsh" else ("5m",)),
            *("--name", "x", "--no-pty"),
        ]
        assert at.words("orchctl spawn --restart on-\tx") == ["spawn", "--restart", "on-failure", "x"]
        assert at.words("orchctl spawn --restart=alw\tx") == ["spawn", "--restart=always", "x"]
        assert at.words("orchctl tail -fn a\tx") == ["tail", "-fn", "all", "x"]
        assert at.words("orchctl events --type session.s\t") == ["events", "--type", "session.state"]
        assert at.words("orchctl signal x WIN\t") == ["signal", "x", "WINCH"]
        assert at.words("orchctl completion zs\t") == ["completion", "zsh"]
        assert at.words("orchctl schema -- sessions\t") == ["schema", "--", "sessions"]
    assert not os.path.exists(world.state)


@shells
def test_what_the_shell_shows_of_commands_and_options(shell: str, world: World) -> None:
    with prompt(shell, world) as at:
        shown = at.shows("orchctl ki" + "\t" * 3, "kill-by-manager")  # the first press completes `kill`
        assert "kill" in shown
        assert ("End every session of a manager" in shown) == (shell != "bash")
        shown = _shown(at, "orchctl kill-by-manager --", "--exact", "--json")
        assert ("Only its own sessions" in shown) == (shell != "bash")
        assert "--restart" not in shown
        every = _shown(at, "orchctl ", *COMMANDS, *ALIASES)
        assert "__" not in every
    assert not os.path.exists(world.state)


@shells
def test_files_folders_and_commands_of_the_users_own(shell: str, world: World) -> None:
    with prompt(shell, world) as at:
        odd = "in here ünd dort" if shell == "fish" else "in here ünd\ndort"  # fish takes a folder a line
        os.makedirs(f"{at.folder}/{odd}")
        open(f"{at.folder}/in a file's $name", "w", encoding="ascii").close()
        assert at.words("orchctl spawn -w in\tx")[:2] == ["spawn", "-w"]
        (word,) = at.words("orchctl spawn -w in\t")[2:]
        assert word.rstrip("/") == odd
        (word,) = at.words("orchctl spawn --cwd=in\t")[1:]
        assert word.rstrip("/") == f"--cwd={odd}"
        assert at.words("orchctl exec x --script in\\ a\t") == ["exec", "x", "--script", "in a file's $name"]
        assert at.words("orchctl spawn mkfif\t") == ["spawn", "mkfifo"]
        assert at.words("orchctl spawn --name x cat in\\ a\t") == ["spawn", "--name", "x", "cat", "in a file's $name"]
        assert at.words("orchctl exec x --detach mkfif\t") == ["exec", "x", "--detach", "mkfifo"]
        assert at.words("orchctl exec x --det\ty") == ["exec", "x", "--detach", "y"]
        assert at.words("orchctl spawn y --det\t") == ["spawn", "y", "--det"]  # not ours any more


@pytest.mark.parametrize("shell", [pytest.param("bash", marks=needs("bash-completion")), *each("zsh", "fish")])
def test_a_command_of_the_users_own_is_completed_as_it_would_be_alone(shell: str, world: World) -> None:
    loaded = [f"source {COMPLETION}"] if shell == "bash" else []
    with prompt(shell, world, *loaded) as at:
        assert at.words("orchctl spawn -e a=b --name x mkdir --par\tx") == [
            *("spawn", "-e", "a=b", "--name", "x", "mkdir", "--parents", "x"),
        ]
        assert at.words("orchctl exec work:1 mkdir --par\tx") == ["exec", "work:1", "mkdir", "--parents", "x"]


@shells
def test_sessions_come_by_name_with_what_they_run(shell: str, world: World) -> None:
    world.ok("spawn", "--name", "one-db", "sleep", "1001")
    world.ok("spawn", "--name", "one-web", "-m", "agent:deep", "sleep", "1002")
    plain = world.ok("spawn", "sleep", "1003")
    world.ok("spawn", "--name", "one-old", "--wait", "sh", "-c", "exit 0 # done")
    with prompt(shell, world) as at:
        live = _shown(at, "orchctl kill ", "one-db", "one-web", "sleep 1001", "sleep 1002", plain, "@agent:deep")
        assert "one-old" not in live
        assert "@last" not in live  # it is the one that has ended
        either = _shown(at, "orchctl info ", "one-db", "sleep 1002", "one-old", "exit 0 # done", "[ended]", "@last")
        assert "@agent" not in either  # info takes one session, not a selector
        assert at.words("orchctl kill one-d\t") == ["kill", "one-db"]
        assert at.words("orchctl info one-o\t") == ["info", "one-old"]
        assert at.words(f"orchctl kill one-db {plain[:5]}\t") == ["kill", "one-db", plain]
        assert at.words("orchctl info @l\t") == ["info", "@last"]
        assert at.words("orchctl kill @agent:\t") == ["kill", "@agent:deep"]
        assert at.words("orchctl kill-by-manager agent:d\t") == ["kill-by-manager", "agent:deep"]
        assert at.words("orchctl list -m agent:d\t") == ["list", "-m", "agent:deep"]
        assert at.words("orchctl list --manager=agent:d\t") == ["list", "--manager=agent:deep"]
        assert at.words("orchctl exec one-w\tpwd") == ["exec", "one-web", "pwd"]


@shells
def test_what_a_session_runs_can_do_no_harm(shell: str, world: World) -> None:
    world.ok("spawn", "--name", "odd-1", "sh", "-c", ODD)
    world.ok("spawn", "--name", "odd-2", "sh", "-c", "sleep 1000 #\udcff")
    with prompt(shell, world) as at:
        spelled = "sleep 1000 #$(touch pwned)`touch pwned`^[[31m^[]0;..."  # cut there
        shown = _shown(at, "orchctl kill odd-", "odd-1", "odd-2", spelled, "sleep 1000 #")
        assert "\x1b" not in shown
        assert at.words("orchctl kill odd-1\t") == ["kill", "odd-1"]
        assert not os.path.exists(f"{at.folder}/pwned")


@shells
def test_completing_starts_nothing_and_says_nothing(shell: str, world: World) -> None:
    with prompt(shell, world) as at:
        assert at.words("orchctl kill x\t") == ["kill", "x"]
        assert not os.path.exists(world.state)
        world.ok("spawn", "--name", "left", "sleep", "1000")
        world.ok("supervisor", "stop", "--leave")
        assert at.words("orchctl kill le\t") == ["kill", "left"]  # it lives, and nobody had to be asked
        assert world.run("supervisor", "status").returncode == 1
        os.chmod(world.state, 0o755)
        try:
            assert at.words("orchctl kill le\t") == ["kill", "le"]
        finally:
            os.chmod(world.state, 0o700)
        assert "orchctl kill le" in at.shown
        assert "state directory" not in at.shown


def _offered(world: World, kind: str, word: str = "") -> dict[str, str]:
    done = world.run("completion", "--candidates", kind, "--word", word)
    assert (done.returncode, done.stderr) == (0, b"")
    return dict(line.split("\t") for line in done.stdout.decode().splitlines())


def test_damaged_files_cost_their_own_session_alone(world: World) -> None:
    good, bad, worse = (world.ok("spawn", "--name", name, "--wait", "true") for name in ("good", "bad", "worse"))

    def listed() -> set[str]:
        return set(_offered(world, "any-by-name"))

    assert world.ok("list", "-aq").split() == [good, bad, worse]
    world.ok("supervisor", "stop")  # all of them are put away then
    assert listed() == {"good", "bad", "worse"}
    for session, text in ((bad, "[" * 100000), (worse, '{"name": "\\u0007\\n", "command": 3}')):
        with open(f"{world.state}/sessions/{session}/ended.json", "w", encoding="ascii") as file:
            file.write(text)
    os.mkfifo(f"{world.state}/sessions/{good}/ended.json.new")
    os.mkdir(f"{world.state}/sessions/odd\n\x1b")
    assert listed() == {"good"}
    assert world.run("supervisor", "status").returncode == 1


def test_an_answer_that_does_not_come_is_not_waited_for(world: World) -> None:
    """A supervisor that is stopped takes connections and says nothing; the files have the answer."""
    import signal

    world.ok("spawn", "--name", "there", "sleep", "1000")
    stopped = world.supervisor()
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert set(_offered(world, "live")) == {"there", "@last"}
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_ids_are_offered_where_one_is_being_typed_or_there_is_no_name(world: World) -> None:
    named, plain = world.ok("spawn", "--name", "zz", "sleep", "1000"), world.ok("spawn", "sleep", "1000")
    assert list(_offered(world, "live")) == [plain, "zz", "@last"]
    assert list(_offered(world, "live", named[:6])) == [named]
    assert _offered(world, "managers") == {"user": "2 sessions"}
    assert list(_offered(world, "live-many", "@")) == ["@last", "@user"]


def test_completing_imports_just_what_it_needs(world: World) -> None:
    world.ok("spawn", "sleep", "1000")
    found = imported(world, "completion", "--candidates", "live")
    assert found & HEAVY == set()
    ours = {name.removeprefix("orchctl.cli.") for name in found if name.startswith("orchctl.cli.")}
    assert {name for name in ours if name.startswith(("commands", "pages"))} == {"commands", "commands.completion"}
    assert "orchctl.client.blocking" in found
    script = imported(world, "completion", "bash")
    assert not {name for name in script if name.startswith(("orchctl.client.blocking", "orchctl.cli.complete."))}


def test_every_signal_that_is_offered_is_one(world: World) -> None:
    world.ok("spawn", "--name", "s", "sleep", "1000")
    refused = [name for name in SIGNALS if b"is not a signal" in world.run("signal", "nobody", name).stderr]
    assert refused == []


def test_every_word_of_the_table_is_in_every_script() -> None:
    for name in SCRIPTS.values():
        with open(f"{TOP}/completions/{name}", encoding="utf-8") as file:
            text = file.read()
        for node in tree().walk():
            words = {*node.path, *node.aliases, *(name for option in node.options for name in option.names)}
            missing = {word for word in words if word.lstrip("-") not in text}
            assert missing == set(), (name, node.path)


@shells
def test_the_printed_script_is_the_committed_one(shell: str, world: World) -> None:
    done = world.run("completion", shell)
    with open(f"{TOP}/completions/{SCRIPTS[shell]}", "rb") as file:
        assert done.stdout == file.read()
    assert world.json("completion", shell) == {"shell": shell, "script": done.stdout.decode()}
    assert subprocess.run([shell, "-n"], input=done.stdout, check=False).returncode == 0
    assert processes_of(world.folder) == []
    assert world.run("completion").returncode == world.run("completion", "tcsh").returncode == 2

"""What a person meets first: `orchctl` alone, slips of the finger, and habits from other tools."""

from __future__ import annotations

import json

import pexpect
import pytest

from orchctl.cli.main import ALIASES, COMMANDS
from orchctl.cli.overview import COMMAND_HABITS, FIRST, SECTIONS
from orchctl.errors import NoSuchSession
from orchctl.session.model import Session
from orchctl.session.selection import find
from tests.world import ORCHCTL, World

GROUPS = ("supervisor", "config", "lease", "harness")


def _terminal(world: World, *words: str) -> pexpect.spawn[str]:
    around = {**world.env, "TERM": "xterm-256color", "NO_COLOR": "1"}
    return pexpect.spawn(ORCHCTL, list(words), env=around, timeout=60, encoding="utf-8", dimensions=(40, 100))


def _shown(world: World, *words: str) -> tuple[str, int | None]:
    terminal = _terminal(world, *words)
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal.before or "", terminal.exitstatus


def test_every_command_is_in_one_section_of_the_help() -> None:
    named = [name for names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(COMMANDS)


def test_orchctl_alone_shows_a_short_status_and_starts_nothing(world: World) -> None:
    text, status = _shown(world)
    assert (status, text.splitlines()[0]) == (0, "No live session.")
    assert all(command in text for command, _ in FIRST)
    world.ok("spawn", "--name", "first", "sleep", "1000")
    text, status = _shown(world)
    assert (status, text.splitlines()[0]) == (0, "1 live session.")
    assert "first" in text
    world.ok("supervisor", "stop", "--kill")
    assert _shown(world)[0].splitlines()[0] == "No live session."  # ended ones are there, and one could ask for them
    assert world.look("supervisor", "status", "--template", "{running}").stdout == b"false\n"


def test_orchctl_alone_in_a_pipe_is_an_error_of_usage_with_the_help(world: World) -> None:
    done = world.run()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Usage: orchctl")
    assert b"^J" not in done.stderr


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_shows_its_help_in_lines(world: World, group: str) -> None:
    done = world.look(group)
    assert (done.returncode, done.stdout) == (2, b"")
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith(f"Usage: orchctl {group}")
    assert len(lines) > 5
    assert b"^J" not in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["lst"], "list"), (["spwan"], "spawn"), (["kil"], "kill"), (["supervisor", "stp"], "stop")],
)
def test_a_slip_of_the_finger_is_answered_with_what_was_meant(world: World, words: list[str], meant: str) -> None:
    done = world.look(*words)
    assert done.returncode == 2
    assert f"Did you mean '{meant}'?" in done.stderr.decode()


def test_a_word_that_is_like_nothing_is_not_guessed_at(world: World) -> None:
    assert b"Did you mean" not in world.look("frobnicate").stderr
    assert b"--sort" not in world.look("list", "--format", "x").stderr
    assert b"--attach" not in world.look("spawn", "--detach", "true").stderr


@pytest.mark.parametrize("habit", sorted(COMMAND_HABITS))
def test_a_habit_is_answered_with_a_command_of_ours(world: World, habit: str) -> None:
    done = world.look(habit, "--json")
    told = json.loads(done.stderr)
    assert (done.returncode, told["code"]) == (2, "usage")
    assert "orchctl " in told["message"]


@pytest.mark.parametrize(("alias", "command"), sorted(ALIASES.items()))
def test_other_names_are_the_same_commands_and_in_the_help(world: World, alias: str, command: str) -> None:
    own, other = (world.ok(name, "--help").splitlines() for name in (command, alias))
    assert own[1:] == other[1:]
    assert f"The same as '{command}'." in world.ok("--help")


def test_habits_that_are_taken_as_they_are(world: World) -> None:
    assert world.ok("help", "kill").splitlines()[1:] == world.ok("kill", "--help").splitlines()[1:]
    assert world.ok("version") == world.ok("-V") == world.ok("--version")
    session = world.ok("spawn", "-d", "--name", "one", "sh", "-c", "seq 5; sleep 1000")
    assert [one["id"] for one in json.loads(world.ok("list", "-o", "json"))] == [session]
    world.ok("wait", "--for", "output=5", "one")
    assert world.ok("logs", "--tail", "2", "one").split() == ["4", "5"]


def test_a_line_for_a_shell_is_answered_with_how_to_run_it(world: World) -> None:
    done = world.look("spawn", "ls -la")
    assert done.returncode == 127
    assert "orchctl spawn sh -c 'ls -la'" in done.stderr.decode()
    assert b"sh -c" not in world.look("spawn", "no-such-program", "with words").stderr


def test_a_list_of_nothing_says_so_on_a_terminal_alone(world: World) -> None:
    assert "no live session; -a shows ended ones" in _shown(world, "list")[0]
    done = world.run("list")
    assert (done.stdout, done.stderr) == (b"", b"")


def test_ended_sessions_say_when_and_by_whom_they_ended(world: World) -> None:
    world.ok("spawn", "--name", "by-itself", "--wait", "true")
    world.ok("spawn", "--name", "by-kill", "sleep", "1000")
    world.ok("kill", "by-kill")
    world.run("spawn", "--name", "by-time", "--timeout", "100ms", "--wait", "sleep", "1000")
    assert "ENDED" not in world.ok("list")
    head, *lines = world.ok("list", "-a").splitlines()
    assert "ENDED" in head
    states = {line.split()[1]: line[head.index("STATE") :].split("  ")[0] for line in lines}
    assert states == {"by-itself": "closed (0)", "by-kill": "closed (killed)", "by-time": "closed (timeout)"}
    assert all(" ago" in line for line in lines)


@pytest.mark.parametrize("words", [["top"], ["list", "--watch"]])
def test_q_leaves_a_view_that_goes_on(world: World, words: list[str]) -> None:
    world.ok("spawn", "--name", "shown", "sleep", "1000")
    terminal = _terminal(world, *words)
    terminal.expect("shown")
    terminal.send("x")
    terminal.send("q")
    terminal.expect(pexpect.EOF, timeout=20)
    terminal.close()
    assert terminal.exitstatus == 0


def test_four_digits_of_an_id_are_enough_and_fewer_say_why() -> None:
    sessions = [Session(id="abcd1234-0000-4000-8000-000000000000"), Session(id="abce1234-0000-4000-8000-000000000000")]
    assert find("abcd", sessions, own_manager="user") is sessions[0]
    with pytest.raises(NoSuchSession, match="at least 4 digits"):
        find("abc", sessions, own_manager="user")
    with pytest.raises(NoSuchSession, match="orchctl list"):
        find("beef", sessions, own_manager="user")


def test_a_template_may_cut_a_field_and_refuses_another_tools_form(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    assert world.ok("list", "--template", "{id:.8}-{state:.2}") == f"{session[:8]}-li"
    done = world.look("list", "--template", "{{.ID}}")
    assert done.returncode == 2
    assert b"orchctl schema" in done.stderr

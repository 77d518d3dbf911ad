"""The surface: help, JSON, errors and their codes, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import re

import pexpect
import pytest

from orchctl.cli.main import COMMANDS
from tests.world import ORCHCTL, World


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_its_exit_codes(world: World, name: str) -> None:
    text = world.ok(name, "--help")
    assert "Exit codes:" in text or name == "supervisor"
    assert name in world.ok("--help")


def test_aliases_run_the_same_command(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    assert world.ok("ls", "-q") == world.ok("ps", "-q") == session
    assert world.json("show", session)["id"] == session


def test_an_error_is_one_line_for_people_and_one_object_for_programs(world: World) -> None:
    plain = world.run("info", "nobody")
    assert (plain.returncode, plain.stdout) == (3, b"")
    assert re.fullmatch(rb"orchctl: no session 'nobody'.*\n", plain.stderr)
    told = world.run("info", "--json", "nobody")
    assert set(json.loads(told.stderr)) == {"code", "message"}
    assert told.returncode == 3


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["no-such-command"], 2),
        (["list", "--no-such-option"], 2),
        (["kill"], 2),
        (["tail", "-n", "-1", "x"], 2),
        (["kill", "--grace", "soon", "x"], 2),
        (["send", "x"], 2),
        (["kill-by-manager", "a::b"], 2),
        (["supervisor", "stop", "--kill", "--leave"], 2),
        (["spawn", "--wait", "--follow", "true"], 125),
    ],
)
def test_bad_usage_says_so_and_has_its_code(world: World, words: list[str], status: int) -> None:
    done = world.run(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.startswith(b"orchctl: ")
    assert b"Traceback" not in done.stderr
    assert json.loads(world.run(*words[:1], "--json", *words[1:]).stderr)["code"] in ("usage", "bad-manager")


@pytest.mark.parametrize("kind", ["file", "symlink", "open to others", "below a file"])
def test_a_state_directory_that_is_not_ours_alone_is_refused(world: World, kind: str) -> None:
    if kind == "file":
        open(world.state, "w", encoding="ascii").close()
    elif kind == "symlink":
        os.mkdir(f"{world.folder}/real", 0o700)
        os.symlink(f"{world.folder}/real", world.state)
    elif kind == "open to others":
        os.mkdir(world.state)
        os.chmod(world.state, 0o755)
    else:
        open(f"{world.folder}/file", "w", encoding="ascii").close()
        world.env["ORCHCTL_STATE_DIR"] = f"{world.folder}/file/state"
    for words in (["spawn", "true"], ["list"], ["supervisor", "status"]):
        done = world.run(*words, "--json") if words[0] != "spawn" else world.run("spawn", "--json", "true")
        if kind == "below a file" and words[0] != "spawn":
            continue
        assert (done.returncode, json.loads(done.stderr)["code"]) == (4, "bad-state-dir")
    world.state = f"{world.folder}/unused"  # nothing was started, and nothing is to be stopped


def test_list_shows_a_table_and_info_everything(world: World) -> None:
    session = world.ok("spawn", "--name", "db", "-m", "a:b", "sleep", "1000")
    head, row = world.ok("list").splitlines()
    assert head.split() == ["ID", "NAME", "MANAGER", "STATE", "TIME", "COMMAND"]
    assert row.split()[:4] == [session[:8], "db", "a:b", "live"]
    assert row.endswith("sleep 1000")
    assert f"id           {session}" in world.ok("info", "db")
    (listed,) = world.json("list")
    steady = {"id", "name", "managed_by", "labels", "command", "cwd", "state", "run", "pid", "started_at", "processes"}
    assert set(listed) == set(world.json("info", "db"))
    assert {name: listed[name] for name in steady} == {name: world.json("info", "db")[name] for name in steady}
    assert (listed["state"], listed["is_alive"], listed["exit_code"]) == ("live", True, None)
    world.ok("kill", "db")
    assert world.ok("list") == ""
    assert "closed" in world.ok("list", "-a")


def _on_a_terminal(world: World, *words: str) -> str:
    running = pexpect.spawn(ORCHCTL, list(words), env=world.env, timeout=60, encoding="utf-8", codec_errors="strict")
    running.expect(pexpect.EOF)
    running.wait()
    running.close()
    return running.before or ""


def test_hostile_output_and_names_reach_a_terminal_as_text_and_colour_only(world: World) -> None:
    nasty = "\033]0;owned\007\033[6n\033[31mred\033[0m\033]52;c;ZXZpbA==\007\033Pq\033\\\u009b5n\u202eabc"
    session = world.ok("spawn", "--wait", "printf", "%s\n", nasty)
    shown = _on_a_terminal(world, "tail", session)
    assert "\x1b[31mred\x1b[0m" in shown
    assert re.sub(r"\x1b\[[0-9;]*m|\r\n", "", shown).isprintable()
    assert "^[]52;c;ZXZpbA==^G^[Pq^[\\" in shown
    assert "owned" not in shown
    listed = _on_a_terminal(world, "list", "-a")
    assert re.sub(r"\x1b\[[0-9;]*m|\r\n", "", listed).isprintable()
    assert "^[]0;owned^G" in listed


def test_a_command_or_path_that_is_not_utf_8_survives(world: World) -> None:
    strange = os.fsdecode(b"caf\xe9")
    os.mkdir(f"{world.folder}/{strange}")
    done = world.run("spawn", "--follow", "-w", f"{world.folder}/{strange}", "sh", "-c", 'printf %s "$0"; pwd', strange)
    assert done.stdout.startswith(b"caf\xe9")
    assert b"caf\xe9\n" in done.stdout
    assert world.ok("list", "-a") != ""
    assert world.ok("info", "@last") != ""

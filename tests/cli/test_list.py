"""`list` in all its forms, colour, `--watch`, `--verbose`, and the word while something takes long."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pexpect
import pytest

from orchctl.cli.output import wanted
from tests.world import ORCHCTL, World

LONG = ["sleep", "1000"]


def _terminal(world: World, *words: str, **env: str) -> pexpect.spawn[str]:
    around = {**world.env, "TERM": "xterm-256color", **env}
    around.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
    return pexpect.spawn(ORCHCTL, list(words), env=around, timeout=60, encoding="utf-8", dimensions=(24, 100))


def test_sorted_and_grouped_as_wanted(world: World) -> None:
    os.makedirs(f"{world.folder}/work/.git")
    world.ok("spawn", "--name", "zeta", "-m", "a", "-w", world.folder, *LONG)
    world.ok("spawn", "--name", "alpha", "-m", "b", "-w", f"{world.folder}/work", *LONG)
    world.ok("spawn", "--name", "mid", "-m", "a:x", "-w", "/", *LONG)

    def names(*words: str) -> list[str]:
        return world.ok("list", "--template", "{name}", *words).split()

    assert names() == ["zeta", "alpha", "mid"]
    assert names("--sort", "name") == ["alpha", "mid", "zeta"]
    assert names("--sort", "manager") == ["zeta", "mid", "alpha"]
    for key in ("created", "state", "time", "ended", "cpu", "memory", "output"):
        assert sorted(names("--sort", key)) == ["alpha", "mid", "zeta"]
    assert world.run("list", "--sort", "colour").returncode == 2
    grouped = world.ok("list", "--group-by", "repo").splitlines()
    assert [line for line in grouped if line and not line.startswith(" ")] == [
        "(no repository)",
        os.path.realpath(f"{world.folder}/work"),
    ]
    assert world.ok("list", "--group-by", "manager").splitlines()[0] == "a"


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "colour"),
    [
        ("auto", {"TERM": "xterm"}, True, True),
        ("auto", {"TERM": "xterm"}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, True, False),
        ("auto", {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1", "TERM": "xterm"}, True, False),
    ],
)
def test_when_there_is_colour(choice: str, environ: dict[str, str], terminal: bool, colour: bool) -> None:
    assert wanted(choice, environ, terminal=terminal) is colour


def test_a_pipe_gets_plain_lines_and_a_terminal_colour(world: World) -> None:
    world.ok("spawn", *LONG)
    assert "\x1b" not in world.ok("list")
    assert "\x1b[32mlive\x1b[0m" in world.ok("--color", "always", "list")
    shown = _terminal(world, "list")
    shown.expect_exact("\x1b[32mlive\x1b[0m")
    shown.expect(pexpect.EOF)
    shown.wait()
    shown.close()
    plain = _terminal(world, "list", NO_COLOR="1")
    plain.expect(pexpect.EOF)
    assert "\x1b" not in (plain.before or "")
    plain.close()


def test_a_wide_row_is_cut_at_the_terminals_width_and_nowhere_else(world: World) -> None:
    world.ok("spawn", "sh", "-c", f"sleep 1000; : {'x' * 300}")
    assert "x" * 300 in world.ok("list")
    shown = _terminal(world, "--color", "never", "list")
    shown.expect(pexpect.EOF)
    assert max(map(len, (shown.before or "").split("\r\n"))) == 100
    shown.close()


def test_watch_repaints_a_terminal_and_leaves_it_as_it_was(world: World) -> None:
    world.ok("spawn", "--name", "first", *LONG)
    shown = _terminal(world, "list", "--watch")
    shown.expect_exact("\x1b[?1049h")
    shown.expect_exact("first")
    world.ok("spawn", "--name", "second", *LONG)
    shown.expect_exact("second")
    shown.sendintr()
    shown.expect_exact("\x1b[?1049l")
    shown.expect(pexpect.EOF)
    shown.wait()
    shown.close()
    assert shown.exitstatus == 130


def test_watch_into_a_pipe_says_what_changed(world: World) -> None:
    world.ok("spawn", "--name", "first", *LONG)
    with world.start("list", "--watch", "--json") as watching:
        assert watching.stdout is not None
        assert [one["name"] for one in json.loads(watching.stdout.readline())] == ["first"]
        world.ok("spawn", "--name", "second", *LONG)
        assert [one["name"] for one in json.loads(watching.stdout.readline())] == ["first", "second"]
        watching.terminate()


def test_verbose_says_who_was_asked(world: World) -> None:
    world.supervisor()
    done = world.run("--verbose", "list")
    assert done.returncode == 0
    assert re.search(rb"^orchctl: supervisor \d+, version ", done.stderr, re.MULTILINE)
    assert world.run("list").stderr == b""


def test_what_takes_longer_than_a_second_says_so_on_a_terminal_only(world: World) -> None:
    deaf = "trap '' HUP TERM; echo ready; while :; do sleep 1; done"
    for name in ("one", "two"):
        world.ok("spawn", "--name", name, "sh", "-c", deaf)
        world.ok("wait", name, "--for", "output=ready")
    quiet = subprocess.run([ORCHCTL, "kill", "--grace", "2s", "one"], env=world.env, capture_output=True, check=True)
    assert (quiet.stdout, quiet.stderr) == (b"1\n", b"")
    shown = _terminal(world, "kill", "--grace", "3s", "two")
    shown.expect_exact("ending 1 session … ")
    shown.expect(pexpect.EOF)
    assert (shown.before or "").endswith("\r\x1b[K1\r\n")
    shown.close()

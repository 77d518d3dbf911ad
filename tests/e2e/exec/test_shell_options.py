"""Shells that are started with options: each keeps its meaning, and `exec` works; other programs are named as such."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.needs import needs
from tests.world import World

NEED = {"zsh", "fish", "ksh93", "mksh", "busybox"}
# A shell with options, and what `exec` of a text must give there.
CASES = [
    ("bash --norc", "echo ${RC-none}", "none"),
    ("bash", "echo ${RC-none}", "own"),
    ("bash --rcfile rc", "echo ${RC-none}", "other"),
    ("bash --init-file ./rc -i", "echo ${RC-none}", "other"),
    ("bash --rcfile no-such", "echo ${RC-none}", "none"),
    ("bash --noprofile -l", "echo ${PROFILE-none}", "none"),
    ("bash -l --norc", "echo ${PROFILE-none}", "own"),
    ("bash --posix", "shopt -qo posix && echo ${RC-none}", "none"),
    ("bash -o posix", "shopt -qo posix && echo on", "on"),
    ("bash --norc", "shopt -qo posix || echo off", "off"),
    ("bash --noediting", "shopt -qo emacs || echo off", "off"),
    ("bash -fu -o pipefail", "echo *; false | true || echo $?", "*\n1"),
    ("bash -a", "X=1; sh -c 'echo $X'", "1"),
    ("zsh -f", "echo ${RC-none}; [[ -o rcs ]] || echo off", "none\noff"),
    ("zsh --no-rcs", "echo ${RC-none}", "none"),
    ("zsh -o norcs -l", "echo ${RC-none}${PROFILE-}", "none"),
    ("zsh -o extendedglob", "[[ -o extendedglob ]] && echo $RC", "own"),
    ("zsh -oextendedglob -y", "[[ -o shwordsplit ]] && echo on", "on"),
    ("zsh --extended-glob", "[[ -o extendedglob ]] && echo on", "on"),
    ("fish --no-config", "set -q RC; or echo none", "none"),
    ("fish -C 'set X 1' --private", "echo $X$RC", "1own"),
    ("dash -f", "echo *", "*"),
    ("dash -u -o noglob", "echo * ${RC-none}", "* own"),
    ("ksh93 -f", "echo *", "*"),
    ("mksh -f", "echo *", "*"),
    ("busybox sh -f", "echo *", "*"),
]


@pytest.fixture
def home(world: World, tmp_path: Path) -> Path:
    """Start-up files of a user, which leave a variable, and another one for those who want that."""
    for name in (".bashrc", ".zshrc", "sh-rc"):
        (tmp_path / name).write_text("RC=own\n")
    for name in (".bash_profile", ".profile", ".zprofile"):
        (tmp_path / name).write_text("PROFILE=own\n")
    (tmp_path / "rc").write_text("RC=other\n")
    (tmp_path / ".config/fish").mkdir(parents=True)
    (tmp_path / ".config/fish/config.fish").write_text("set -g RC own\n")
    world.env |= {"HOME": str(tmp_path), "ENV": str(tmp_path / "sh-rc")}
    return tmp_path


def _needed(shell: str) -> list[pytest.MarkDecorator]:
    return [needs(name) for name in [shell.split(maxsplit=1)[0]] if name in NEED]


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [pytest.param(*one, id=f"{one[0]}: {one[1]}", marks=_needed(one[0])) for one in CASES],
)
def test_exec_works_in_a_shell_with_options_that_keep_their_meaning(
    world: World, home: Path, command: str, text: str, expected: str
) -> None:
    env = world.env if "bash" not in command else {k: v for k, v in world.env.items() if k != "ENV"}
    world.ok("spawn", "--name", "s", "-w", str(home), *shlex.split(command), env=env)
    assert world.ok("exec", "s", text) == expected
    done = world.run("exec", "s", "sh -c 'exit 3'")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")


@pytest.mark.parametrize(
    "shell",
    [pytest.param(one, marks=_needed(one)) for one in ("bash", "bash --norc", "dash", "ksh93", "mksh")],
)
def test_a_shell_that_traces_shows_nothing_of_ours_when_it_starts(world: World, home: Path, shell: str) -> None:
    """And it does trace."""
    session = world.ok("spawn", "-w", str(home), *shlex.split(shell), "-x")
    world.ok("wait", session, "--for", "prompt")
    assert b"__oc" not in world.run("tail", "-n", "all", session).stdout
    assert "x" in world.ok("exec", session, "echo $-").splitlines()[-1]


def test_a_shell_that_ends_on_failure_does_so(world: World, home: Path) -> None:
    session = world.ok("spawn", "bash", "--norc", "-e")
    assert world.ok("exec", session, "echo $((6 * 7))") == "42"
    assert world.run("exec", session, "sh -c 'exit 5'").returncode == 5
    assert world.run("wait", session).returncode == 5


def test_options_are_kept_when_a_shell_starts_again(world: World, home: Path) -> None:
    world.ok("spawn", "--name", "s", "bash", "--norc", "-u")
    world.ok("restart", "s")
    assert world.ok("exec", "s", "echo ${RC-none} ${-//[!u]}") == "none u"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["sh", "-c", "sleep 1000"], "sh -c 'sleep 1000'"),
        (["bash", "-s"], "bash -s"),
        (["bash", "-ic", "sleep 1000; :"], "bash -ic 'sleep 1000; :'"),
        (["bash", "-r"], "bash -r"),
        (["bash", "--norc", "script"], "bash --norc script"),
        (["sleep", "1000", *["x" * 30] * 3], None),
        (["cat"], "cat"),
    ],
)
def test_a_program_that_is_no_interactive_shell_is_named(
    world: World, home: Path, command: list[str], shown: str | None
) -> None:
    (home / "script").write_text("sleep 1000\n")
    world.ok("spawn", "--name", "a1", "-w", str(home), *(command if shown else ["sh", "-c", "sleep 1000", "x" * 90]))
    refused = world.run("exec", "--json", "a1", "true")
    told = json.loads(refused.stderr)
    shown = shown or f"sh -c 'sleep 1000' {'x' * (60 - len(chr(39) * 2 + 'sh -c sleep 1000 '))}…"
    assert (refused.returncode, told["code"]) == (125, "not-at-prompt")
    assert told["message"].startswith(f"a1 runs a program ({shown}), not an interactive shell; nothing was typed.")
    assert "orchctl send a1" in told["message"]
    waits = world.run("wait", "--json", "a1", "--for", "prompt")
    assert json.loads(waits.stderr)["code"] == "not-a-shell"


def test_a_shell_that_reads_a_script_is_named_too(world: World) -> None:
    read, write = os.pipe()
    world.ok("spawn", "--name", "a1", "--stdin", "bash", stdin=read)
    told = json.loads(world.run("exec", "--json", "a1", "true").stderr)
    os.close(read)
    os.close(write)
    assert (told["code"], "with a stdin that was handed over" in told["message"]) == ("not-at-prompt", True)

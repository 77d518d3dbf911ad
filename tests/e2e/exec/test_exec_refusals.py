"""What exec refuses, each with a clear error and its code, and nothing typed."""

from __future__ import annotations

import json
import os

import pytest

from orchctl import OrchctlError
from tests.world import ORCHCTL, World


def _bash(world: World) -> str:
    os.mkdir(f"{world.folder}/home")
    world.env |= {"HOME": f"{world.folder}/home"}
    return world.ok("spawn", "--name", "w", "-w", f"{world.folder}/home", "bash")


def _code(world: World, *words: str) -> str:
    done = world.run("exec", "--json", *words)
    assert (done.returncode, done.stdout) == (125, b""), done
    return str(json.loads(done.stderr)["code"])


def test_a_closed_session_and_one_that_is_no_shell(world: World) -> None:
    session = world.ok("spawn", "--name", "cat", "cat")
    assert _code(world, "cat", "echo hi") == "not-at-prompt"
    assert world.log(session) == b""
    world.ok("kill", "cat")
    assert _code(world, "cat", "echo hi") == "session-ended"
    assert _code(world, "nobody", "echo hi") == "no-such-session"


def test_no_command_two_commands_and_a_script_that_cannot_be_read(world: World) -> None:
    _bash(world)
    for words in (["w"], ["w", "-c", "true", "true"], ["w", "--script", "/no/such/file"], ["w", "--script", "/"], []):
        assert _code(world, *words) == "usage"


def test_a_nul_byte_a_bad_name_and_a_command_that_is_too_large(world: World) -> None:
    _bash(world)
    with world.client() as client:
        for text, options, code in (
            ("echo a\0b", {}, "nul-byte"),
            ("x" * 200_000 + "\0", {}, "nul-byte"),
            ("true", {"env": {"a-b": "c"}}, "bad-env"),
            ("true", {"timeout_s": -1.0}, "bad-duration"),
            ("x" * (65 << 20), {}, "too-large"),
        ):
            with pytest.raises(OrchctlError) as refused:
                client.exec("w", text, **options)
            assert refused.value.code == code
        assert client.history("w") == []


def test_a_command_of_five_megabytes_is_run(world: World) -> None:
    _bash(world)
    with world.client() as client:
        result = client.exec("w", "echo " + "x" * (5 << 20) + " | wc -c")
        assert (result.exit_code, result.output) == (0, b"%d\n" % ((5 << 20) + 1))
        assert client.exec("w", ["printf", "%s", "y" * 1_000_000 + "'"]).output == b"y" * 1_000_000 + b"'"


def test_a_shell_that_ends_in_the_middle_gives_its_own_status(world: World) -> None:
    _bash(world)
    with world.client() as client:
        result = client.exec("w", "echo last; exit 6")
    assert (result.exit_code, result.status, result.completion) == (6, "exited", "process")
    assert result.output.startswith(b"last\n")


def test_a_shell_that_ends_because_its_command_is_past_its_time_has_timed_out(world: World) -> None:
    _bash(world)
    with world.client() as client:
        result = client.exec("w", "exec sleep 1000", timeout_s=0.5)
    assert (result.exit_code, result.status, result.completion) == (124, "timeout", "process")


def test_a_session_cannot_wait_for_or_run_in_itself(world: World) -> None:
    _bash(world)
    for words in (
        f"{ORCHCTL} exec --json w true",
        f"{ORCHCTL} wait --json w",
        f"{ORCHCTL} tail -f --exit-status --json w",
    ):
        done = world.run("exec", "w", words)
        assert done.returncode == 125
        assert json.loads(done.stdout)["code"] == "own-session"


def test_wait_says_which_condition_fired_and_gives_up_in_time(world: World) -> None:
    _bash(world)
    assert world.ok("wait", "w", "--for", "prompt", "--for", "exit") == "prompt"
    assert world.ok("wait", "w", "--for", "quiet=200ms") == "quiet"
    world.ok("send", "w", "printf 'rea%s 42\\n' dy")
    assert world.ok("wait", "w", "--for", "output=ready [0-9]+") == "ready 42"
    late = world.run("wait", "w", "--for", "output=never", "--timeout", "300ms", "--json")
    assert (late.returncode, json.loads(late.stderr)["code"]) == (124, "timed-out")
    assert world.run("wait", "w", "--for", "output=(", "--timeout", "1s").returncode == 2
    assert world.run("wait", "w", "--timeout", "300ms").returncode == 124
    assert world.run("wait", "w", "--for", "nonsense").returncode == 2
    waiting = world.start("wait", "w")
    world.run("exec", "w", "exit 9")
    waiting.communicate(timeout=60)
    assert waiting.returncode == 9


def test_a_command_that_takes_the_marks_away_is_a_clear_error_and_never_a_hang(world: World) -> None:
    _bash(world)
    for text in ("builtin() { :; }", "echo hi"):
        assert _code(world, "w", text) == "marks-gone"
    world.ok("send", "w", "unset -f builtin")
    assert world.ok("exec", "w", "--wait-prompt", "30s", "echo back") == "back"

"""Signals and pipes at the client: what ends, how it ends, and what goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pexpect
import pytest

from tests.world import DEADLINE_S, ORCHCTL, World, fresh_world, interrupt_twice, until


@pytest.fixture(scope="module")
def home() -> Iterator[World]:
    """One supervisor, with a session that must not end."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "quiet", "sh", "-c", "echo up; exec sleep 1000")
        made.ok("spawn", "--name", "shell", "bash")
        made.ok("exec", "shell", "true")
        yield made
        assert made.json("info", "quiet")["is_alive"] is True
        assert made.json("info", "shell")["is_alive"] is True


def begun(world: World, *words: str) -> subprocess.Popen[bytes]:
    """A command that has shown its first line, `up`."""
    running = world.start(*words, stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    return running


def end_of(running: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """How it ended (below zero: by that signal), and what it said on stderr."""
    _, err = running.communicate(timeout=DEADLINE_S)
    return running.returncode, err


STAYING = {
    "exec": ["exec", "shell", "--wait-prompt", "30s", "echo up; sleep 1000"],
    "spawn --follow": ["spawn", "--follow", "sh", "-c", "echo up; exec sleep 1000"],
}
DEAF = {
    "exec": ["exec", "shell", "--wait-prompt", "30s", "(trap '' INT; echo up; read go < {gate})"],
    "spawn --follow": ["spawn", "--follow", "sh", "-c", "trap '' INT; echo up; sleep 1000"],
}


@pytest.mark.parametrize("name", STAYING)
def test_the_first_interrupt_is_the_commands_and_ends_us_by_the_real_signal(home: World, name: str) -> None:
    running = begun(home, *STAYING[name])
    running.send_signal(signal.SIGINT)
    assert end_of(running) == (-signal.SIGINT, b"")
    if name == "exec":
        assert home.json("history", "shell")[-1]["exit_code"] == 130
        assert home.ok("exec", "shell", "--wait-prompt", "30s", "echo usable") == "usable"


def test_the_first_interrupt_of_spawn_wait_is_the_commands(home: World) -> None:
    running = home.start("spawn", "--wait", "sh", "-c", "echo up; exec sleep 1000")
    assert running.stdout is not None
    session = running.stdout.readline().decode().strip()
    home.ok("wait", session, "--for", "output=up")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == -signal.SIGINT
    assert home.json("info", session)["signal"] == signal.SIGINT


@pytest.mark.parametrize("name", DEAF)
def test_a_second_interrupt_leaves_the_command_and_ends_us(home: World, name: str) -> None:
    gate = f"{home.folder}/gate"
    if not os.path.exists(gate):
        os.mkfifo(gate)
    running = begun(home, *(word.format(gate=gate) for word in DEAF[name]))
    interrupt_twice(running)
    assert end_of(running)[0] == 130
    if name == "exec":
        assert home.json("history", "shell")[-1]["status"] == "running"
        with open(gate, "w", encoding="ascii") as file:
            file.write("go\n")
        home.ok("wait", "shell", "--for", "command", "--timeout", "60s")
        assert home.json("history", "shell")[-1]["exit_code"] == 0  # nobody took it along
    else:
        assert home.json("info", "@last")["is_alive"] is True
        home.ok("kill", "@last")


def test_interrupts_far_apart_are_both_the_commands(home: World) -> None:
    script = "trap 'echo caught' INT; echo up; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; exit 4"
    running = begun(home, "spawn", "--follow", "sh", "-c", script)
    running.send_signal(signal.SIGINT)
    assert running.stdout is not None
    assert running.stdout.readline() == b"caught\n"
    time.sleep(2.1)  # the time is what is tested
    running.send_signal(signal.SIGINT)
    assert running.stdout.readline() == b"caught\n"
    assert end_of(running)[0] == 4


@pytest.mark.parametrize(
    "words",
    [["tail", "-f", "quiet"], ["wait", "quiet"], ["wait", "quiet", "--for", "output=never"], ["events", "-f"]],
    ids=" ".join,
)
def test_elsewhere_an_interrupt_ends_us_with_130_and_never_a_session(home: World, words: list[str]) -> None:
    running = home.start(*words, stderr=subprocess.PIPE)
    until(lambda: _waits(running.pid))
    running.send_signal(signal.SIGINT)
    assert end_of(running) in ((130, b""), (130, b"\n"))  # the terminal's line has ^C in it, and ends
    assert home.json("info", "quiet")["is_alive"] is True


def _waits(pid: int) -> bool:
    """Whether it is connected to the supervisor and waits for it."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        where = file.read()
    return any(one in where for one in ("unix_stream", "skb", "select", "poll")) or (where == "0" and _sockets(pid) > 0)


def _sockets(pid: int) -> int:
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sum(link.startswith("socket:") for link in links)


def in_bash(world: World, script: str) -> tuple[bytes, bytes]:
    """Its stdout and stderr, with `orchctl` being ours."""
    done = subprocess.run(
        ["bash", "-c", script.replace("orchctl", ORCHCTL)],
        env=world.env,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "reader", "first"),
    [
        ("tail -f -n all quiet", "head -n 1", b"up\n"),
        ("tail -f -n 0 quiet", "true", b""),
        ("tail -f --json quiet", "head -c 1", b"{"),
        ("events -f", "head -c 1", b"{"),
        ("list", "sleep 1 <&-", b""),
    ],
)
def test_a_closed_pipe_ends_us_by_sigpipe_even_when_there_is_nothing_to_write(
    home: World, command: str, reader: str, first: bytes
) -> None:
    out, err = in_bash(home, f"orchctl {command} | {reader}; echo ${{PIPESTATUS[0]}}")
    assert (out, err) == (first + b"141\n", b"")


def test_a_closed_pipe_takes_the_command_of_an_exec_along_when_it_writes(home: World) -> None:
    command = "orchctl exec shell --wait-prompt 30s 'while :; do echo up; sleep 0.1; done'"
    out, _ = in_bash(home, f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert out == b"up\n141\n"
    assert home.ok("exec", "shell", "--wait-prompt", "60s", "echo free") == "free"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_client_of_exec_that_is_ended_takes_its_command_along_after_a_while(home: World, number: int) -> None:
    running = begun(home, "exec", "shell", "--wait-prompt", "60s", "echo up; sleep 1000")
    running.send_signal(number)
    assert end_of(running)[0] == -number
    home.ok("wait", "shell", "--for", "command", "--timeout", "60s")
    last = home.json("history", "shell")[-1]
    assert (last["status"], last["exit_code"]) == ("timeout", 124)
    assert last["duration_s"] > 4.9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [["tail", "-f", "quiet"], STAYING["spawn --follow"]], ids=["tail", "spawn"])
def test_a_client_of_a_session_that_is_ended_leaves_the_session(home: World, words: list[str], number: int) -> None:
    running = begun(home, *words)
    running.send_signal(number)
    assert end_of(running)[0] == -number
    followed = home.json("info", "quiet" if words[0] == "tail" else "@last")
    assert followed["is_alive"] is True
    if words[0] != "tail":
        home.ok("kill", followed["id"])


def test_a_follower_that_was_put_aside_and_fetched_back_has_lost_nothing(home: World) -> None:
    counting = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.01; done; echo the end; exec sleep 1000"
    session = home.ok("spawn", "sh", "-c", counting)
    terminal = pexpect.spawn(
        "bash", ["--norc", "-i"], env=home.env | {"PS1": "$ "}, timeout=DEADLINE_S, encoding="utf-8", echo=False
    )
    terminal.expect_exact("$ ")
    terminal.sendline(f"{ORCHCTL} tail -f -n all {session}")
    terminal.expect_exact("line 10\r\n")
    seen = (terminal.before or "") + "line 10\r\n"
    terminal.sendcontrol("z")
    terminal.expect_exact("Stopped")
    seen += (terminal.before or "").rpartition("\r\n")[0] + "\r\n"
    home.ok("wait", session, "--for", "output=the end")
    terminal.sendline("fg")
    terminal.expect_exact("the end\r\n")
    seen += terminal.before or ""
    terminal.sendcontrol("c")
    terminal.expect_exact("$ ")
    terminal.sendline("exit $?")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    terminal.close()
    assert terminal.exitstatus == 130
    lines = [line for line in seen.split("\r\n") if line.startswith("line ")]
    assert lines == [f"line {number}" for number in range(300)]
    home.ok("kill", session)


def test_ctrl_c_on_a_terminal_interrupts_the_command_and_the_calling_script_too(home: World) -> None:
    script = f"{ORCHCTL} exec shell --wait-prompt 30s 'echo up; sleep 1000'; echo went on with $?"
    terminal = pexpect.spawn("bash", ["-c", script], env=home.env, timeout=DEADLINE_S, encoding="utf-8")
    terminal.expect_exact("up\r\n")
    terminal.sendcontrol("c")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    terminal.close()
    assert terminal.signalstatus == signal.SIGINT  # bash sees that its child ended by it, and ends too
    assert "went on" not in (terminal.before or "")

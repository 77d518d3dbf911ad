"""An exec that waits for its turn: what it says on a terminal, and how it leaves without touching anybody else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pexpect
import pytest

from orchctl import AsyncClient, Client
from orchctl.client.exec import Options
from orchctl.errors import Conflict
from tests.world import DEADLINE_S, ORCHCTL, World, fresh_world, until


@pytest.fixture(scope="module")
def home() -> Iterator[World]:
    """A shell, and a directory for gates that hold commands up."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "shell", "bash")
        made.ok("exec", "shell", "true")
        yield made


class Busy:
    """A command of somebody else's that runs until it is let go, and says then that it was not interrupted."""

    def __init__(self, world: World) -> None:
        self._gate = f"{world.folder}/gate"
        if not os.path.exists(self._gate):
            os.mkfifo(self._gate)
        text = f"trap 'exit 77' INT; echo up; read go < {self._gate}; echo to its end; exit 5"
        self.running = world.start("exec", "shell", "--wait-prompt", "60s", f"bash -c {text!r}")
        assert self.running.stdout is not None
        assert self.running.stdout.readline() == b"up\n"

    def ends_by_itself(self) -> bool:
        """Let it go; whether it came to its own end."""
        with open(self._gate, "w", encoding="ascii") as file:
            file.write("go\n")
        out, _ = self.running.communicate(timeout=DEADLINE_S)
        return (self.running.returncode, out) == (5, b"to its end\n")


@pytest.fixture
def busy(home: World) -> Iterator[Busy]:
    """The shell runs something."""
    made = Busy(home)
    try:
        yield made
    finally:
        made.running.kill()
        made.running.wait()


def on_terminal(world: World, *words: str) -> pexpect.spawn[str]:
    """The command line with a terminal of its own."""
    return pexpect.spawn(
        ORCHCTL, list(words), env=world.env, timeout=DEADLINE_S, encoding="utf-8", dimensions=(24, 200)
    )


def ended(terminal: pexpect.spawn[str]) -> int | None:
    """The signal that ended it; None if it ended by itself."""
    terminal.expect(pexpect.EOF)
    terminal.wait()
    terminal.close()
    return terminal.signalstatus


def test_a_waiting_exec_says_what_it_waits_for(home: World, busy: Busy) -> None:
    number = home.json("history", "shell")[-1]["number"]
    terminal = on_terminal(home, "exec", "shell", "echo mine")
    terminal.expect(rf"waiting for command {number} \('bash -c [^\r\n]*, running \d+ s\)")
    assert busy.ends_by_itself()
    terminal.expect_exact("mine\r\n")
    assert "\x1b[K" in (terminal.before or "")  # the line is gone when the command's own output comes
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0


def test_nothing_is_said_where_stderr_is_no_terminal(home: World, busy: Busy) -> None:
    behind = home.start("exec", "shell", "echo mine", stderr=subprocess.PIPE)
    also = on_terminal(home, "exec", "shell", "true")
    also.expect_exact("waiting for command")  # a second is over for the first one too
    assert busy.ends_by_itself()
    assert behind.communicate(timeout=DEADLINE_S) == (b"mine\n", b"")
    also.expect(pexpect.EOF)
    also.wait()


def test_an_interrupt_takes_a_waiting_exec_out_of_the_queue_and_touches_nobody(home: World, busy: Busy) -> None:
    before = len(home.json("history", "shell"))
    terminal = on_terminal(home, "exec", "shell", "touch ran-all-the-same")
    terminal.expect_exact("waiting for command")
    terminal.sendcontrol("c")
    assert ended(terminal) == signal.SIGINT
    assert busy.ends_by_itself()
    assert home.ok("exec", "shell", "--wait-prompt", "60s", "ls; echo next").splitlines()[-1] == "next"
    texts = [command["text"] for command in home.json("history", "shell")]
    assert len(texts) == before + 1
    assert not any("ran-all" in text for text in texts)


def test_an_interrupt_by_signal_gives_the_real_one_without_a_terminal_too(home: World, busy: Busy) -> None:
    watched = on_terminal(home, "exec", "shell", "echo behind both")
    quiet = home.start("exec", "shell", "echo never", stderr=subprocess.PIPE)
    watched.expect_exact("waiting for command")
    until(lambda: _asleep(quiet.pid))
    quiet.send_signal(signal.SIGINT)
    assert quiet.communicate(timeout=DEADLINE_S) == (b"", b"")
    assert quiet.returncode == -signal.SIGINT
    assert busy.ends_by_itself()
    watched.expect_exact("behind both\r\n")  # the others in the queue go on
    watched.expect(pexpect.EOF)
    watched.wait()


def test_an_interrupt_of_a_command_that_has_begun_goes_to_it_alone(home: World) -> None:
    first = home.start("exec", "shell", "--wait-prompt", "60s", "echo up; sleep 1000")
    assert first.stdout is not None
    assert first.stdout.readline() == b"up\n"
    second = home.start("exec", "shell", "echo second")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=DEADLINE_S)
    assert first.returncode == -signal.SIGINT
    out, _ = second.communicate(timeout=DEADLINE_S)
    assert (second.returncode, out) == (0, b"second\n")


def test_an_exec_that_waits_for_the_prompt_says_so_and_can_be_interrupted(home: World) -> None:
    with fresh_world() as own:
        session = own.ok("spawn", "bash")
        own.ok("exec", session, "true")
        own.ok("send", session, "sleep 1000")
        until(lambda: own.run("exec", session, "true", "--json").returncode == 125)
        terminal = on_terminal(own, "exec", session, "--wait-prompt", "60s", "echo never")
        terminal.expect(r"waiting for the prompt \(sleep is in front, not the shell\)")
        terminal.sendcontrol("c")
        assert ended(terminal) == signal.SIGINT
        assert own.run("exec", session, "true").returncode == 125  # the program in front was not interrupted


def test_an_exec_that_waits_for_the_lease_says_so_and_can_be_interrupted() -> None:
    with fresh_world() as own:
        session = own.ok("spawn", "bash")
        own.ok("exec", session, "true")
        token = own.ok("lease", "take", session, "--ttl", "10m")
        terminal = on_terminal(own, "exec", session, "--lease-wait", "60s", "echo never")
        terminal.expect(r"waiting for the lease \(user[^\r\n]* holds it\)")
        terminal.sendcontrol("c")
        assert ended(terminal) == signal.SIGINT
        own.ok("lease", "release", session, "--lease", token)
        assert own.ok("exec", session, "echo next") == "next"
        assert [command["text"] for command in own.json("history", session)] == ["true", "echo next"]


def _asleep(pid: int) -> bool:
    """Whether it waits for an answer."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        return any(word in file.read() for word in ("unix_stream", "skb", "poll", "0"))


def test_the_library_takes_a_command_that_has_not_begun_out_of_the_queue(home: World, busy: Busy) -> None:
    with home.client() as client:
        stream = client.run("shell", "echo dropped", Options())
        told = threading.Event()
        stream.on_wait = lambda _: told.set()

        def read() -> None:
            with contextlib.suppress(Conflict):
                list(stream)

        reader = threading.Thread(target=read)
        reader.start()
        assert told.wait(DEADLINE_S)
        assert client.interrupt_command("shell", stream.exec_id) == "withdrawn"
        reader.join(DEADLINE_S)
        assert not reader.is_alive()
        assert client.interrupt_command("shell", stream.exec_id) == "over"
    assert busy.ends_by_itself()
    assert home.ok("exec", "shell", "--wait-prompt", "60s", "echo next") == "next"
    assert "echo dropped" not in [command["text"] for command in home.json("history", "shell")]


@pytest.mark.parametrize("detach", [False, True])
def test_cancelling_an_asynchronous_exec_that_waits_drops_it_unless_it_is_detached(
    home: World, busy: Busy, detach: bool
) -> None:
    text = f"echo cancelled, detached {detach}"

    async def leave() -> None:
        async with AsyncClient(state_dir=home.state) as client:
            stream = client.run("shell", text, Options(detach=detach))
            told = asyncio.Event()
            stream.on_wait = lambda _: told.set()

            async def read() -> None:
                async for _ in stream:
                    pass

            task = asyncio.create_task(read())
            async with asyncio.timeout(DEADLINE_S):
                await told.wait()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    asyncio.run(leave())
    assert busy.ends_by_itself()
    assert home.ok("exec", "shell", "--wait-prompt", "60s", "echo next") == "next"
    texts = [command["text"] for command in home.json("history", "shell")]
    assert (text in texts) is detach


def test_a_killed_client_that_waits_runs_nothing(home: World, busy: Busy) -> None:
    terminal = on_terminal(home, "exec", "shell", "echo of the dead")
    terminal.expect_exact("waiting for command")
    terminal.kill(signal.SIGKILL)
    assert ended(terminal) == signal.SIGKILL
    assert busy.ends_by_itself()
    assert home.ok("exec", "shell", "--wait-prompt", "60s", "echo next") == "next"
    assert "echo of the dead" not in [command["text"] for command in home.json("history", "shell")]


def test_an_interrupt_that_comes_before_its_exec_takes_it_out_all_the_same(home: World) -> None:
    """What is decided holds, in whatever order the two arrive."""
    with home.client() as client, Client(state_dir=home.state) as other:
        stream = client.run("shell", "echo too late", Options(wait_prompt_s=DEADLINE_S))
        assert other.interrupt_command("shell", stream.exec_id) == "withdrawn"
        with pytest.raises(Conflict) as refused:
            list(stream)
        assert refused.value.code == "withdrawn"
    assert "echo too late" not in [command["text"] for command in home.json("history", "shell")]


def test_an_interrupt_finds_its_command_though_the_last_session_is_another_by_now() -> None:
    with fresh_world() as own:
        session = own.ok("spawn", "bash")
        own.ok("exec", session, "true")
        gate = f"{own.folder}/gate"
        os.mkfifo(gate)
        first = own.start("exec", "@last", f"echo up; read go < {gate}")
        assert first.stdout is not None
        assert first.stdout.readline() == b"up\n"
        behind = on_terminal(own, "exec", "@last", "echo never")
        behind.expect_exact("waiting for command")
        own.ok("spawn", "bash")
        behind.sendcontrol("c")
        assert ended(behind) == signal.SIGINT
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=DEADLINE_S)
        assert first.returncode == -signal.SIGINT
        assert own.json("history", session)[-1]["text"].startswith("echo up")

"""Any one process of a session's pair may die, and then any other: no byte is lost, and no exit code is invented."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from orchctl.log import journal
from tests.e2e import pair_processes
from tests.e2e.injection import injected
from tests.needs import kernel_tells_ends, needs
from tests.nobody import become_nobody
from tests.programs import pour_by_steps, pour_digest
from tests.world import DEADLINE_S, World, until

MB = 1 << 20


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _keeper(world: World, session: str) -> int:
    """By its own word, which is on disk before `spawn` returns."""
    records = journal.decode(world.journal(session)).records
    return next(int(record["keeper"]) for record in records if record["type"] == "started")


def _pairs(world: World) -> list[tuple[str, int]]:
    """Every keeper and mover there is, by name and pid."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    ours = world.state.encode() in file.read()
                with open(f"/proc/{entry}/comm", encoding="ascii") as file:
                    name = file.read().strip()
                if ours and name in ("orchctl-keeper", "orchctl-mover"):
                    found.append((name, int(entry)))
    return found


def test_four_pours_lose_nothing_while_movers_keepers_and_the_zygote_are_killed(world: World, long_form: bool) -> None:
    total, mover_kills, keeper_kills = (200 * MB, 2000, 100) if long_form else (20 * MB, 100, 5)
    world.keep_of_each_session("1G")
    rnd, kills = random.Random(5), mover_kills + keeper_kills
    with contextlib.ExitStack() as stack:
        pours = [stack.enter_context(_pour(world, total, kills, seed)) for seed in range(11, 15)]
        zygote = world.json("supervisor", "status")["zygote"]
        for number in range(kills):
            until(lambda: _whole(world) == (4, 4), "a pair is not whole")  # any one, and then any other
            name = "orchctl-keeper" if number % (kills // keeper_kills) == 2 else "orchctl-mover"
            victim = rnd.choice([pid for found, pid in _pairs(world) if found == name])
            for pour in pours:
                os.write(pour.gate, b".")
            time.sleep(rnd.random() * 0.01)  # so that it comes anywhere in this part of the pour, or just after it
            os.kill(victim, signal.SIGKILL)
            until(lambda victim=victim: _is_zombie(victim))  # type: ignore[misc]
            if number == kills // 2:
                os.kill(zygote, signal.SIGKILL)
        for pour in pours:
            pour.check(total)
    records = [one for pour in pours for one in journal.decode(world.journal(pour.session)).records]
    assert sum(one["type"] == "degraded" for one in records) == keeper_kills
    assert world.run("verify").returncode == 0


def _whole(world: World) -> tuple[int, int]:
    """How many keepers and movers there are; one that was just forked still has its parent's name."""
    names = [name for name, _ in _pairs(world)]
    return names.count("orchctl-keeper"), names.count("orchctl-mover")


@dataclass(frozen=True)
class _Pour:
    """A session that pours step by step, and a follower of it."""

    world: World
    session: str
    seed: int
    gate: int
    follower: subprocess.Popen[bytes]
    digest: hashlib._Hash
    reader: threading.Thread

    def check(self, total: int) -> None:
        """Every byte has come, in the log and to the follower, and the end is told as it was."""
        self.reader.join()
        assert self.follower.wait(DEADLINE_S) == 0, self.session
        expected = pour_digest(total, seed=self.seed)
        assert self.digest.hexdigest() == expected
        assert hashlib.sha256(self.world.log(self.session)).hexdigest() == expected
        ended = self.world.json("info", self.session)
        if ended["degraded"] and not kernel_tells_ends() and ended["end_reason"] == "lost":
            return  # its keeper was killed, and the zygote too: only the kernel can know
        assert (ended["end_reason"], ended["exit_code"]) == ("exited", self.seed)


@contextlib.contextmanager
def _pour(world: World, total: int, steps: int, seed: int) -> Iterator[_Pour]:
    path = f"{world.folder}/gate{seed}"
    os.mkfifo(path)
    gate = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # both ends, so that nobody waits for anybody to open it
    session = world.ok("spawn", "--", *pour_by_steps(total, seed=seed, steps=steps, gate=path, exit_code=seed))
    follower = world.start("tail", "-f", "-n", "all", "--raw", session)
    digest = hashlib.sha256()
    reader = threading.Thread(target=_digest, args=(follower, digest))
    reader.start()
    try:
        yield _Pour(world, session, seed, gate, follower, digest, reader)
    finally:
        os.close(gate)
        follower.kill()
        follower.wait()
        reader.join()


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _digest(follower: subprocess.Popen[bytes], digest: hashlib._Hash) -> None:
    assert follower.stdout is not None
    while data := follower.stdout.read1(1 << 16):  # type: ignore[attr-defined]
        digest.update(data)
    follower.stdout.close()


def test_a_session_whose_keeper_was_killed_goes_on_says_so_and_can_be_typed_into_and_killed(world: World) -> None:
    session = world.ok("spawn", "--name", "s", "--", "sh", "-c", "sleep 1000 & cat")
    pid = world.json("info", "s")["pid"]
    assert not world.json("info", "s")["degraded"]
    os.kill(_parent(pid), signal.SIGKILL)
    until(lambda: world.json("info", "s")["degraded"])
    assert world.json("info", "s")["is_alive"]
    world.ok("send", "s", "still here")
    until(lambda: world.log(session).endswith(b"still here\r\nstill here\r\n"))
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        below = [int(word) for word in file.read().split()]
    assert below
    assert world.ok("kill", "--grace", "300ms", "s") == "1"
    assert not any(os.path.exists(f"/proc/{one}") and not _is_zombie(one) for one in [pid, *below])
    ended = world.json("info", session)
    assert (ended["state"], ended["degraded"]) == ("closed", True)


def test_how_a_program_ended_after_its_keeper_is_heard_from_the_zygote(world: World) -> None:
    session = world.ok("spawn", "--", "sh", "-c", "read go; exit 42")
    os.kill(_parent(world.json("info", session)["pid"]), signal.SIGKILL)
    until(lambda: world.json("info", session)["degraded"])
    world.ok("send", session, "go")
    with world.client() as client:
        ended = client.wait(session)
    assert (ended.exit_code, ended.end_reason) == (42, "exited")


@needs("exit-info")
@pytest.mark.parametrize("order", [("zygote", "keeper"), ("keeper", "zygote")])
def test_the_kernel_tells_how_a_program_ended_whose_keeper_and_zygote_were_killed(
    world: World, order: tuple[str, str]
) -> None:
    """F05: it is nobody's child that writes anything down, and the mover holds a descriptor of it."""
    session = world.ok("spawn", "--", "sh", "-c", "read go; exit 42")
    for victim in order:
        _kill_keeper(world, session) if victim == "keeper" else _kill_zygote(world)
    assert _end_after(world, session, "go") == (42, "exited")


@needs("strace", "root")
def test_the_end_of_a_program_that_nobody_could_hear_of_is_lost_and_never_invented(world: World) -> None:
    """As on an older kernel, which does not tell how a process ended that somebody else has reaped."""
    session = world.ok("spawn", "--", "sh", "-c", "read go; exit 42")
    _kill_zygote(world)
    _kill_keeper(world, session)
    with injected(pair_processes.keeper(world, session), "ioctl", "error=ENOTTY"):
        assert _end_after(world, session, "go") == (None, "lost")


def _end_after(world: World, session: str, word: str) -> tuple[int | None, str | None]:
    world.ok("send", session, word)
    with world.client() as client:
        ended = client.wait(session)
    return ended.exit_code, ended.end_reason


def _kill_keeper(world: World, session: str) -> None:
    os.kill(pair_processes.keeper(world, session), signal.SIGKILL)
    until(lambda: world.json("info", session)["degraded"])


def _kill_zygote(world: World) -> None:
    zygote = world.json("supervisor", "status")["zygote"]
    os.kill(zygote, signal.SIGKILL)
    until(lambda: world.json("supervisor", "status")["zygote"] not in (zygote, None))


@pytest.mark.parametrize(("way", "moment_s"), [("exit 42", 0.0), ("exit 42", 0.15), ("kill -TERM $$", 0.03)])
def test_a_keeper_killed_after_an_exit_that_left_a_child_on_the_terminal_loses_no_status(
    world: World, way: str, moment_s: float
) -> None:
    """F51: the exit is published when the terminal is quiet, and the status is on record before that."""
    session = world.ok("spawn", "--", "sh", "-c", f"trap '' HUP; sleep 1000 & read go; {way}")
    keeper, program = pair_processes.keeper(world, session), _program(world, session)
    world.ok("send", session, "go")
    until(lambda: pair_processes.has_ended(program))
    time.sleep(moment_s)  # anywhere in the window, or just before the keeper has noticed
    os.kill(keeper, signal.SIGKILL)
    with world.client() as client:
        ended = client.wait(session)
        assert (ended.exit_code, ended.signal) == ((42, None) if "42" in way else (None, signal.SIGTERM))
        assert ended.output_open
        assert client.kill(session, grace_s=0).survivors == ()


def test_a_status_is_on_record_before_the_program_is_reaped(world: World) -> None:
    """Keeper and mover are killed at once, before they could tell of the end: what is on disk is all there is."""
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    session = world.ok("spawn", "--", "sh", "-c", 'read go <"$0"; exit 42', gate)
    program, mover = _program(world, session), pair_processes.mover(world, session)
    os.kill(mover, signal.SIGSTOP)  # so that the end of the output is not heard of
    with open(gate, "wb") as file:
        file.write(b"go\n")
    until(lambda: not os.path.exists(f"/proc/{program}"), "it was never reaped")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for victim in (pair_processes.keeper(world, session), mover):
            os.kill(victim, number)
    with world.client() as client:
        ended = client.wait(session)
    assert (ended.exit_code, ended.end_reason) == (42, "exited")
    assert b'"exit"' not in world.journal(session)


def _program(world: World, session: str) -> int:
    return next(int(one["pid"]) for one in journal.decode(world.journal(session)).records if one["type"] == "started")


def test_what_a_program_left_running_is_reached_though_its_keeper_was_killed(world: World) -> None:
    session = world.ok("spawn", "--", "sh", "-c", "trap '' HUP; sleep 1000 & echo $!; read go; exit 3")
    until(lambda: world.log(session).endswith(b"\r\n"))
    left = int(world.log(session))
    os.kill(_keeper(world, session), signal.SIGKILL)
    until(lambda: world.json("info", session)["degraded"])
    world.ok("send", session, "go")
    with world.client() as client:
        assert client.wait(session).exit_code == 3
    try:
        assert not _is_zombie(left)
        assert world.run("kill", session).returncode == 0
        assert not os.path.exists(f"/proc/{left}") or _is_zombie(left)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


def test_limits_hold_while_no_supervisor_runs(world: World) -> None:
    bound = subprocess.Popen(["sleep", "1000"])
    try:
        by_time = world.ok("spawn", "--timeout", "4s", "--", "sleep", "1000")
        os.kill(_keeper(world, by_time), signal.SIGKILL)  # a mover that took its keeper's place keeps the time too
        by_idle = world.ok("spawn", "--idle-timeout", "4s", "--", "sh", "-c", "echo up; sleep 1000")
        by_pid = world.ok("spawn", "--bind-pid", str(bound.pid), "--", "sleep", "1000")
        pids = [_program(world, session) for session in (by_time, by_idle, by_pid)]
        world.ok("supervisor", "stop", "--leave")
    finally:
        bound.kill()
        bound.wait()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") and not _is_zombie(pid) for pid in pids))
    with world.client() as client:
        reasons = [client.wait(session).end_reason for session in (by_time, by_idle, by_pid)]
    assert reasons == ["timeout", "idle-timeout", "killed"]


def test_limits_are_told_as_exit_codes_and_bad_ones_are_refused(world: World) -> None:
    for option in ("--timeout", "--idle-timeout"):
        done = world.run("spawn", "--wait", option, "300ms", "--", "sleep", "1000")
        assert done.returncode == 124
        assert b"timeout" in done.stderr
    assert world.run("spawn", "--timeout", "0s", "true").returncode == 2
    assert world.run("spawn", "--timeout", "soon", "true").returncode == 2


@needs("root")
def test_a_session_is_bound_to_a_process_of_anybody_and_to_nothing_else(world: World) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        for pid in (ended.pid, zombie.pid, thread.native_id, 1 << 40):
            refused = world.run("spawn", f"--bind-pid={pid}", "--json", "true")
            assert (refused.returncode, json.loads(refused.stderr)["code"]) == (2, "no-such-process"), pid
            assert str(pid).encode() in refused.stderr
    finally:
        over.set()
        thread.join()
        zombie.wait()
    assert world.json("list", "-a") == []
    other = subprocess.Popen([*become_nobody(), "sleep", "1000"])
    try:
        session = world.ok("spawn", "--bind-pid", str(other.pid), "--", "sleep", "1000")
        assert world.json("info", session)["is_alive"]
        other.kill()  # nobody waits for it: a zombie has ended
        with world.client() as client:
            assert client.wait(session).end_reason == "killed"
    finally:
        other.kill()
        other.wait()


def test_pause_signal_and_resize_act_on_the_session(world: World) -> None:
    script = 'trap "echo hup" HUP; trap "stty size" WINCH; sleep 1000 & echo $!; while :; do wait $!; done'
    session = world.ok("spawn", "--name", "s", "--", "bash", "-c", script)
    until(lambda: world.log(session).endswith(b"\r\n"))
    pid, below = world.json("info", "s")["pid"], int(world.log(session))
    assert world.json("pause", "s")["paused"]
    until(lambda: [_state(one) for one in (pid, below)] == ["T", "T"])
    assert not world.json("unpause", "s")["paused"]
    until(lambda: "T" not in [_state(one) for one in (pid, below)])
    world.ok("signal", "s", "HUP")
    until(lambda: b"hup" in world.log(session))
    assert (world.json("resize", "s", "99x33")["cols"], world.json("info", "s")["rows"]) == (99, 33)
    until(lambda: b"33 99" in world.log(session))
    assert world.run("signal", "s", "NOSUCH").returncode == 2
    assert world.run("resize", "s", "0x5").returncode == 2
    world.ok("kill", "--grace", "0s", "s")
    for words in (["pause", "s"], ["signal", "s", "HUP"], ["resize", "s", "80x24"]):
        assert world.run(*words).returncode == 3


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_what_a_program_left_running_is_listed_until_it_is_killed(world: World) -> None:
    session = world.ok(
        "spawn", "--", "sh", "-c", "trap '' HUP; setsid --fork sleep 1000 >/dev/null 2>&1 </dev/null; exit 3"
    )
    with world.client() as client:
        assert client.wait(session).exit_code == 3
    until(lambda: len(world.json("info", session)["leftover"]) == 1)
    (left,) = world.json("info", session)["leftover"]
    world.ok("kill", session)
    assert not os.path.exists(f"/proc/{left}")
    assert world.json("info", session)["leftover"] == []

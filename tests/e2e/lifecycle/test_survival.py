"""A session outlives its supervisor, and a follower does not notice."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import random
import signal
import subprocess
import threading
import time
from typing import Any

from orchctl.log import journal
from tests.programs import pour, pour_by_steps, pour_bytes, pour_digest
from tests.world import DEADLINE_S, World, processes_of, until

MB = 1 << 20


def test_a_follower_gets_every_byte_while_the_supervisor_is_killed_again_and_again(
    world: World, long_form: bool
) -> None:
    """F01, in part."""
    pour_through_kills(world, *((1 << 30, 500) if long_form else (20 * MB, 15)))


def pour_through_kills(world: World, total: int, kills: int) -> None:
    """Pour so many bytes while supervisors are killed, and follow: log, follower and end are as if none had been."""
    rnd = random.Random(2)
    world.keep_of_each_session("2G")
    session = world.ok("spawn", *pour(total, seed=7, bytes_per_s=4 * MB, exit_code=37))
    follower = world.start("tail", "-f", "-n", "all", "--raw", "--exit-status", session)
    digest = hashlib.sha256()
    reader = threading.Thread(target=_digest, args=(follower, digest))
    reader.start()
    seen = set()
    for _ in range(kills):
        pid = world.supervisor()  # it has answered hello by now
        assert pid not in seen
        seen.add(pid)
        threading.Event().wait(rnd.random() * 0.05)
        os.kill(pid, signal.SIGKILL)
    reader.join(timeout=total / MB + 120)
    assert follower.wait(60) == 37
    assert digest.hexdigest() == pour_digest(total, seed=7)
    assert hashlib.sha256(world.log(session)).hexdigest() == digest.hexdigest()
    ended = world.json("info", session)
    assert (ended["state"], ended["exit_code"], ended["end_reason"]) == ("closed", 37, "exited")
    assert ended["output"]["next_offset"] == total


def _digest(follower: subprocess.Popen[bytes], digest: hashlib._Hash) -> None:
    assert follower.stdout is not None
    while data := follower.stdout.read1(1 << 16):  # type: ignore[attr-defined]
        digest.update(data)
    follower.stdout.close()


def test_a_session_that_ends_while_no_supervisor_runs_is_told_truly_by_the_next_one(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; echo got $line; exit 9")
    world.ok("send", session, "go")
    world.ok("supervisor", "stop", "--leave")
    until(lambda: b'"exit"' in world.journal(session))
    ended = world.json("info", session)
    assert (ended["state"], ended["exit_code"], ended["is_alive"]) == ("closed", 9, False)
    assert world.log(session) == b"go\r\ngot go\r\n"


def test_sessions_go_on_and_new_ones_start_after_the_zygote_was_killed(world: World) -> None:
    before = world.ok("spawn", "sh", "-c", "read line; exit 4")
    status = world.json("supervisor", "status")
    os.kill(status["zygote"], signal.SIGKILL)
    until(lambda: world.json("supervisor", "status")["zygote"] not in (None, status["zygote"]))
    assert world.json("supervisor", "status")["pid"] == status["pid"]
    assert world.run("spawn", "--wait", "sh", "-c", "exit 5").returncode == 5
    os.kill(status["pid"], signal.SIGKILL)  # a second later, any other: the new zygote starts a new supervisor
    world.ok("send", before, "on")
    assert world.json("supervisor", "status")["pid"] != status["pid"]
    with world.client() as client:
        assert client.wait(before).exit_code == 4


def test_zygote_and_supervisor_killed_together_are_started_again_and_adopt_the_session(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; echo $line; exit 6")
    follower = world.start("tail", "-f", "--exit-status", session)
    status = world.json("supervisor", "status")
    for name in ("zygote", "pid"):
        os.kill(status[name], signal.SIGKILL)
    world.ok("send", session, "still here")
    out, _ = follower.communicate(timeout=60)
    assert (follower.returncode, out) == (6, b"still here\nstill here\n")


def test_a_session_outlives_supervisor_and_keeper_killed_at_once(world: World, long_form: bool) -> None:
    """F03: the program goes on and loses no byte, and its exit code still comes, from the zygote."""
    for number in range(100 if long_form else 4):
        gate = f"{world.folder}/gate{number}"
        os.mkfifo(gate)
        with open(gate, "r+b", buffering=0) as steps:  # both ends, so that neither waits for the other to open it
            words = pour_by_steps(MB // 4, seed=number, steps=2, gate=gate, exit_code=40 + number % 2)
            session = world.ok("spawn", "--", *words)
            program, supervisor = world.json("info", session)["pid"], world.supervisor()
            steps.write(b".")
            victims = [supervisor, _parent(program)]
            for victim in victims if number % 2 else reversed(victims):
                os.kill(victim, signal.SIGKILL)
            until(lambda session=session: world.json("info", session)["degraded"])  # type: ignore[misc]
            assert world.supervisor() != supervisor
            assert (world.json("info", session)["pid"], os.path.exists(f"/proc/{program}")) == (program, True)
            steps.write(b".")
            with world.client() as client:
                ended = client.wait(session)
        assert (ended.exit_code, ended.end_reason) == (40 + number % 2, "exited")
        assert (program, 40 + number % 2) in _orphans(world)
        assert hashlib.sha256(world.log(session)).hexdigest() == pour_digest(MB // 4, seed=number)
    assert world.run("verify").returncode == 0


def _orphans(world: World) -> list[tuple[int, int]]:
    """Whose ends zygotes have heard, and which."""
    with open(f"{world.state}/orphans.jnl", "rb") as file:
        return [(one["pid"], one["status"]) for one in journal.decode(file.read()).records]


def test_a_session_goes_on_with_a_new_mover_after_its_mover_was_killed(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; echo got $line; exit 3")
    keeper = _parent(world.json("info", session)["pid"])
    mover = next(pid for pid in _children(keeper) if pid != world.json("info", session)["pid"])
    os.kill(mover, signal.SIGKILL)
    world.ok("send", session, "x")
    with world.client() as client:
        assert client.wait(session).exit_code == 3
    assert world.log(session).endswith(b"got x\r\n")


def test_no_byte_is_lost_while_the_mover_is_killed_again_and_again(world: World, long_form: bool) -> None:
    total, kills = (1 << 30, 1000) if long_form else (6 * MB, 25)
    world.keep_of_each_session("8M")  # segments of 1 MiB: a new one is begun now and then
    session = world.ok("spawn", "--", *pour(total, seed=7, bytes_per_s=2 * MB, exit_code=5))
    child = world.json("info", session)["pid"]
    keeper = _parent(child)
    follower = world.start("tail", "-f", "-n", "all", "--raw", session, stderr=subprocess.PIPE)
    digest = hashlib.sha256()
    reader = threading.Thread(target=_digest, args=(follower, digest))
    reader.start()
    killed: set[int] = set()
    while len(killed) < kills and os.path.exists(f"/proc/{child}"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for mover in set(_children(keeper)) - {child} - killed:
                os.kill(mover, signal.SIGKILL)
                killed.add(mover)
    reader.join()
    assert follower.stderr is not None
    with follower.stderr:
        assert follower.stderr.read() == b""
    assert follower.wait(DEADLINE_S) == 0
    assert len(killed) >= kills // 2
    assert digest.hexdigest() == pour_digest(total, seed=7)
    assert world.json("info", session)["exit_code"] == 5
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    assert world.run("verify").returncode == 0


def test_a_session_whose_keeper_and_mover_are_killed_is_lost_and_no_exit_code_is_invented(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "echo before; sleep 1000")
    until(lambda: world.log(session) == b"before\r\n")
    pid = world.json("info", session)["pid"]
    keeper = _parent(pid)
    for victim in [mover for mover in _children(keeper) if mover != pid] + [keeper]:
        os.kill(victim, signal.SIGSTOP)  # so that neither can act on the other's death
    for victim in [mover for mover in _children(keeper) if mover != pid] + [keeper]:
        os.kill(victim, signal.SIGKILL)
    done = world.run("tail", "-f", "--exit-status", session)
    assert (done.returncode, done.stdout) == (125, b"before\n")
    ended = world.json("info", session)
    assert (ended["state"], ended["end_reason"], ended["exit_code"], ended["signal"]) == ("closed", "lost", None, None)


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_twenty_seconds_without_a_supervisor_stop_no_pour_no_limit_and_no_ring(world: World) -> None:
    total, ring, down_s = 26 * MB, MB, 20.0
    world.keep_of_each_session("1M")
    gate = f"{world.folder}/gate"
    waiting = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done; exec "$@"', gate]
    turning = world.ok("spawn", "--", *waiting, *pour(total, seed=21, bytes_per_s=MB, exit_code=21))
    world.keep_of_each_session("64M")
    world.ok("supervisor", "restart")
    whole = world.ok("spawn", "--", *waiting, *pour(total, seed=22, bytes_per_s=MB, exit_code=22))
    piped = world.ok("spawn", "--no-pty", "--", "sh", "-c", "while :; do echo $((n += 1)); sleep 0.1; done")
    bound = subprocess.Popen(["sleep", "1000"])
    by_pid = world.ok("spawn", "--bind-pid", str(bound.pid), "--", "sleep", "1000")
    by_time = world.ok("spawn", "--timeout", "12s", "--", "sleep", "1000")
    world.ok("supervisor", "stop", "--leave")
    began, stopped_at, sizes = time.monotonic(), time.time(), list[dict[str, int]]()
    with open(gate, "w", encoding="ascii"):
        pass
    while (past := time.monotonic() - began) < down_s:
        if past > down_s / 4:
            bound.kill()
            bound.wait()
        sizes.append({session: len(world.log(session)) for session in (turning, whole, piped)})
        assert sizes[-1][turning] <= ring + ring // 8  # and the segment that is being written
        time.sleep(0.25)
    assert [pid for pid in processes_of(world.folder) if _is_supervisor(pid)] == []
    for session in (by_time, by_pid):
        assert [one["type"] for one in _records(world, session)] == ["started", "kill", "status", "exit", "empty"]
        assert _records(world, session)[1]["time"] > stopped_at
    quarters = [sizes[len(sizes) * part // 4] for part in range(4)] + sizes[-1:]
    for session in (whole, piped):
        grown = [later[session] - sooner[session] for sooner, later in itertools.pairwise(quarters)]
        assert min(grown) > 0, grown
    with world.client() as client:
        ended = {session: client.wait(session) for session in (turning, whole, by_time, by_pid)}
        assert client.kill(piped, grace_s=0).ended == (piped,)
    told = [(ended[session].exit_code, ended[session].end_reason) for session in (turning, whole)]
    assert told == [(21, "exited"), (22, "exited")]
    assert [ended[session].end_reason for session in (by_time, by_pid)] == ["timeout", "killed"]
    assert hashlib.sha256(world.log(whole)).hexdigest() == pour_digest(total, seed=22)
    kept = world.log(turning)
    assert (ended[turning].output.first_offset + len(kept), ended[turning].output.next_offset) == (total, total)
    assert kept == pour_bytes(total, seed=21)[-len(kept) :]
    lines = world.log(piped).split()
    assert lines == [b"%d" % number for number in range(1, len(lines) + 1)]


def _records(world: World, session: str) -> list[dict[str, Any]]:
    return journal.decode(world.journal(session)).records


def _is_supervisor(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:
        return b"orchctl.supervisor" in words.read()
    return False

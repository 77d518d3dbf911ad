"""An upgrade in place: nothing is lost, nothing is doubled, and a successor that is not fit changes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import threading
from typing import Any

import pytest

from orchctl.log import journal
from tests.programs import pour, pour_digest
from tests.world import DEADLINE_S, World, processes_of, until

MB = 1 << 20
_COUNT = "for i in $(seq 1 %d); do echo line $i; sleep 0.3; done; (exit 23)"


def test_twenty_restarts_under_load_lose_and_double_nothing(world: World, long_form: bool) -> None:
    restarts, total = (200, 512 * MB) if long_form else (20, 24 * MB)
    world.keep_of_each_session("1G")
    shell = world.ok("spawn", "--name", "shell", "bash")
    running = world.start("exec", "shell", _COUNT % (restarts * 2))
    poured = [world.ok("spawn", *pour(total, seed=n, bytes_per_s=2 * MB, exit_code=40 + n)) for n in (1, 2)]
    followers = [_Follower(world, session) for session in poured]
    lasting = []
    for number in range(restarts):
        before = world.json("supervisor", "status")
        done = world.json("supervisor", "restart")
        after = world.json("supervisor", "status")
        assert (done["old_pid"], done["pid"], done["zygote"]) == (before["pid"], after["pid"], after["zygote"])
        assert after["pid"] != before["pid"]
        assert after["zygote"] != before["zygote"]
        assert world.run("spawn", "--wait", "sh", "-c", f"exit {number}").returncode == number
        if number % 5 == 0:
            lasting.append(world.ok("spawn", "sh", "-c", f"read line; exit {100 + number // 5}"))
    out, _ = running.communicate(timeout=DEADLINE_S + restarts)
    assert running.returncode == 23
    assert out.decode().splitlines() == [f"line {number}" for number in range(1, restarts * 2 + 1)]
    for seed, follower in enumerate(followers, 1):
        assert follower.end(total / MB + DEADLINE_S) == (40 + seed, pour_digest(total, seed=seed))
        assert hashlib.sha256(world.log(poured[seed - 1])).hexdigest() == pour_digest(total, seed=seed)
    for number, session in enumerate(lasting):
        world.ok("send", session, "on")
        assert world.run("wait", session).returncode == 100 + number
    assert [one["id"] for one in world.json("list")] == [shell]
    assert [one["exit_code"] for one in world.json("history", "shell")] == [23]
    until(lambda: len(_zygotes(world)) == 2, "one that serves, and the retired one that is the shell's")
    assert world.run("verify").returncode == 0


class _Follower:
    """`tail -f --raw` of a whole session, by its digest."""

    def __init__(self, world: World, session: str) -> None:
        self._process = world.start("tail", "-f", "-n", "all", "--raw", "--exit-status", session)
        self._digest = hashlib.sha256()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            while data := stdout.read1(1 << 16):  # type: ignore[attr-defined]
                self._digest.update(data)

    def end(self, timeout_s: float) -> tuple[int, str]:
        self._thread.join(timeout_s)
        return self._process.wait(DEADLINE_S), self._digest.hexdigest()


def test_no_client_is_refused_while_the_supervisor_is_replaced(world: World) -> None:
    world.ok("spawn", "--name", "one", "sleep", "1000")
    over = threading.Event()
    failed: list[Exception] = []
    asked = [0] * 4

    def ask(number: int) -> None:
        while not over.is_set() and not failed:
            try:
                with world.client() as client:
                    assert client.status().sessions == 1
                    assert [one.name for one in client.list()] == ["one"]
                asked[number] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, the test must name it
                failed.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(asked))]
    for thread in threads:
        thread.start()
    for _ in range(5):
        world.ok("supervisor", "restart")
    over.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert failed == []
    assert min(asked) > 10


def test_two_restarts_at_once_are_one_or_two_and_both_succeed(world: World) -> None:
    world.ok("spawn", "--name", "one", "sleep", "1000")
    asking = [world.start("supervisor", "restart", "--json") for _ in range(3)]
    answers = [json.loads(one.communicate(timeout=DEADLINE_S)[0]) for one in asking]
    assert {one["sessions"] for one in answers} == {1}
    assert all(one["pid"] != one["old_pid"] for one in answers)
    until(lambda: len(_supervisors(world)) == 1)


def test_a_client_of_before_can_stop_the_one_that_took_over(world: World) -> None:
    with world.client() as client:
        client.spawn(["sleep", "1000"])
        world.ok("supervisor", "restart")
        assert client.stop_supervisor(kill=True)


def test_restart_starts_one_where_none_runs(world: World) -> None:
    assert world.ok("supervisor", "restart").startswith("started: pid ")
    assert world.ok("supervisor", "restart").startswith("restarted: pid ")
    assert world.ok("supervisor", "restart", "-q") == ""


def test_a_successor_that_dies_at_its_start_changes_nothing(world: World) -> None:
    _is_rolled_back(world, "start=exit", "ended before it was ready")


def test_a_successor_that_does_not_know_a_live_session_changes_nothing(world: World) -> None:
    _is_rolled_back(world, "rehearse=forget", "does not know 1 live sessions")


def test_a_successor_that_is_not_ready_in_time_changes_nothing(world: World) -> None:
    _is_rolled_back(world, "start=hang", "not ready in 20 s")


def _is_rolled_back(world: World, fault: str, reason: str) -> None:
    session = world.ok("spawn", "sh", "-c", "echo before; read line; echo got $line; exit 6")
    follower = world.start("tail", "-f", "--exit-status", session)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"before\n"
    before = world.json("supervisor", "status")
    _put_failpoint(world, fault)
    done = world.run("supervisor", "restart", "--json")
    assert done.returncode == 1
    error = json.loads(done.stderr)
    assert error["code"] == "restart-failed"
    assert reason in error["message"]
    after = world.json("supervisor", "status")
    assert (after["pid"], after["zygote"], after["sessions"]) == (before["pid"], before["zygote"], 1)
    until(lambda: len(_zygotes(world)) == len(_supervisors(world)) == 1)
    os.unlink(f"{world.state}/failpoints")
    world.ok("send", session, "it")
    out, _ = follower.communicate(timeout=DEADLINE_S)
    assert (follower.returncode, out) == (6, b"it\ngot it\n")
    assert world.json("supervisor", "restart")["old_pid"] == before["pid"]


@pytest.mark.parametrize("fault", ["succeed=exit", "succeed=hang"])
def test_a_successor_that_does_not_come_up_once_everything_is_its_gives_it_back(world: World, fault: str) -> None:
    session = world.ok("spawn", "--name", "s", "sh", "-c", "echo before; read line; echo got $line; exit 6")
    follower = world.start("tail", "-f", "--exit-status", session)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"before\n"
    before = world.json("supervisor", "status")
    _put_failpoint(world, fault)
    done = world.run("supervisor", "restart", "--json")
    assert done.returncode == 1, done
    error = json.loads(done.stderr)
    assert error["code"] == "restart-failed"
    assert "the old version goes on" in error["message"]
    after = world.json("supervisor", "status")
    assert (after["zygote"], after["sessions"]) == (before["zygote"], 1)
    until(lambda: len(_zygotes(world)) == len(_supervisors(world)) == 1)
    os.unlink(f"{world.state}/failpoints")
    assert world.run("spawn", "--wait", "sh", "-c", "exit 9").returncode == 9
    done = world.json("supervisor", "restart")
    assert (done["old_pid"], done["sessions"]) == (after["pid"], 1)
    assert done["zygote"] != before["zygote"]
    world.ok("send", session, "it")
    out, _ = follower.communicate(timeout=DEADLINE_S)
    assert (follower.returncode, out) == (6, b"it\ngot it\n")


def test_an_old_zygote_killed_while_the_successor_comes_up_does_not_stop_it(world: World) -> None:
    world.ok("spawn", "--name", "s", "sleep", "1000")
    before = world.json("supervisor", "status")
    _put_failpoint(world, "succeed=stop")
    restarting = world.start("supervisor", "restart", stderr=subprocess.PIPE)
    until(lambda: before["pid"] not in _supervisors(world) and len(_supervisors(world)) == 1)
    (hanging,) = _supervisors(world)
    until(lambda: _state(hanging) == "T")  # it was told to go: before that it would end with the zygote's line
    os.kill(before["zygote"], signal.SIGKILL)
    os.unlink(f"{world.state}/failpoints")
    os.kill(hanging, signal.SIGKILL)  # nobody can take it back: the new zygote starts another
    out, err = restarting.communicate(timeout=DEADLINE_S)
    assert restarting.returncode == 0, (out, err)
    after = world.json("supervisor", "status")
    assert (after["sessions"], after["zygote"] != before["zygote"]) == (1, True)
    until(lambda: len(_zygotes(world)) == len(_supervisors(world)) == 1)


def test_a_new_zygote_killed_while_its_supervisor_comes_up_is_replaced_and_nothing_is_taken_back(world: World) -> None:
    world.ok("spawn", "--name", "s", "sleep", "1000")
    before = world.json("supervisor", "status")
    _put_failpoint(world, "succeed=stop")
    restarting = world.start("supervisor", "restart", "--json", stderr=subprocess.PIPE)
    until(lambda: before["pid"] not in _supervisors(world) and len(_supervisors(world)) == 1)
    (coming,) = _supervisors(world)
    until(lambda: _state(coming) == "T")
    (new,) = set(_zygotes(world)) - {before["zygote"]}
    os.kill(new, signal.SIGKILL)
    os.unlink(f"{world.state}/failpoints")
    os.kill(coming, signal.SIGCONT)
    out, err = restarting.communicate(timeout=DEADLINE_S)
    assert restarting.returncode == 0, (out, err)
    assert json.loads(out)["pid"] == coming
    _wait_for_another(world, "zygote", new)
    until(lambda: len(_supervisors(world)) == 1)
    assert world.run("spawn", "--wait", "sh", "-c", "exit 9").returncode == 9


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("victim", ["pid", "zygote"])
def test_either_of_the_two_killed_in_the_middle_of_a_restart_is_replaced_as_ever(world: World, victim: str) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; exit 8")
    for delay_s in (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4):
        until(lambda: world.json("supervisor", "status")["zygote"])
        before = world.json("supervisor", "status")
        restarting = world.start("supervisor", "restart", "--json", stderr=subprocess.PIPE)
        threading.Event().wait(delay_s)
        with contextlib.suppress(ProcessLookupError):
            os.kill(before[victim], signal.SIGKILL)
        _, err = restarting.communicate(timeout=DEADLINE_S)
        assert restarting.returncode == 0 or b"restart-failed" in err
        _wait_for_another(world, victim, before[victim])
    until(lambda: len(_supervisors(world)) == 1)
    world.ok("send", session, "on")
    assert world.run("wait", session).returncode == 8


def test_a_retired_zygote_stays_for_its_session_and_no_longer(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; exit 2")
    retired = world.json("supervisor", "status")["zygote"]
    world.ok("supervisor", "restart")
    world.ok("supervisor", "restart")
    serving = world.json("supervisor", "status")["zygote"]
    until(lambda: set(_zygotes(world)) == {retired, serving})
    pid = world.json("info", session)["pid"]
    _kill_pair(pid)  # its terminal goes with it; the zygote that forked its keeper reaps the program
    until(lambda: (pid, -signal.SIGHUP) in [(one["pid"], one["status"]) for one in _orphans(world)])
    until(lambda: _zygotes(world) == [serving])


def test_a_supervisor_in_the_foreground_is_waited_for_through_a_restart(world: World) -> None:
    running = world.start("supervisor", "run", stderr=subprocess.PIPE)
    until(lambda: world.run("supervisor", "status").returncode == 0)
    world.ok("supervisor", "restart")
    assert running.poll() is None
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 0
    assert world.run("supervisor", "status").returncode == 1


def test_how_a_program_ended_whose_keeper_was_killed_is_written_down(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "trap '' HUP; read line; exit 9")
    pid = world.json("info", session)["pid"]
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    os.kill(int(fields[1]), signal.SIGKILL)
    world.ok("send", session, "on")
    until(lambda: pid in [one["pid"] for one in _orphans(world)])
    (record,) = [one for one in _orphans(world) if one["pid"] == pid]
    assert (record["type"], record["ticks"], record["status"]) == ("orphan", int(fields[19]), 9)


def _wait_for_another(world: World, which: str, pid: int) -> None:
    until(lambda: world.json("supervisor", "status")[which] not in (None, pid))


def _put_failpoint(world: World, fault: str) -> None:
    with open(f"{world.state}/failpoints", "w", encoding="ascii") as file:
        file.write(fault)


def _kill_pair(pid: int) -> None:
    """Keeper and mover of a program at once, so that neither takes the other's place."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        keeper = int(file.read().rpartition(")")[2].split()[1])
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        movers = [int(word) for word in file.read().split() if int(word) != pid]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for victim in (*movers, keeper):
            os.kill(victim, number)


def _orphans(world: World) -> list[dict[str, Any]]:
    try:
        with open(f"{world.state}/orphans.jnl", "rb") as file:
            return journal.decode(file.read()).records
    except FileNotFoundError:
        return []


def _zygotes(world: World) -> list[int]:
    return [pid for pid in processes_of(world.folder) if _name(pid) == "orchctl-zygote"]


def _supervisors(world: World) -> list[int]:
    return [pid for pid in processes_of(world.folder) if b"orchctl.supervisor" in _words(pid)]


def _name(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()
    return ""


def _words(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")
    return []

"""Any one process of a session's pair may die, and then any other: no byte is lost, and no exit code is invented."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import threading

from orchctl.core import journal
from tests.programs import pour, pour_digest
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
    total, mover_kills, keeper_kills = (200 * MB, 2000, 90) if long_form else (6 * MB, 55, 5)
    sessions = {}
    for seed in range(11, 15):
        os.mkfifo(f"{world.folder}/gate{seed}")
        words = pour(total, seed=seed, bytes_per_s=1.5 * MB, exit_code=seed)
        waiting = ["sh", "-c", f'read go < {world.folder}/gate{seed}; exec "$@"', "sh"]
        sessions[world.ok("spawn", "--", *waiting, *words)] = seed
    alive = [world.json("info", session)["pid"] for session in sessions]
    followers = {session: world.start("tail", "-f", "-n", "all", "--raw", session) for session in sessions}
    digests = {session: hashlib.sha256() for session in sessions}
    readers = [threading.Thread(target=_digest, args=(followers[session], digests[session])) for session in sessions]
    for reader in readers:
        reader.start()
    for seed in sessions.values():
        with open(f"{world.folder}/gate{seed}", "w", encoding="ascii") as gate:
            gate.write("go\n")
    rnd, zygote = random.Random(5), world.json("supervisor", "status")["zygote"]
    killed = {"orchctl-mover": 0, "orchctl-keeper": 0}
    while sum(killed.values()) < mover_kills + keeper_kills and all(os.path.exists(f"/proc/{pid}") for pid in alive):
        pairs = _pairs(world)
        if len(pairs) < 2 * len(sessions):  # one at a time: whole again, before the other half may be killed
            continue
        every = (mover_kills + keeper_kills) // keeper_kills
        name = "orchctl-keeper" if sum(killed.values()) % every == 2 else "orchctl-mover"
        victim = rnd.choice([pid for found, pid in pairs if found == name])
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
            killed[name] += 1
            until(lambda victim=victim: _is_zombie(victim))  # type: ignore[misc]
        if zygote and sum(killed.values()) >= 6:
            os.kill(zygote, signal.SIGKILL)
            zygote = 0
    for reader in readers:
        reader.join()
    for session, follower in followers.items():
        assert follower.wait(DEADLINE_S) == 0, session
        assert digests[session].hexdigest() == pour_digest(total, seed=sessions[session])
        ended = world.json("info", session)
        if ended["end_reason"] == "lost":
            assert ended["degraded"]
            assert ended["exit_code"] is None
        else:
            assert (ended["end_reason"], ended["exit_code"]) == ("exited", sessions[session])
    assert killed["orchctl-keeper"] >= 1
    assert killed["orchctl-mover"] >= 4


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
    below = [int(line) for line in subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(pid)]).split()]
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
    assert reasons[1:] == ["idle-timeout", "killed"]
    assert reasons[0] in ("timeout", "lost")


def _program(world: World, session: str) -> int:
    return next(int(one["pid"]) for one in journal.decode(world.journal(session)).records if one["type"] == "started")


def test_limits_are_told_as_exit_codes_and_bad_ones_are_refused(world: World) -> None:
    for option in ("--timeout", "--idle-timeout"):
        done = world.run("spawn", "--wait", option, "300ms", "--", "sleep", "1000")
        assert done.returncode == 124
        assert b"timeout" in done.stderr
    assert world.run("spawn", "--timeout", "0s", "true").returncode == 2
    assert world.run("spawn", "--timeout", "soon", "true").returncode == 2
    ended = subprocess.Popen(["true"])
    ended.wait()
    refused = world.run("spawn", "--bind-pid", str(ended.pid), "true")
    assert refused.returncode == 2
    assert str(ended.pid).encode() in refused.stderr


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

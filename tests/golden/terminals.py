"""Sessions with programs: every way in which one can run, be told something, lose output, and end or not end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

from tests.golden.frames import Line
from tests.golden.place import WORK, Place
from tests.world import DEADLINE_S, until

CONFIG = """\
[retention]
session = "16K"
total = "1G"
ended = "3650d"
events_age = "3650d"

[limits]
total = 100

[limits."orchestrator:golden"]
sessions = 8
time = "1h"

"""
MANAGER = "orchestrator:golden"
HOLDER, GUEST = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"


def make(place: Place) -> None:
    """All that ends; what is left live is begun by `leave_live`."""
    for scene in (shell, pipes, ends, restarts, leases, pruned, orphan, lost, power_cut, limit):
        scene(place)


def shell(place: Place) -> None:
    """A bash with a history, output that the ring dropped, a command out of time, several sizes, names and runs."""
    place.ok("spawn", "--name", "first", "-m", MANAGER, "-l", "team=storage", "--size", "100x30", "bash")
    place.run("exec", "first", "echo one; echo two >&2; (exit 3)")
    place.ok("exec", "--pipe", "first", "echo to stdout; echo to stderr >&2")
    place.ok("exec", "-e", "COLOUR=blue", "-w", "/", "first", 'echo "$COLOUR in $PWD"')
    place.ok("exec", "--no-record", "first", "true")
    assert place.run("exec", "--timeout", "500ms", "--kill-after", "200ms", "first", "sleep 1000").returncode == 124
    place.ok("rename", "first", "work")
    place.ok("label", "work", "tier=1", "phase=test")
    place.ok("label", "--remove", "phase", "work")
    place.ok("resize", "work", "90x25")
    place.ok("send", "work", "echo typed")
    place.ok("wait", "work", "--for", "output=typed\n", "--timeout", f"{DEADLINE_S:.0f}s")
    place.ok("wait", "work", "--for", "prompt")
    place.ok("exec", "work", "seq 1 8000")
    place.ok("restart", "work")
    place.ok("exec", "--wait-prompt", "60s", "work", "echo second run")
    place.ok("pause", "work")
    place.ok("unpause", "work")
    place.ok("restart", "work")
    place.run("exec", "--wait-prompt", "60s", "work", r"printf 'caf\303\251 \377 \033[1mbold\033[0m\n'")
    place.ok("exec", "--detach", "work", "exit 5")
    _wait(place, "work")


def pipes(place: Place) -> None:
    """A program without a terminal: two streams, in order."""
    place.run("spawn", "--no-pty", "--wait", "--name", "pipes", "--", "sh", "-c", "echo out; echo err >&2; exit 7")


def ends(place: Place) -> None:
    """Every other way to end."""
    _wait(place, place.ok("spawn", "--name", "by-time", "--timeout", "300ms", "--", "sleep", "1000"))
    _wait(place, place.ok("spawn", "--name", "by-silence", "--idle-timeout", "300ms", "--", "sleep", "1000"))
    place.run("spawn", "--wait", "--name", "by-signal", "--", "sh", "-c", "kill -9 $$")
    place.ok("spawn", "--name", "killed", "--", "sleep", "1000")
    place.ok("kill", "killed")
    place.run("spawn", "--name", "absent", "--", "/no/such/program")
    place.run("spawn", "--rm", "--wait", "--name", "removed", "--", "true")
    place.ok("spawn", "--wait", "--name", "taken-away", "--", "true")
    place.ok("prune", "taken-away")


def restarts(place: Place) -> None:
    """One that starts again by its policy, until that says no."""
    session = place.ok("spawn", "--name", "again", "--restart", "on-failure:2", "--", "sh", "-c", "echo run; exit 4")
    until(lambda: place.json("info", session)["run"] == 3 and place.json("info", session)["state"] == "closed")


def leases(place: Place) -> None:
    """A lease that was taken, refused, released, out of time, taken by force, handed on and given back."""
    session = place.ok("spawn", "--name", "leased", "--", "cat")
    token = place.ok("lease", "take", "--ttl", "1h", "leased")
    place.ok("send", "--lease", token, "leased", "mine")
    assert place.run("send", "leased", "not mine").returncode == 5
    place.ok("lease", "release", "--lease", token, "leased")
    place.ok("lease", "take", "--ttl", "200ms", "leased")
    _until_free(place, session)
    with Line(f"{place.state}/supervisor.sock") as holder, Line(f"{place.state}/supervisor.sock") as guest:
        holder.answer(id=1, kind="view.open", session=session, viewer=HOLDER, terminal="/dev/pts/1", take=True)
        guest.answer(id=1, kind="view.open", session=session, viewer=GUEST, own_manager="user:guest")
        with Line(f"{place.state}/supervisor.sock") as line:
            given = {"session": session, "viewer": HOLDER, "once": "handed-on"}
            line.answer(id=1, kind="lease.transfer", to="user:guest", give_back=True, **given)
            line.answer(id=2, kind="lease.release", session=session, viewer=GUEST, once="let-go")
            line.answer(id=3, kind="lease.take", session=session, viewer=GUEST, force=True)
    place.ok("kill", "leased")


def pruned(place: Place) -> None:
    """Output that was taken away by hand, once from a live session and once from one that had ended."""
    session = place.ok("spawn", "--name", "emptied", "bash")
    place.ok("exec", "--wait-prompt", "60s", "emptied", "seq 1 1500")
    place.ok("prune", "--output", "emptied")
    place.ok("exec", "emptied", "echo after that")
    place.ok("kill", session)
    ended = place.ok("spawn", "--wait", "--name", "emptied-later", "--", "seq", "1", "100")
    place.ok("prune", "--output", ended)


def orphan(place: Place) -> None:
    """The keeper is killed, its mover takes its place, and the zygote writes down how the program ends."""
    session = place.ok("spawn", "--name", "orphan", "--", "sh", "-c", "echo up; read -r line; exit 6")
    os.kill(_started(place, session)["keeper"], signal.SIGKILL)
    until(lambda: place.json("info", session)["degraded"])
    place.ok("send", "orphan", "go")
    _wait(place, "orphan")
    assert os.path.getsize(f"{place.state}/orphans.jnl")


def lost(place: Place) -> None:
    """Keeper and mover are killed: nobody knows how it ended."""
    session = place.ok("spawn", "--name", "lost", "--", "sh", "-c", "echo before; exec sleep 1000")
    until(lambda: place.log(session))
    _kill_pair(place, session)
    _wait(place, "lost")


def power_cut(place: Place) -> None:
    """A hole in what no supervisor has made safe, as power loss can leave it: what follows is put aside."""
    go = f"{WORK}/go"
    program = f"seq 1 1000; until [ -e {go} ]; do sleep 0.05; done; seq 1 1800; echo over; exec sleep 1000"
    session = place.ok("spawn", "--name", "cut", "--", "sh", "-c", program)
    until(lambda: os.path.exists(f"{place.state}/sessions/{session}/seals.jnl"))
    place.ok("supervisor", "stop", "--leave")
    with open(go, "w", encoding="ascii"):
        pass
    until(lambda: place.log(session).endswith(b"over\r\n"))
    _kill_pair(place, session)
    out = f"{place.state}/sessions/{session}/out"
    hole = sorted(name for name in os.listdir(out) if name.endswith(".seg"))[-2]
    for name in (hole, hole.replace(".seg", ".idx")):
        os.unlink(f"{out}/{name}")
    place.ok("supervisor", "start")
    until(lambda: os.path.isdir(f"{out}/quarantine"))
    _wait(place, "cut")


def limit(place: Place) -> None:
    """A manager that may have no more sessions is refused one."""
    place.ok("spawn", "--name", "alone", "-m", "narrow", "-w", "/", "--", "cat")
    place.ok("config", "set", "limits.narrow.sessions", "1")
    assert place.run("spawn", "-m", "narrow", "--", "cat").returncode == 6
    place.ok("kill", "alone")


def leave_live(place: Place) -> None:
    """As a machine that loses power leaves them: a shell with a command under way, a pipe, a lease that is held."""
    place.ok("spawn", "--name", "left", "-m", MANAGER, "-l", "team=storage", "bash")
    place.ok("exec", "--wait-prompt", "60s", "left", "echo last words")
    place.ok("exec", "--detach", "left", "echo under way; sleep 1000")
    place.ok("wait", "left", "--for", "output=under way\n")
    place.ok("spawn", "--no-pty", "--name", "left-pipe", "--", "sh", "-c", "echo up; exec sleep 1000")
    again = ("--restart", "always", "-w", "/")
    place.ok("spawn", "--no-pty", "--name", "left-always", *again, "--", "sh", "-c", "echo up; exec cat")
    place.ok("spawn", "--name", "left-held", "--", "cat")
    place.ok("lease", "take", "--ttl", "1h", "left-held")
    for name in ("left", "left-pipe", "left-always"):
        until(lambda name=name: place.json("info", name)["state"] == "live")  # type: ignore[misc]


def _wait(place: Place, session: str) -> None:
    place.run("wait", session)


def _started(place: Place, session: str) -> dict[str, int]:
    records = [json.loads(line[9:]) for line in place.journal(session).decode().splitlines()]
    return next(record for record in records if record["type"] == "started")


def _kill_pair(place: Place, session: str) -> None:
    started = _started(place, session)
    keeper, program = started["keeper"], started["pid"]
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        children = [int(word) for word in file.read().split()]
    for pid in (keeper, *children):  # both at once: neither may take the other's place
        os.kill(pid, signal.SIGSTOP)
    for pid in (keeper, *children):
        os.kill(pid, signal.SIGKILL)
    until(_gone(keeper, program, *children))


def _gone(*pids: int) -> Callable[[], bool]:
    def all_gone() -> bool:
        states = []
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    states.append(file.read().rpartition(b")")[2].split()[0])
            except OSError:
                continue
        return set(states) <= {b"Z"}

    return all_gone


def _until_free(place: Place, session: str) -> None:
    until(lambda: place.json("info", session)["lease"] is None)

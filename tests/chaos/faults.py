"""The striker: does each fault of a schedule at its time, to processes and files that it finds by /proc and on disk."""

from __future__ import annotations

import contextlib
import glob
import heapq
import os
import resource
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from tests.chaos import processes
from tests.chaos.oracle import ANSWER_S
from tests.chaos.schedule import Fault, Landed, earliest
from tests.chaos.stage import Stage

STEP_S = 0.02
PATIENCE_S = 20.0  # a fault that finds nobody to strike for so long is passed over
WHOLE_S = 60.0  # a pair that is not whole again so long after a fault is a finding
FOR_SERVERS_TOO = ("kill-keeper", "kill-mover", "stop-keeper", "stop-mover", "remove-pair-socket", "remove-index")
# A client that finds neither zygote nor supervisor starts both with a clean environment: on the machine's clocks.
OWN_CLOCKS = "daemons on the machine's own clocks"
JUMPS_S = (3600, -3600, 40 * 86400, -86400, 10 * 365 * 86400)  # of the wall clock
FEW = 4  # descriptors that are left to the supervisor


class Striker:
    """One thread: strikes, and ends what lasts, in the order of time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._world = stage.world
        self._ends: list[tuple[float, int, Callable[[], object], Landed]] = []

    def run(self, planned: list[Fault]) -> None:
        """All of them, each when it may; what finds nobody in time is passed over, and what is left at the end."""
        waiting = list[tuple[float, Fault]]()
        ahead = deque(planned)
        while (ahead or waiting) and not self._stage.over:
            now = time.monotonic()
            while ahead and self._stage.began_at + ahead[0].at_s <= now:
                waiting.append((now + PATIENCE_S, ahead.popleft()))
            done = [one for _, one in waiting if self.BLOWS[one.kind](self, one)]
            waiting = [(until, one) for until, one in waiting if one not in done and now < until]
            self._pause(now)
        while self._ends:
            self._pause(float("inf"))

    def _pause(self, now: float) -> None:
        """A moment; what is due by then ends."""
        while self._ends and self._ends[0][0] <= now:
            _, _, end, landed = heapq.heappop(self._ends)
            with contextlib.suppress(ProcessLookupError):
                end()
            self._stage.ended(landed)
        time.sleep(STEP_S)

    def _lasts(self, fault: Fault, end: Callable[[], object], session: str = "", pids: tuple[int, ...] = ()) -> None:
        landed = self._stage.strike(fault, session, pids, lasts=True)
        heapq.heappush(self._ends, (time.monotonic() + fault.hold_s, fault.number, end, landed))

    def _may(self, fault: Fault, session: str = "") -> bool:
        return time.monotonic() >= earliest(fault.kind, session, self._stage.landed)

    # processes

    def _signal(self, fault: Fault, pids: tuple[int, ...], session: str = "") -> bool:
        """Kill them, or stop them for a while; they may be gone by now."""
        if fault.kind.startswith("stop-"):
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            self._lasts(fault, lambda: _go_on(pids), session, pids)
            return True
        self._stage.strike(fault, session, pids)
        for pid in pids:
            if len(pids) > 1:
                os.kill(pid, signal.SIGSTOP)  # so that none sees the other's death
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return True

    def _signal_daemon(self, fault: Fault, find: Callable[..., list[int]]) -> bool:
        found = find(self._world)
        if not found or not self._may(fault):
            return False
        with contextlib.suppress(ProcessLookupError):
            return self._signal(fault, (found[-1],))
        return False

    def _signal_supervisor(self, fault: Fault) -> bool:
        return self._signal_daemon(fault, processes.supervisors)

    def _signal_zygote(self, fault: Fault) -> bool:
        return self._signal_daemon(fault, processes.zygotes)

    def _target(self, fault: Fault) -> tuple[str, tuple[int, int]] | None:
        """A session that may be struck now, and whose pair is whole."""
        slots = dict(self._stage.targets)
        if fault.kind in FOR_SERVERS_TOO:
            slots |= self._stage.servers
        able = [one for _, one in sorted(slots.items()) if self._may(fault, one)]
        for at in range(len(able)):
            session = able[(fault.pick + at) % len(able)]
            found = processes.pair(self._world, session)
            if found is not None:
                return session, found
        return None

    def _signal_pair(self, fault: Fault, which: tuple[int, ...]) -> bool:
        target = self._target(fault)
        if target is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            return self._signal(fault, tuple(target[1][one] for one in which), target[0])
        return False

    def _signal_keeper(self, fault: Fault) -> bool:
        return self._signal_pair(fault, (0,))

    def _signal_mover(self, fault: Fault) -> bool:
        return self._signal_pair(fault, (1,))

    def _kill_pair(self, fault: Fault) -> bool:
        return self._signal_pair(fault, (0, 1))

    def _kill_keeper_and_zygote(self, fault: Fault) -> bool:
        target, found = self._target(fault), processes.zygotes(self._world)
        if target is None or not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            return self._signal(fault, (target[1][0], found[-1]), target[0])
        return False

    def _signal_client(self, fault: Fault) -> bool:
        able = [one for _, one in sorted(self._stage.clients.items()) if one.poll() is None]
        if not able:
            return False
        with contextlib.suppress(ProcessLookupError):
            return self._signal(fault, (able[fault.pick % len(able)].pid,))
        return False

    def _take_descriptors(self, fault: Fault) -> bool:
        found = processes.supervisors(self._world)
        if not found or not self._may(fault):
            return False
        pid = found[-1]
        with contextlib.suppress(ProcessLookupError):
            limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (FEW, limits[1]))
            self._lasts(fault, lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, limits), "", (pid,))
            return True
        return False

    # files

    def _fill_disk(self, fault: Fault) -> bool:
        """A file that takes all room, where the state directory is on a small disk of its own."""
        if not os.path.ismount(self._world.state):
            return self._limit_files(fault)
        if not self._may(fault):
            return False
        path = f"{self._world.state}/filler"
        self._lasts(fault, lambda: os.unlink(path))
        with open(path, "wb", buffering=0) as file:  # by writing: others take room meanwhile, and some is free again
            for piece in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(piece)) == piece:
                        pass
        return True

    def _limit_files(self, fault: Fault) -> bool:
        """Without a disk of our own: no file of one mover may grow, as under a quota."""
        target = self._target(fault)
        if target is None:
            return False
        session, (_, mover) = target
        with contextlib.suppress(ProcessLookupError):
            limits = resource.prlimit(mover, resource.RLIMIT_FSIZE)
            resource.prlimit(mover, resource.RLIMIT_FSIZE, (0, limits[1]))
            end = lambda: resource.prlimit(mover, resource.RLIMIT_FSIZE, limits)  # noqa: E731
            self._lasts(fault, end, session, (mover,))
            return True
        return False

    def _jump(self, fault: Fault) -> bool:
        """The wall clock of all daemons, not the seconds since boot; and back."""
        found = processes.supervisors(self._world)
        if not found or not self._may(fault):
            return False
        if not processes.has_loaded(found[-1], self._stage.clocks.library):
            self._stage.counts[OWN_CLOCKS] += 1
            return False
        self._lasts(fault, self._stage.clocks.set)
        self._stage.clocks.set(real_s=JUMPS_S[fault.pick % len(JUMPS_S)])
        return True

    def _remove_socket(self, fault: Fault) -> bool:
        path = f"{self._world.state}/supervisor.sock"
        if not self._may(fault) or not os.path.exists(path):
            return False
        self._stage.strike(fault)
        os.unlink(path)
        return True

    def _replace_lock(self, fault: Fault) -> bool:
        """As if somebody had removed it, and another had looked whether it is held."""
        if not self._may(fault):
            return False
        path = f"{self._world.state}/supervisor.lock"
        os.close(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT, 0o600))
        self._stage.strike(fault)
        os.rename(f"{path}.new", path)
        return True

    def _remove_of_session(self, fault: Fault, pattern: str) -> bool:
        target = self._target(fault)
        if target is None:
            return False
        found = glob.glob(f"{self._world.state}/sessions/{target[0]}/{pattern}")
        if found:
            self._stage.strike(fault, target[0])
        for path in found:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        return bool(found)

    def _hide(self, fault: Fault, name: str, *, block: bool = False) -> bool:
        """Put it elsewhere for a moment: root may read what has no permissions. `block`: something else is there."""
        target = self._target(fault)
        if target is None:
            return False
        path, away = f"{self._world.state}/sessions/{target[0]}{name}", f"{self._world.state}/away-{fault.number}"
        try:
            os.rename(path, away)
        except FileNotFoundError:  # it has just ended, and is gone
            return False
        self._lasts(fault, lambda: _put_back(away, path), target[0])
        if block:
            os.mkdir(path, 0o700)
        return True

    def _restart(self, fault: Fault) -> bool:
        """By the command; what it answers is judged by who waits for the sessions."""
        if not self._may(fault):
            return False
        process = self._world.start("supervisor", "restart", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._lasts(fault, lambda: self._answered(process), "", (process.pid,))
        return True

    def _answered(self, process: subprocess.Popen[bytes]) -> None:
        """A restart that fails is no finding, one that does not answer is."""
        try:
            process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._stage.find("", "restart-supervisor", f"no answer in {ANSWER_S:.0f} s")
            process.kill()
            process.wait()

    BLOWS: ClassVar[dict[str, Callable[[Striker, Fault], bool]]] = {
        "kill-supervisor": _signal_supervisor,
        "kill-zygote": _signal_zygote,
        "stop-supervisor": _signal_supervisor,
        "stop-zygote": _signal_zygote,
        "kill-keeper": _signal_keeper,
        "kill-mover": _signal_mover,
        "kill-pair": _kill_pair,
        "kill-keeper-and-zygote": _kill_keeper_and_zygote,
        "stop-keeper": _signal_keeper,
        "stop-mover": _signal_mover,
        "stop-mover-long": _signal_mover,
        "kill-client": _signal_client,
        "stop-client": _signal_client,
        "no-descriptors": _take_descriptors,
        "full-disk": _fill_disk,
        "clock-jump": _jump,
        "remove-socket": _remove_socket,
        "replace-lock": _replace_lock,
        "remove-pair-socket": lambda self, fault: self._remove_of_session(fault, "pair.sock"),
        "remove-index": lambda self, fault: self._remove_of_session(fault, "out/*.idx"),
        "hide-spec": lambda self, fault: self._hide(fault, "/spec.json"),
        "hide-folder": lambda self, fault: self._hide(fault, ""),
        "block-spec": lambda self, fault: self._hide(fault, "/spec.json", block=True),
        "block-journal": lambda self, fault: self._hide(fault, "/run.jnl", block=True),
        "restart-supervisor": _restart,
    }


def _put_back(away: str, path: str) -> None:
    """Whatever has been put in its place meanwhile."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    os.rename(away, path)


def _go_on(pids: tuple[int, ...]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGCONT)

"""Whose processes are a session's, and stopping and ending them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

from orchctl.pair import kill, tree
from orchctl.pair.kill import ROUNDS, Killing, members
from orchctl.pair.shared import Pair
from tests.world import until


@contextlib.contextmanager
def family(*, session: bool = False) -> Iterator[tuple[int, int, int]]:
    """A process, its child and its grandchild; all end with the block."""
    words = ["bash", "-c", "exec 3<&0; bash -c 'read -r _ <&3 & echo $$ $!; wait' & read -r _ <&3"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=session) as top:
        assert top.stdout is not None
        child, grandchild = map(int, top.stdout.readline().split())
        yield top.pid, child, grandchild
        for pid in (grandchild, child, top.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def shared(keeper: int, child: int, *, parent: bool) -> Pair:
    """As much of a pair as is asked for here."""
    with socket.socket(socket.AF_UNIX) as nobody:
        return Pair("", nobody, -1, {}, (-1, -1), -1, 0, None, child, keeper, parent=parent)


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_all_below_the_keeper_but_the_mover_are_the_sessions() -> None:
    with family() as (top, child, grandchild):
        assert members(shared(top, child, parent=True), leave_out=0) == [child, grandchild]
        assert members(shared(top, child, parent=True), leave_out=child) == []


def test_without_the_first_keeper_those_of_the_programs_own_session_are_and_what_is_below() -> None:
    with family(session=True) as (top, child, grandchild):
        found = members(shared(os.getpid(), top, parent=False), leave_out=0)
        assert sorted(found) == sorted([top, child, grandchild])
        assert found[0] == top
        assert os.getpid() not in found


def test_without_the_first_keeper_what_left_the_programs_session_and_is_below_it_still_belongs_to_it() -> None:
    words = ["bash", "-c", "exec 3<&0; setsid sh -c 'echo $$; read -r _ <&3' & read -r _ <&3; wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as top:
        assert top.stdout is not None
        apart = int(top.stdout.readline())
        assert os.getsid(apart) == apart != top.pid
        assert members(shared(os.getpid(), top.pid, parent=False), leave_out=0) == [top.pid, apart]


def test_the_dead_are_nobodys() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert ended.pid not in tree.descendants(os.getpid(), leave_out=0)


def test_a_pause_stops_all_and_ends_for_all() -> None:
    with family() as (top, child, grandchild):
        everybody = [top, child, grandchild]

        def below() -> list[int]:
            return everybody

        kill.pause(below)
        until(lambda: [state(pid) for pid in everybody] == ["T"] * 3)
        kill.unpause(below)
        until(lambda: "T" not in [state(pid) for pid in everybody])


def test_a_pause_stops_what_was_started_while_it_stopped_the_others() -> None:
    with family() as (top, child, grandchild):
        everybody = [top, child, grandchild]
        looks = iter([everybody[:1], everybody[:2], everybody, everybody])
        try:
            kill.pause(lambda: next(looks))
            assert list(looks) == []
            until(lambda: [state(pid) for pid in everybody] == ["T"] * 3)
        finally:
            kill.unpause(lambda: everybody)


def test_a_kill_is_said_once_and_ends_when_force_had_its_time() -> None:
    said: list[tuple[str, dict[str, object]]] = []

    def record(kind: str, **fields: object) -> None:
        said.append((kind, fields))

    ended = Killing(list, record)
    ended.begin(0, "timeout")
    ended.begin(0, "asked")
    assert said == [("kill", {"grace_s": 0, "reason": "timeout"})]
    while ended.at is not None:
        ended.go_on()
    assert len(said) == 1


def test_a_second_kill_may_only_be_sooner() -> None:
    killed = Killing(list, lambda *_, **__: None)
    killed.begin(100, "asked")
    first = killed.at
    assert first is not None
    killed.begin(200, "asked")
    assert killed.at == first
    killed.begin(10, "asked")
    assert killed.at < first


class Reborn:
    """A session whose processes come again, so many times, whatever is done to them."""

    def __init__(self, words: list[str], state: str, times: int) -> None:
        self._words, self._state, self._times = words, state, times
        self.born: list[subprocess.Popen[bytes]] = []

    def look(self) -> list[int]:
        if len(self.born) == self._times:
            return []
        self.born.append(subprocess.Popen(self._words))
        until(lambda: state(self.born[-1].pid) == self._state)
        return [self.born[-1].pid]

    def end(self) -> None:
        for one in self.born:
            one.kill()
            one.wait()


def _force(killed: Killing) -> None:
    killed.begin(0, "asked")
    while killed.at is not None:
        time.sleep(max(0.0, killed.at - time.monotonic()))
        killed.go_on()


def test_survivors_are_named_by_each_kill() -> None:
    said: list[tuple[str, object]] = []
    session = Reborn(["sleep", "1000"], "S", 1000)
    try:
        for _ in range(2):
            _force(Killing(session.look, lambda kind, **fields: said.append((kind, fields.get("pids")))))
            assert said == [("kill", None), ("survivors", [session.born[-1].pid])]
            assert session.born[-1].poll() is None
            said.clear()
    finally:
        session.end()


def test_what_has_ended_since_the_last_blow_is_no_survivor() -> None:
    said: list[str] = []
    with subprocess.Popen(["sleep", "1000"]) as last:
        looks = iter([[last.pid]] * (1 + ROUNDS))  # the last of them is followed by one that finds nobody

        def below() -> list[int]:
            return next(looks, [])

        _force(Killing(below, lambda kind, **_: said.append(kind)))
    assert said == ["kill"]


def test_who_only_waits_for_a_processor_to_end_on_is_no_survivor_yet() -> None:
    said: list[str] = []
    session = Reborn(["sh", "-c", "while :; do :; done"], "R", ROUNDS + 4)
    try:
        _force(Killing(session.look, lambda kind, **_: said.append(kind)))
    finally:
        session.end()
    assert len(session.born) == ROUNDS + 4
    assert said == ["kill"]


def test_a_process_is_named_by_its_number_and_its_start() -> None:
    with family() as (top, _, _):
        ticks = tree.start_ticks(top)
        assert ticks > 0
        fd = kill.open_process(top, ticks)
        assert fd >= 0
        os.close(fd)
        assert kill.open_process(top, ticks + 1) == -1
    assert tree.start_ticks(top) == 0
    assert kill.open_process(top, 0) == -1

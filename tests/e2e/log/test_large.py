"""Large numbers, in the long form only: sessions at once (F67), and a log far beyond its ring (F68)."""

from __future__ import annotations

import subprocess
import threading

import pytest

from orchctl.session.stream import Chunk
from tests.needs import needs
from tests.world import DEADLINE_S, World, processes_of, until

MB = 1 << 20
SESSIONS, MANAGERS = 500, 5  # a manager may have 200
LOG_BYTES = 1024 * MB
LINE = b"0123456789abcdef\n"


@needs("root")
@pytest.mark.long
def test_five_hundred_sessions_at_once_end_with_their_own_codes_and_leave_nothing(world: World) -> None:
    status = world.json("supervisor", "start")
    gate = f"{world.folder}/gate"
    with world.client() as client:
        sessions = [
            client.spawn(
                ["sh", "-c", f"until [ -e {gate} ]; do sleep 1; done; echo {number}; exit {number % 100}"],
                managed_by=f"orchestrator:large-{number % MANAGERS}",
            ).id
            for number in range(SESSIONS)
        ]
        assert sum(one.is_alive for one in client.list()) == SESSIONS
        with open(gate, "w", encoding="ascii"):
            pass
        for number, session in enumerate(sessions):
            ended = client.wait(session, timeout_s=5 * DEADLINE_S)
            assert (ended.end_reason, ended.exit_code) == ("exited", number % 100)
            assert world.log(session) == b"%d\r\n" % number
    ours = [status["pid"], status["zygote"]]
    until(lambda: sorted(processes_of(world.folder)) == sorted(ours), deadline_s=5 * DEADLINE_S)
    assert world.run("verify", timeout=5 * DEADLINE_S).returncode == 0


@pytest.mark.long
def test_a_log_of_a_gigabyte_is_followed_and_searched_while_its_ring_turns(world: World) -> None:
    world.keep_of_each_session("8M")
    script = f"yes 0123456789abcdef | head -c {LOG_BYTES}; exit 6"
    with world.client() as client:
        session = client.spawn(["sh", "-c", script], pty=False).id
        complaints = list[str]()
        follower = threading.Thread(target=_follow, args=(world, session, complaints))
        follower.start()
        searched = 0
        while client.info(session).is_alive:
            done = world.run("search", "--count", "-F", "abcdef", session, timeout=5 * DEADLINE_S)
            assert done.returncode in (0, 1), done
            searched += 1
        ended = client.wait(session)
        assert (ended.exit_code, ended.output.next_offset) == (6, LOG_BYTES)
        follower.join(5 * DEADLINE_S)
    assert searched
    assert complaints == []
    kept = world.log(session)
    assert kept == (LINE * (LOG_BYTES // len(LINE) + 1))[LOG_BYTES - len(kept) : LOG_BYTES]
    assert world.run("verify", timeout=5 * DEADLINE_S).returncode == 0
    assert subprocess.run(["du", "-sm", world.state], capture_output=True, check=True).stdout.split()[0] < b"64"


def _follow(world: World, session: str, complaints: list[str]) -> None:
    """Every byte is at its place, and what is missing is said to be."""
    at = 0
    with world.client() as client:
        for piece in client.output(session, offset=0, follow=True):
            first = piece.offset if isinstance(piece, Chunk) else piece.first
            if first != at:
                complaints.append(f"{first} where {at} was due")
            if isinstance(piece, Chunk):
                shift = first % len(LINE)
                if piece.data != (LINE * (len(piece.data) // len(LINE) + 2))[shift : shift + len(piece.data)]:
                    complaints.append(f"other bytes at {first}")
            at = piece.end
    if at != LOG_BYTES:
        complaints.append(f"it ended at {at}")

"""Output is a ring on disk: what goes is told with its exact range, and what stays is what the program wrote."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess

import pytest

from orchctl.session.stream import Chunk, Gap
from tests.world import DEADLINE_S, World, until

RING = 1 << 18
SEGMENT = RING // 8


def lines(count: int) -> bytes:
    """What `pour` writes to its terminal, newlines mapped."""
    return b"".join(b"%08d\r\n" % number for number in range(count))


def pour(count: int) -> list[str]:
    """A program that writes `count` numbered lines."""
    return ["sh", "-c", f"seq -f %08.0f 0 {count - 1}"]


@pytest.fixture
def small(world: World) -> World:
    """A state directory that keeps little."""
    os.makedirs(world.state, mode=0o700)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "256K"\n')
    return world


def test_the_oldest_output_goes_and_the_rest_is_exact(small: World) -> None:
    wrote = lines(200_000)
    session = small.ok("spawn", "--name", "s", "--", *pour(200_000))
    small.ok("wait", "s")
    output = small.json("info", "s")["output"]
    assert output["next_offset"] == len(wrote)
    assert RING - 2 * SEGMENT <= output["kept_bytes"] <= RING
    assert output["first_offset"] == output["dropped_bytes"] == len(wrote) - output["kept_bytes"]
    tail = small.run("tail", "--raw", "-n", "all", "s")
    assert tail.stdout == wrote[output["first_offset"] :] == small.log(session)
    assert tail.stderr.decode() == f"orchctl: bytes 0 to {output['first_offset'] - 1} are no longer kept\n"
    assert small.ok("tail", "-n", "3", "s").split() == ["00199997", "00199998", "00199999"]
    assert small.run("tail", "-n", "999999", "--raw", "s").stdout == small.log(session)
    gaps = [json.loads(line) for line in small.ok("events", "--type", "gap", "s").splitlines()]
    assert gaps[0]["first"] == 0
    assert gaps[-1]["end"] == output["first_offset"]
    assert all(before["end"] == after["first"] for before, after in itertools.pairwise(gaps))
    assert small.run("verify").returncode == 0


def test_a_slow_reader_is_waited_for_within_limits_and_then_told_what_it_missed(small: World) -> None:
    count = 300_000
    wrote = lines(count)
    session = small.ok("spawn", "--", "sh", "-c", f"read go; seq -f %08.0f 0 {count - 1}")
    with small.client() as client:
        stream = client.output(session, follow=True)
        pieces = iter(stream)
        client.send(session, b"go\n")
        seen = [next(pieces)]
        client.wait(session)  # all of it is written while we read nothing
        kept = client.info(session).output.kept_bytes
        assert 3 * RING <= kept <= 4 * RING
        seen += pieces
    echo = b"go\r\n"
    wrote = echo + wrote
    at = 0
    for piece in seen:
        if isinstance(piece, Chunk):
            assert piece.offset == at
            assert piece.data == wrote[at : piece.end]
            at = piece.end
        else:
            assert piece.first == at
            at = piece.end
    assert at == len(wrote)
    assert len([piece for piece in seen if isinstance(piece, Gap)]) == 1


def test_reading_and_following_go_on_while_the_ring_turns(small: World) -> None:
    enough = f"{small.folder}/enough"
    script = 'n=0; until [ -e "$0" ]; do seq -f %08.0f $n $((n + 9999)); n=$((n + 10000)); sleep 0.05; done'
    session = small.ok("spawn", "--name", "s", "--", "sh", "-c", script, enough)
    follower = small.start("tail", "-f", "--raw", "-n", "all", "s", stdout=subprocess.PIPE)
    until(lambda: small.json("info", "s")["output"]["dropped_bytes"] > 0)
    for _ in range(5):
        last = small.run("tail", "-n", "2", "--raw", "s").stdout.split(b"\r\n")
        full = [int(line) for line in last if len(line) == 8]
        assert full == sorted(full)
    with open(enough, "w", encoding="ascii"):
        pass
    out, _ = follower.communicate(timeout=DEADLINE_S)
    assert follower.returncode == 0
    assert out.endswith(small.log(session)[-RING // 2 :])


def test_one_session_is_emptied_and_goes_on(small: World) -> None:
    session = small.ok("spawn", "--name", "s", "--", "cat")
    small.ok("send", "s", "one")
    until(lambda: small.json("info", "s")["output"]["next_offset"] == len("one\r\none\r\n"))
    told = small.json("prune", "--output", "s")
    assert told == {"sessions": [session], "output_bytes": 10}
    until(lambda: small.json("info", "s")["output"]["first_offset"] == 10)
    small.ok("send", "s", "two")
    until(lambda: small.log(session) == b"two\r\ntwo\r\n")
    assert small.run("tail", "--raw", "-n", "all", "s").stdout == b"two\r\ntwo\r\n"
    small.ok("kill", "s")
    assert small.json("prune", "--output", "s")["output_bytes"] == 10
    output = small.json("info", "s")["output"]
    assert (output["first_offset"], output["next_offset"], output["kept_bytes"]) == (20, 20, 0)
    assert small.run("tail", "-n", "all", "s").stdout == b""
    assert small.run("verify").returncode == 0


def test_a_shell_whose_prompt_went_with_the_output_still_takes_commands(small: World) -> None:
    small.ok("spawn", "--name", "s", "bash")
    small.ok("exec", "s", "x=5")
    small.ok("prune", "--output", "s")
    assert small.ok("exec", "s", "echo $x; x=6") == "5"
    small.ok("prune", "--output", "s")
    os.kill(small.supervisor(), signal.SIGKILL)
    assert small.ok("exec", "s", "echo $x") == "6"


def test_half_a_line_is_left_alone_when_what_showed_it_is_gone(small: World) -> None:
    small.ok("spawn", "--name", "s", "bash")
    small.ok("exec", "s", "true")
    small.ok("send", "s", "--no-enter", "echo half of ")
    small.ok("wait", "s", "--for", "output=half of")
    small.ok("prune", "--output", "s")
    refused = small.run("exec", "s", "--json", "echo other")
    assert (refused.returncode, b"not-at-prompt" in refused.stdout + refused.stderr) == (125, True), refused
    small.ok("send", "s", "a line")
    small.ok("wait", "s", "--for", "output=half of a line")


def test_ended_sessions_are_pruned_by_name_by_age_and_by_size(small: World) -> None:
    old, new = (small.ok("spawn", "--", "sh", "-c", f"seq 1 {count}") for count in (2000, 1000))
    for session in (old, new):
        small.ok("wait", session)
    until(lambda: len(small.json("prune", "--older-than", "0s", "--dry-run")["sessions"]) == 2)
    os.utime(f"{small.state}/sessions/{old}/ended.json", (1, 1))
    small.ok("supervisor", "stop")  # sizes and ages of ended sessions are remembered
    assert small.json("prune", "--older-than", "1d", "--dry-run")["sessions"] == [old]
    assert small.json("prune", "--dry-run")["sessions"] == [old]
    assert small.json("prune", "--size", "6K", "--dry-run")["sessions"] == [old]
    assert small.json("prune", "--size", "6K", "--output")["sessions"] == [old]
    assert small.json("info", old)["output"]["kept_bytes"] == 0
    assert small.json("prune", new)["sessions"] == [new]
    assert small.run("info", new).returncode == 3
    assert not os.path.exists(f"{small.state}/sessions/{new}")
    live = small.ok("spawn", "--", "sleep", "1000")
    refused = small.run("prune", live, "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "live")
    assert small.run("prune", "nobody").returncode == 3
    assert small.run("prune", "--size", "1G", live).returncode == 2


def test_output_of_all_sessions_together_is_limited_too(small: World) -> None:
    sessions = [small.ok("spawn", "--", "sh", "-c", "seq 1 40000; exec sleep 1000") for _ in range(2)]
    ended = small.ok("spawn", "--", *pour(20_000))
    small.ok("wait", ended)

    def kept() -> int:
        return sum(one["output"]["kept_bytes"] for one in small.json("list", "-a"))

    until(lambda: kept() > 600_000)
    with open(f"{small.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "256K"\ntotal = "300K"\n')
    until(lambda: kept() <= 300 << 10)
    assert small.json("info", ended)["output"]["kept_bytes"] == 0
    for session in sessions:
        assert small.log(session).endswith(b"39999\r\n40000\r\n")
    assert small.run("verify").returncode == 0


def test_the_ring_turns_while_no_supervisor_runs(small: World) -> None:
    gate = f"{small.folder}/gate"
    os.mkfifo(gate)
    session = small.ok("spawn", "--", "sh", "-c", f"read go < {gate}; seq -f %08.0f 0 99999")
    small.ok("supervisor", "stop", "--leave")
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: b'"exit"' in small.journal(session))
    wrote = lines(100_000)
    assert len(small.log(session)) <= RING
    assert wrote.endswith(small.log(session))
    assert small.json("info", session)["output"]["next_offset"] == len(wrote)

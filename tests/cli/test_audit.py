"""`orchctl audit`: who did what, and a journal that was edited, cut or put in another order is found out."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from orchctl.log import chain, journal
from orchctl.log.disk import REAL
from orchctl.log.event_journal import EventStore
from tests.world import World, until

AGENT = "orchestrator:coordinator-001"


def _deeds(world: World, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.ok("audit", *words, "--json").splitlines()]


def _verify(world: World, *words: str) -> tuple[int, dict[str, Any]]:
    done = world.run("audit", "--verify", *words, "--json")
    return done.returncode, json.loads(done.stdout)


def _journal(world: World, count: int = 9, segment_bytes: int = 16 << 20) -> list[Path]:
    """Records 2 to `count`, and a checkpoint before them; more files if segments are small."""
    for path in (world.state, f"{world.state}/sessions"):
        os.makedirs(path, mode=0o700, exist_ok=True)
    store = EventStore(REAL, f"{world.state}/events", segment_bytes=segment_bytes)
    while store.next_seq <= count:
        store.append([{"type": "input", "session": "s", "who": "user", "bytes": store.next_seq}], 1.0)
    store.close()
    return sorted(Path(world.state, "events").iterdir())


def test_without_a_journal_there_is_nothing_to_tell_and_nothing_is_made(world: World) -> None:
    assert world.ok("audit") == ""
    assert _verify(world) == (0, {"first_seq": None, "last_seq": None, "head": "0" * 32, "findings": []})
    assert world.ok("audit", "--verify") == "no records"
    assert not os.path.exists(world.state)


def test_every_deed_is_told_with_who_did_it_and_when(world: World) -> None:
    world.env |= {"ORCHCTL_MANAGER": AGENT, "HOME": world.folder}
    session = world.ok("spawn", "--name", "work", "-w", "/", "bash")
    world.ok("exec", "work", "echo hi")
    world.ok("send", "work", "true")
    world.ok("resize", "work", "100x30")
    world.ok("interrupt", "work")
    world.ok("kill", "--grace", "0s", "work")
    world.ok("restart", "work")
    world.ok("kill-by-manager", AGENT)
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    world.ok("prune", "work")
    deeds = _deeds(world)
    expected = ["spawn", "exec", "input", "resize", "interrupt", "kill", "restart", "kill", "prune"]
    assert [one["deed"] for one in deeds] == expected
    assert {one["who"] for one in deeds} == {AGENT}
    assert [one["seq"] for one in deeds] == sorted(one["seq"] for one in deeds)
    assert (deeds[0]["name"], deeds[1]["text"], deeds[2]["bytes"]) == ("work", "echo hi", 5)
    assert deeds[-1]["sessions"] == [session]
    lines = world.ok("audit").splitlines()
    assert lines[0].split() == ["SEQ", "TIME", "WHO", "DEED", "SESSION", "WHAT"]
    assert lines[1].split()[-5:] == [AGENT, "spawn", session[:8], "work:", "bash"]
    assert len(lines) == len(expected) + 1
    assert (
        _deeds(world, "work") == _deeds(world, session[:8]) == _deeds(world, "@last") == deeds
    )  # pruned, and still told
    assert world.run("audit", "-q").stdout == b""


def test_it_is_told_by_session_by_manager_and_since_when(world: World) -> None:
    one = world.ok("spawn", "--name", "one", "--", "sleep", "1000")
    other = world.ok("spawn", "-m", f"{AGENT}:x", "--", "sleep", "1000")
    world.ok("supervisor", "stop", "--leave")
    assert [deed["session"] for deed in _deeds(world, "one")] == [one]
    assert [deed["session"] for deed in _deeds(world, f"@{AGENT}")] == [other]
    assert [deed["session"] for deed in _deeds(world, "one", f"@{AGENT}")] == [one, other]
    assert [deed["deed"] for deed in _deeds(world)] == ["spawn", "spawn", "stop"]
    second = _deeds(world)[1]
    assert [deed["deed"] for deed in _deeds(world, "--since", str(second["seq"]))] == ["spawn", "stop"]
    assert _deeds(world, "--since", "2100-01-01T00:00") == []
    assert len(_deeds(world, "--since", "1h")) == 3
    for words, status in ((("nobody",), 3), (("@a::b",), 2), (("--since", "whenever"), 2), (("--head", "x"), 2)):
        assert world.run("audit", *words).returncode == status, words
    assert world.run("supervisor", "status").returncode == 1


def test_the_head_that_status_shows_is_the_one_that_is_checked(world: World) -> None:
    world.ok("spawn", "--wait", "--", "true")
    noted = world.json("supervisor", "status")["chain_head"]
    for _ in range(3):
        world.ok("spawn", "--wait", "--", "true")
    assert _verify(world, "--head", noted)[0] == 0
    world.ok("supervisor", "stop")
    status, found = _verify(world, "--head", noted)
    assert (status, found["findings"]) == (0, [])
    said = world.ok("audit", "--verify").splitlines()
    assert said[-1] == f"head {found['last_seq']}:{found['head']}"
    assert _verify(world, "--head", said[-1].split()[1])[0] == 0
    assert world.ok("audit", "--verify", "--head", noted).splitlines()[0].endswith("the head that was noted is in it")


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def _edit(lines: list[bytes]) -> list[bytes]:
    record = journal.record_of(lines[4].rstrip(b"\n"))
    assert record is not None
    return [*lines[:4], journal.encode({**record, "who": "somebody else"}), *lines[5:]]


def _flip(lines: list[bytes]) -> list[bytes]:
    return [*lines[:4], lines[4].replace(b'"user"', b'"eve!"'), *lines[5:]]


@pytest.mark.parametrize(
    ("change", "seq", "kind"),
    [
        (_edit, 6, "broken-chain"),
        (_flip, 5, "bad-line"),
        (lambda lines: lines[:4] + lines[5:], 6, "missing-events"),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 6, "missing-events"),
        (lambda lines: lines[1:], 2, "missing-events"),
        (lambda lines: [*lines, lines[-1]], 9, "broken-chain"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], 9, "torn-tail"),
    ],
    ids=["edit", "flip", "delete", "reorder", "behead", "repeat", "tear"],
)
def test_a_change_is_named_by_the_records_number(world: World, change: Any, seq: int, kind: str) -> None:
    (path,) = _journal(world)
    assert _verify(world)[0] == 0
    path.write_bytes(b"".join(change(_lines(path))))
    status, found = _verify(world)
    assert status == 1
    assert (found["findings"][0]["seq"], found["findings"][0]["kind"]) == (seq, kind)
    done = world.run("audit", "--verify")
    assert done.returncode == 1
    assert done.stdout.decode().startswith(f"record {seq}: {kind}: ")


def test_what_was_cut_off_or_written_anew_shows_against_a_noted_head_alone(world: World) -> None:
    (path,) = _journal(world)
    head = _verify(world)[1]["head"]
    path.write_bytes(b"".join(_lines(path)[:6]))
    assert _verify(world)[0] == 0
    for noted, seq in ((f"9:{head}", 9), (head, 6)):
        status, found = _verify(world, "--head", noted)
        assert (status, [(one["seq"], one["kind"]) for one in found["findings"]]) == (1, [(seq, "missing-head")])
    shutil.rmtree(path.parent)
    _journal(world, 12)
    assert _verify(world)[0] == 0
    lines, prev = [], chain.ZERO
    for seq, line in enumerate(_lines(path), 1):
        who = "eve" if seq == 4 else "user"
        _, text, prev = chain.link(
            (journal.record_of(line.rstrip(b"\n")) or {}) | {"who": who}, seq=seq, prev=prev, now=1.0
        )
        lines.append(text)
    path.write_bytes(b"".join(lines))
    assert _verify(world)[0] == 0
    status, found = _verify(world, "--head", f"9:{head}")
    assert (status, [(one["seq"], one["kind"]) for one in found["findings"]]) == (1, [(9, "wrong-head")])


def test_a_file_in_the_middle_that_is_gone_is_missed_and_old_ones_may_go(world: World) -> None:
    paths = _journal(world, 90, segment_bytes=2000)
    assert len(paths) > 4
    head = _verify(world)[1]["head"]
    paths[0].unlink()
    status, found = _verify(world, "--head", head)
    assert (status, found["first_seq"]) == (0, chain.starts([paths[1].name])[0])
    before = found["first_seq"] - 1
    status, found = _verify(world, "--head", f"{before - 1}:{head}")
    assert (status, found["findings"][0]["kind"]) == (1, "missing-head")
    assert "no longer kept" in found["findings"][0]["detail"]
    paths[2].unlink()
    status, found = _verify(world)
    (gone,) = chain.starts([paths[2].name])
    assert (status, found["findings"][0]["seq"], found["findings"][0]["kind"]) == (1, gone, "missing-events")
    for name in ("nonsense", "1:2", "f" * 31, "-1:" + "0" * 32):
        assert world.run("audit", "--verify", "--head", name).returncode == 2


def test_a_journal_that_is_written_to_meanwhile_is_whole(world: World) -> None:
    with world.start("spawn", "--follow", "--restart", "always", "--", "true") as busy:
        until(lambda: len(_deeds(world)) >= 1)
        for _ in range(10):
            assert _verify(world)[0] == 0
        world.ok("supervisor", "stop", "--kill")
        busy.wait(60)

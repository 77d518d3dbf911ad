"""Taking stock of a log after a crash or power loss, on real files: what stays, what is put aside, where it goes on."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from orchctl.log import journal, segments
from orchctl.log.disk import REAL
from orchctl.log.journal import append
from orchctl.log.recovery import Recovered, recover
from orchctl.log.sync import Syncer
from tests.log.watched_disk import WatchedDisk, failing_on


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "session"
    (made / "out").mkdir(parents=True)
    return made


def put(folder: Path, *sizes: tuple[int, int]) -> None:
    for start, size in sizes:
        (folder / "out" / segments.name(start)).write_bytes(b"x" * size)


def layout_of(folder: Path) -> list[tuple[int, int]]:
    starts = segments.starts(os.listdir(folder / "out"))
    return [(start, (folder / "out" / segments.name(start)).stat().st_size) for start in starts]


def run_journal(folder: Path) -> list[dict[str, Any]]:
    path = folder / "run.jnl"
    return journal.decode(path.read_bytes()).records if path.exists() else []


def test_a_log_without_a_hole_stays_as_it_is(folder: Path) -> None:
    put(folder, (0, 10), (10, 10), (20, 3))
    assert recover(REAL, str(folder), now=0) == Recovered(end=23, durable=23)
    assert layout_of(folder) == [(0, 10), (10, 10), (20, 3)]
    assert set(os.listdir(folder)) == {"out", "seals.jnl"}


def test_a_session_without_output_has_nothing_to_recover(folder: Path) -> None:
    assert recover(REAL, str(folder), now=0) == Recovered(end=0, durable=0)
    assert os.listdir(folder / "out") == []


def test_segments_behind_a_hole_are_put_aside_with_their_indexes(folder: Path) -> None:
    put(folder, (0, 10), (10, 4), (20, 10), (30, 5))
    index = (folder / "out" / segments.name(20)).with_suffix(".idx")
    index.write_bytes(b"times")
    found = recover(REAL, str(folder), now=0)
    assert found == Recovered(end=14, durable=14, quarantined=(segments.name(20), segments.name(30)))
    assert layout_of(folder) == [(0, 10), (10, 4)]
    aside = folder / "out" / "quarantine"
    assert set(os.listdir(aside)) == {segments.name(20), segments.name(30), index.name}
    assert (aside / segments.name(20)).read_bytes() == b"x" * 10


def test_recovering_twice_changes_nothing(folder: Path) -> None:
    put(folder, (10, 4), (20, 10))
    first = recover(REAL, str(folder), now=0)
    layout, told = layout_of(folder), run_journal(folder)
    assert recover(REAL, str(folder), now=1) == Recovered(first.end, first.durable)
    assert (layout_of(folder), run_journal(folder)) == (layout, told)


def test_all_that_stays_is_synced_before_anything_is_called_durable(folder: Path) -> None:
    put(folder, (0, 10), (10, 4), (20, 10))
    append(f"{folder}/run.jnl", {"type": "started"})
    disk = WatchedDisk()
    recover(disk, str(folder), now=0)
    wanted = ["quarantine", segments.name(0), segments.name(10), "out", "run.jnl", "session", "seals.jnl", "session"]
    assert disk.synced == wanted


def test_a_front_that_is_missing_was_dropped_and_is_on_record_afterwards(folder: Path) -> None:
    put(folder, (100, 10), (110, 2))
    append(f"{folder}/run.jnl", {"type": "dropped", "first": 0, "end": 60})
    assert recover(REAL, str(folder), now=7).end == 112
    assert run_journal(folder)[1:] == [{"type": "dropped", "time": 7, "first": 60, "end": 100}]


def test_a_drop_that_is_on_record_is_not_recorded_again(folder: Path) -> None:
    put(folder, (100, 10))
    append(f"{folder}/run.jnl", {"type": "dropped", "first": 0, "end": 100})
    recover(REAL, str(folder), now=0)
    assert len(run_journal(folder)) == 1


def test_a_torn_record_costs_nothing_but_itself(folder: Path) -> None:
    put(folder, (100, 10))
    append(f"{folder}/run.jnl", {"type": "started"})
    with (folder / "run.jnl").open("ab") as file:
        file.write(b"00000000 {torn")
    recover(REAL, str(folder), now=0)
    assert [record["type"] for record in run_journal(folder)] == ["started", "dropped"]


def test_torn_lines_are_cut_off_the_journals(folder: Path) -> None:
    put(folder, (0, 10))
    for name in ("run.jnl", "commands.jnl", "harness.jnl"):
        append(f"{folder}/{name}", {"type": "started"})
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole + b"00000000 {torn")
        recover(REAL, str(folder), now=0)
        assert (folder / name).read_bytes() == whole


def test_a_hole_in_front_of_what_was_sealed_stays_a_gap(folder: Path) -> None:
    put(folder, (0, 10), (10, 10), (20, 10), (30, 5))
    Syncer(REAL, str(folder)).sync()
    (folder / "out" / segments.name(10)).unlink()
    put(folder, (40, 5))  # and a real hole, behind the seals
    found = recover(REAL, str(folder), now=0)
    assert found == Recovered(end=35, durable=35, quarantined=(segments.name(40),))
    assert layout_of(folder) == [(0, 10), (20, 10), (30, 5)]


def test_offsets_that_were_sealed_are_never_given_out_again(folder: Path) -> None:
    put(folder, (0, 10), (10, 10))
    Syncer(REAL, str(folder)).sync(closed=True)
    for start in (0, 10):
        (folder / "out" / segments.name(start)).unlink()
    assert recover(REAL, str(folder), now=0) == Recovered(end=20, durable=20)
    assert layout_of(folder) == [(20, 0)]
    assert run_journal(folder)[0]["end"] == 20


def test_a_new_segment_begins_behind_a_suspect_one(folder: Path) -> None:
    put(folder, (0, 10), (10, 4))
    Syncer(WatchedDisk(failing_on(segments.name(10))), str(folder)).sync()
    assert recover(REAL, str(folder), now=0) == Recovered(end=14, durable=10)
    assert layout_of(folder) == [(0, 10), (10, 4), (14, 0)]


def test_a_disk_that_fails_during_recovery_leaves_less_durable_and_the_segment_suspect(folder: Path) -> None:
    put(folder, (0, 10), (10, 4))
    assert recover(WatchedDisk(failing_on(segments.name(10))), str(folder), now=0) == Recovered(end=14, durable=10)
    assert Syncer(REAL, str(folder)).suspects == {10: os.strerror(errno.EIO)}

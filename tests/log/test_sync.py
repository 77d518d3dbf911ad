"""Making a log safe from power loss, on real files: what is synced, in which order, and what a failing disk changes."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from orchctl.log import journal, segments
from orchctl.log.disk import RealDisk
from orchctl.log.journal import append
from orchctl.log.sync import Syncer
from tests.log.watched_disk import WatchedDisk, failing_on


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "session"
    (made / "out").mkdir(parents=True)
    return made


@pytest.fixture
def disk() -> WatchedDisk:
    return WatchedDisk()


def put(folder: Path, start: int, data: bytes) -> Path:
    path = folder / "out" / segments.name(start)
    path.write_bytes(data)
    return path


def seals(folder: Path) -> list[dict[str, Any]]:
    path = folder / "seals.jnl"
    return journal.decode(path.read_bytes()).records if path.exists() else []


def test_segments_are_synced_oldest_first_then_names_then_journals_then_seals(folder: Path, disk: WatchedDisk) -> None:
    for start, data in ((10, b"b" * 5), (0, b"a" * 10), (15, b"c")):
        put(folder, start, data)
    append(f"{folder}/run.jnl", {"type": "started"})
    append(f"{folder}/commands.jnl", {"type": "begin"})
    syncer = Syncer(disk, str(folder))
    assert syncer.durable == 0
    assert syncer.sync() == []
    names = [segments.name(start) for start in (0, 10, 15)]
    assert disk.synced == [*names, "out", "run.jnl", "commands.jnl", "session", "seals.jnl", "session"]
    assert syncer.durable == 16


def test_what_is_final_is_sealed_with_its_hash_and_the_last_one_once_the_log_is_closed(folder: Path) -> None:
    parts = {0: os.urandom(3 << 20), 3 << 20: b"b" * 7, (3 << 20) + 7: b"c"}
    for start, data in parts.items():
        put(folder, start, data)
    wanted = [
        {
            "type": "sealed",
            "start": start,
            "size": len(data),
            "blake2b": hashlib.blake2b(data, digest_size=16).hexdigest(),
        }
        for start, data in parts.items()
    ]
    syncer = Syncer(RealDisk(), str(folder))
    syncer.sync()
    assert seals(folder) == wanted[:2]
    syncer.sync(closed=True)
    assert seals(folder) == wanted


def test_a_log_in_which_nothing_changed_costs_no_sync_and_no_read(folder: Path, disk: WatchedDisk) -> None:
    put(folder, 0, b"a" * 10)
    put(folder, 10, b"b")
    append(f"{folder}/run.jnl", {"type": "started"})
    syncer = Syncer(disk, str(folder))
    syncer.sync()
    disk.synced.clear()
    disk.read_from.clear()
    syncer.sync()
    assert (disk.synced, disk.read_from) == ([], [])
    assert syncer.durable == 11


def test_a_closed_log_costs_nothing_more_and_is_not_hashed_again_by_the_next_supervisor(
    folder: Path, disk: WatchedDisk
) -> None:
    put(folder, 0, b"a" * 10)
    put(folder, 10, b"b")
    syncer = Syncer(disk, str(folder))
    syncer.sync(closed=True)
    disk.synced.clear()
    syncer.sync(closed=True)
    assert disk.synced == []
    disk.read_from.clear()
    after = Syncer(disk, str(folder))
    assert (after.durable, after.sealed) == (11, {0: 10, 10: 1})
    after.sync(closed=True)
    assert set(disk.read_from) == {"seals.jnl"}
    assert not any(name.endswith(".seg") for name in disk.synced)


def test_only_what_grew_is_synced(folder: Path, disk: WatchedDisk) -> None:
    put(folder, 0, b"a")
    append(f"{folder}/run.jnl", {"type": "started"})
    syncer = Syncer(disk, str(folder))
    syncer.sync()
    disk.synced.clear()
    put(folder, 0, b"ab")
    syncer.sync()
    assert disk.synced == [segments.name(0)]
    append(f"{folder}/run.jnl", {"type": "resized"})
    syncer.sync()
    assert disk.synced[1:] == ["run.jnl"]
    put(folder, 2, b"")
    syncer.sync()
    assert disk.synced[2:] == [segments.name(2), "out", "seals.jnl", "session"]


def test_what_comes_while_a_segment_is_synced_is_not_durable_yet(folder: Path, disk: WatchedDisk) -> None:
    path = put(folder, 0, b"a" * 4)
    disk.on_sync = lambda name: path.write_bytes(b"a" * 9) if name.endswith(".seg") else None
    syncer = Syncer(disk, str(folder))
    syncer.sync()
    assert syncer.durable == 4
    disk.on_sync = lambda name: None
    syncer.sync()
    assert syncer.durable == 9


def test_a_failed_sync_makes_a_segment_suspect_and_is_never_tried_again(folder: Path, disk: WatchedDisk) -> None:
    for start, data in ((0, b"a" * 10), (10, b"b" * 10), (20, b"c")):
        put(folder, start, data)
    disk.on_sync = failing_on(segments.name(10))
    syncer = Syncer(disk, str(folder))
    assert syncer.sync() == [(10, "Input/output error")]
    assert syncer.suspects == {10: "Input/output error"}
    assert {(record["type"], record["start"]) for record in seals(folder)} == {("sealed", 0), ("suspect", 10)}
    assert segments.name(20) in disk.synced
    assert syncer.durable == 10

    disk.on_sync = lambda name: None
    disk.synced.clear()
    put(folder, 10, b"b" * 11)
    assert syncer.sync(closed=True) == []
    after = Syncer(disk, str(folder))
    assert after.suspects == {10: "Input/output error"}
    assert after.sync(closed=True) == []
    assert segments.name(10) not in disk.synced
    assert (syncer.durable, after.durable) == (10, 10)


def test_the_log_is_durable_beyond_a_suspect_once_retention_has_dropped_it(folder: Path, disk: WatchedDisk) -> None:
    suspect = put(folder, 0, b"a" * 10)
    put(folder, 10, b"b")
    disk.on_sync = failing_on(suspect.name)
    syncer = Syncer(disk, str(folder))
    syncer.sync()
    assert syncer.durable == 0
    suspect.unlink()
    syncer.sync()
    assert syncer.durable == 11


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_segment_that_cannot_be_written_for_want_of_space_is_suspect_too(folder: Path, number: int) -> None:
    put(folder, 0, b"a")
    disk = WatchedDisk(failing_on(segments.name(0), number=number))
    assert Syncer(disk, str(folder)).sync() == [(0, os.strerror(number))]


def test_segments_may_vanish_at_any_moment(folder: Path, disk: WatchedDisk) -> None:
    paths = [put(folder, start, b"a" * 10) for start in (0, 10, 20)]
    put(folder, 30, b"b")

    def retain(name: str) -> None:
        for path in paths[:2]:  # the one that is being synced, and the next
            path.unlink(missing_ok=True)

    disk.on_sync = retain
    syncer = Syncer(disk, str(folder))
    assert syncer.sync() == []
    assert syncer.durable == 31
    assert [record["start"] for record in seals(folder)] == [0, 20]
    disk.synced.clear()
    syncer.sync()
    assert disk.synced == ["out"]
    assert syncer.sealed == {20: 10}


def test_seals_that_find_no_room_are_written_with_the_next_sync(folder: Path) -> None:
    class FullDisk(RealDisk):
        full = True

        def append(self, fd: int, data: bytes) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().append(fd, data)

    disk = FullDisk()
    put(folder, 0, b"a" * 10)
    put(folder, 10, b"b")
    syncer = Syncer(disk, str(folder))
    assert syncer.sync() == []
    assert (syncer.durable, seals(folder)) == (0, [])
    disk.full = False
    syncer.sync()
    assert syncer.durable == 11
    assert [record["start"] for record in seals(folder)] == [0]


def test_nothing_is_called_durable_while_the_directory_cannot_be_synced(folder: Path, disk: WatchedDisk) -> None:
    put(folder, 0, b"a" * 10)
    put(folder, 10, b"b")
    disk.on_sync = failing_on(segments.name(0), "out")
    syncer = Syncer(disk, str(folder))
    with pytest.raises(OSError, match="Input/output"):
        syncer.sync()
    assert syncer.durable == 0
    disk.on_sync = lambda name: None
    assert syncer.sync() == [(0, "Input/output error")]


def test_a_log_that_is_written_on_after_its_end_is_sealed_anew(folder: Path) -> None:
    put(folder, 0, b"a" * 10)
    syncer = Syncer(RealDisk(), str(folder))
    syncer.sync(closed=True)
    put(folder, 0, b"a" * 12)
    put(folder, 12, b"b")
    syncer = Syncer(RealDisk(), str(folder))
    assert syncer.durable == 10
    syncer.sync()
    assert syncer.durable == 13
    assert [(record["start"], record["size"]) for record in seals(folder)] == [(0, 10), (0, 12)]

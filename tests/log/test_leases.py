"""`lease.jnl`: what was answered is there, whatever the power does."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from orchctl.log import journal
from orchctl.log.session_files import LIMIT_BYTES, LeaseStore
from orchctl.session import layout
from tests.log.simulated_disk import NEVER, Crash, Habits, SimulatedDisk


def test_what_was_put_is_read_in_order(tmp_path: Path) -> None:
    store = LeaseStore(str(tmp_path))
    assert store.read() == []
    for epoch in range(3):
        store.put({"type": "lease", "epoch": epoch})
    assert [record["epoch"] for record in LeaseStore(str(tmp_path)).read()] == [0, 1, 2]


def test_a_torn_end_costs_no_later_record(tmp_path: Path) -> None:
    (tmp_path / layout.LEASE).write_bytes(journal.encode({"type": "lease", "epoch": 1}) + b"0123 {")
    LeaseStore(str(tmp_path)).put({"type": "lease", "epoch": 2})
    assert [record["epoch"] for record in LeaseStore(str(tmp_path)).read()] == [1, 2]


def test_a_long_journal_begins_again_with_its_last_record(tmp_path: Path) -> None:
    store = LeaseStore(str(tmp_path))
    (tmp_path / f"{layout.LEASE}.new").write_bytes(b"left by a crash")
    for epoch in range(3):
        store.put({"type": "lease", "epoch": epoch, "filler": "x" * (LIMIT_BYTES // 2)})
    assert [record["epoch"] for record in store.read()] == [2]
    assert os.listdir(tmp_path) == [layout.LEASE]


@pytest.mark.parametrize("seed", range(60))
def test_what_was_answered_outlives_a_power_cut_at_any_step(seed: int) -> None:
    rnd = Random(seed)
    disk = SimulatedDisk(rnd, Habits(ordered=bool(seed % 2)), "one")
    answered, epoch = 0, 0
    for _ in range(8):
        disk.fuse = rnd.randrange(1, 40)
        store = LeaseStore("one", disk)
        try:
            while True:
                epoch += 1
                store.put({"type": "lease", "epoch": epoch, "filler": "x" * (LIMIT_BYTES // 3)})
                answered = epoch
        except Crash:
            pass
        disk.lose_power()
        disk.fuse = NEVER
        assert max((record["epoch"] for record in LeaseStore("one", disk).read()), default=0) >= answered

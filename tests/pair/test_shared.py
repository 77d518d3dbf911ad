"""What the journals of a pair say about its program's end: only what is said of this very run and this very process."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from orchctl.log import journal
from orchctl.pair.shared import Pair

CHILD, TICKS = 4711, 99
STARTED, EXIT, LOST = {"type": "started"}, {"type": "exit", "status": 0}, {"type": "lost"}


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    folder = tmp_path / "sessions" / "one"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as nobody:
        return Pair(str(folder), nobody, -1, {}, (-1, -1), -1, 0, None, CHILD, 1, ticks=TICKS)


def put(path: Path, *records: dict[str, object]) -> None:
    path.write_bytes(b"".join(map(journal.encode, records)))


@pytest.mark.parametrize(
    ("records", "recorded"),
    [
        ((), False),
        ((STARTED,), False),
        ((STARTED, EXIT), True),
        ((STARTED, LOST), True),
        ((STARTED, EXIT, STARTED), False),
        ((STARTED, EXIT, STARTED, LOST), True),
    ],
)
def test_the_end_of_an_earlier_run_is_not_that_of_this_one(
    pair: Pair, records: tuple[dict[str, object], ...], recorded: bool
) -> None:
    put(Path(pair.folder) / "run.jnl", *records)
    assert pair.end_is_recorded() is recorded


def test_an_orphan_is_known_by_its_number_and_its_start(pair: Pair) -> None:
    def orphan(pid: int, ticks: int, status: int) -> dict[str, object]:
        return {"type": "orphan", "pid": pid, "ticks": ticks, "status": status}

    path = Path(pair.folder).parent.parent / "orphans.jnl"
    assert pair.orphans_status() is None
    put(path, orphan(CHILD, TICKS - 1, 1), orphan(CHILD + 1, TICKS, 2))
    assert pair.orphans_status() is None
    put(path, orphan(CHILD, TICKS, -9), orphan(CHILD, TICKS + 1, 3))
    assert pair.orphans_status() == -9


def test_a_record_after_a_torn_one_is_on_a_line_of_its_own(pair: Pair) -> None:
    path = Path(pair.folder) / "run.jnl"
    path.write_bytes(journal.encode(STARTED) + b"00000000 {torn")  # by a mover that a full disk stopped, and that died
    pair.journal = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        assert pair.record("exit", status=3)
        assert pair.record("empty")
    finally:
        os.close(pair.journal)
    found = journal.decode(path.read_bytes())
    assert [record["type"] for record in found.records] == ["started", "exit", "empty"]
    assert found.bad_lines == 1

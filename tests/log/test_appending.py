"""Appending to a real file: a crash at any byte costs the torn record and no other."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import journal
from orchctl.log.disk import RealDisk
from orchctl.log.journal import append

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
Record = dict[str, Any]

records = st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3)


def read(path: str) -> list[Record]:
    return journal.decode(Path(path).read_bytes()).records


@PROPERTY
@given(st.lists(records, min_size=1, max_size=4), st.integers(0, 1000), records)
def test_a_crash_at_any_byte_costs_no_record_but_the_torn_one(
    written: list[Record], lost: int, following: Record
) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        path, ends = f"{folder}/jnl", [0]
        for record in written:
            append(path, record)
            ends.append(os.stat(path).st_size)
        size = ends[-1] - lost % (ends[-1] - ends[-2] + 1)
        os.truncate(path, size)
        assert read(path) == (written if size == ends[-1] else written[:-1])
        append(path, following)
        # only the newline may have been missing: then the torn record is whole again
        kept = written if size >= ends[-1] - 1 else written[:-1]
        assert read(path) == [*kept, following]


@PROPERTY
@given(st.lists(records, min_size=1, max_size=3), st.binary(min_size=1, max_size=30))
def test_records_after_what_is_no_record_are_read(written: list[Record], garbage: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        path = f"{folder}/jnl"
        Path(path).write_bytes(garbage)
        for record in written:
            append(path, record)
        assert read(path) == written


class _FullDisk(RealDisk):
    """It takes some bytes more, and no others."""

    def __init__(self, room: int) -> None:
        self._room = room

    def append(self, fd: int, data: bytes) -> int:
        taken = data[: self._room]
        self._room -= len(taken)
        if not taken:
            raise OSError(errno.ENOSPC, "no space left on device")
        return super().append(fd, taken)


@PROPERTY
@given(st.lists(records, min_size=1, max_size=3), st.integers(0, 200), records)
def test_who_writes_alone_leaves_nothing_of_a_record_that_a_full_disk_does_not_take(
    written: list[Record], room: int, following: Record
) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        path, disk, kept = f"{folder}/jnl", _FullDisk(room), list[Record]()
        for record in written:
            with contextlib.suppress(OSError):
                append(path, record, disk, alone=True)
                kept.append(record)
            assert Path(path).read_bytes() == b"".join(map(journal.encode, kept))
        append(path, following, alone=True)
        assert Path(path).read_bytes() == b"".join(map(journal.encode, [*kept, following]))


@PROPERTY
@given(st.lists(records, max_size=3), st.binary(min_size=1, max_size=30), st.booleans())
def test_a_torn_line_is_cut_off_once_no_other_writes(written: list[Record], torn: bytes, mended: bool) -> None:
    whole = b"".join(map(journal.encode, written))
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        path = f"{folder}/jnl"
        Path(path).write_bytes(whole + torn.replace(b"\n", b"") + b"x")
        if mended:
            journal.mend(path)
            journal.mend(f"{folder}/none")
            assert Path(path).read_bytes() == whole
        append(path, {"type": "end"}, alone=True)
        assert Path(path).read_bytes() == whole + journal.encode({"type": "end"})


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path: Path) -> None:
    path, whole = tmp_path / "jnl", journal.encode({"type": "begin"})
    for before in (b"", whole):
        path.write_bytes(before + b"x" * (journal.BLOCK_BYTES + 5))
        journal.mend(str(path))
        assert path.read_bytes() == before


def test_a_new_journal_is_nobody_elses_to_read(tmp_path: Path) -> None:
    path = tmp_path / "jnl"
    umask = os.umask(0)
    try:
        append(str(path), {"type": "begin"})
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600

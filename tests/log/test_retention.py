"""Emptying the log of a session that is over: what goes is on record first, and no address is ever given out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchctl.log import journal, segments
from orchctl.log.disk import RealDisk
from orchctl.log.reader import OutputLog
from orchctl.log.retention import drop_output
from orchctl.session import layout
from orchctl.session.model import Output


class Stuck(RealDisk):
    """Removes nothing."""

    def unlink(self, path: str) -> None:
        raise OSError("stuck")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session's, whose first ten bytes went before."""
    (tmp_path / layout.OUTPUT).mkdir()
    for start, data in ((10, b"x" * 5), (15, b"y" * 7)):
        (tmp_path / layout.OUTPUT / segments.name(start)).write_bytes(data)
    return tmp_path


def dropped(folder: Path) -> list[tuple[int, int]]:
    records = journal.decode((folder / layout.JOURNAL).read_bytes()).records
    return [(record["first"], record["end"]) for record in records if record["type"] == "dropped"]


def test_an_emptied_log_ends_where_it_ended(folder: Path) -> None:
    assert drop_output(str(folder), now=1.0) == 12
    assert OutputLog(str(folder)).extent() == Output(first_offset=22, next_offset=22, kept_bytes=0, dropped_bytes=22)
    assert dropped(folder) == [(10, 22)]
    assert drop_output(str(folder), now=2.0) == 0
    assert dropped(folder) == [(10, 22)]


def test_what_goes_is_on_record_before_it_goes(folder: Path) -> None:
    with pytest.raises(OSError, match="stuck"):
        drop_output(str(folder), now=1.0, disk=Stuck())
    assert dropped(folder) == [(10, 22)]

"""An index beside each segment: a record now and then, and never an error."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import time_index
from orchctl.log.time_index import EVERY_S, RECORD_BYTES, Clockwork, Moment

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
UNIX_S = 1.75e9


class Clocks:
    """Seconds since boot, as the test wants them, and the Unix time that goes with them."""

    def __init__(self) -> None:
        self.boot_s = 1000.0

    @property
    def unix_s(self) -> float:
        return UNIX_S + self.boot_s


@contextlib.contextmanager
def set_clocks() -> Iterator[Clocks]:
    made = Clocks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "clock_gettime", lambda _: made.boot_s)
        patch.setattr(time, "time", lambda: made.unix_s)
        yield made


@pytest.fixture
def clocks() -> Iterator[Clocks]:
    with set_clocks() as made:
        yield made


def records(folder: Path | str, start: int) -> list[Moment]:
    path = Path(folder) / time_index.name(start)
    found = time_index.decode(path.read_bytes() if path.exists() else b"")
    assert found.bad == 0
    return found.moments


def test_a_byte_is_noted_with_both_times(clocks: Clocks, tmp_path: Path) -> None:
    Clockwork(str(tmp_path)).note(4100, 4096)
    assert records(tmp_path, 4096) == [Moment(4100, clocks.boot_s, clocks.unix_s)]
    assert (tmp_path / time_index.name(4096)).stat().st_mode & 0o777 == 0o600


@PROPERTY
@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=20))
def test_each_segment_has_its_first_note_and_then_none_too_soon(notes: list[tuple[int, bool]]) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder, set_clocks() as clocks:
        clockwork = Clockwork(folder)
        expected: dict[int, list[Moment]] = {0: []}
        start = 0
        for offset, (steps, rolled) in enumerate(notes, 1):
            clocks.boot_s += steps * EVERY_S / 4
            if rolled:
                start = offset
                expected[start] = []
            if not expected[start] or clocks.boot_s - expected[start][-1].boot_s >= EVERY_S:
                expected[start].append(Moment(offset, clocks.boot_s, clocks.unix_s))
            clockwork.note(offset, start)
        assert {start: records(folder, start) for start in expected} == expected
        _let_go(folder)


def test_a_stretch_that_began_in_the_segment_before_is_noted_from_the_segments_start(
    clocks: Clocks, tmp_path: Path
) -> None:
    Clockwork(str(tmp_path)).note(4000, 4096)
    assert [moment.offset for moment in records(tmp_path, 4096)] == [4096]


def test_the_next_clockwork_goes_on_with_the_same_index(clocks: Clocks, tmp_path: Path) -> None:
    for offset in (5, 7):
        Clockwork(str(tmp_path)).note(offset, 0)
    assert [moment.offset for moment in records(tmp_path, 0)] == [5, 7]


def test_one_index_is_open_at_a_time(clocks: Clocks, tmp_path: Path) -> None:
    clockwork = Clockwork(str(tmp_path))
    for start in range(0, 100, 10):
        clockwork.note(start, start)
    assert len(_open_in(str(tmp_path))) == 1


def test_a_folder_that_cannot_be_written_to_is_no_error(clocks: Clocks, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    clockwork = Clockwork(str(folder))
    clockwork.note(0, 0)
    assert not folder.exists()
    folder.mkdir()
    clockwork.note(5, 0)  # and it is tried again
    assert [moment.offset for moment in records(folder, 0)] == [5]


def test_an_index_that_cannot_be_made_leaves_the_one_before_it_alone(clocks: Clocks, tmp_path: Path) -> None:
    clockwork = Clockwork(str(tmp_path))
    clockwork.note(0, 0)
    (tmp_path / time_index.name(100)).mkdir()
    clocks.boot_s += 2 * EVERY_S
    clockwork.note(100, 100)
    assert (tmp_path / time_index.name(0)).stat().st_size == RECORD_BYTES
    clockwork.note(200, 200)
    assert [moment.offset for moment in records(tmp_path, 200)] == [200]


def test_a_full_disk_is_no_error(clocks: Clocks, tmp_path: Path) -> None:
    (tmp_path / time_index.name(0)).symlink_to("/dev/full")
    clockwork = Clockwork(str(tmp_path))
    for offset in range(3):
        clocks.boot_s += 2 * EVERY_S
        clockwork.note(offset, 0)
    clockwork.note(10, 10)
    assert [moment.offset for moment in records(tmp_path, 10)] == [10]


def _open_in(folder: str) -> list[int]:
    found = []
    for fd in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{fd}"
        if os.path.islink(path) and os.readlink(path).startswith(f"{folder}/"):
            found.append(int(fd))
    return found


def _let_go(folder: str) -> None:
    """A clockwork lives as long as its process; here there are many."""
    for fd in _open_in(folder):
        os.close(fd)


@pytest.mark.usefixtures("clocks")
def test_after_a_torn_record_the_next_one_is_in_step(tmp_path: Path) -> None:
    whole = time_index.encode(Moment(0, 1.0, 2.0))
    (tmp_path / time_index.name(0)).write_bytes(whole + whole[:9])
    Clockwork(str(tmp_path)).note(500, 0)
    assert [moment.offset for moment in records(tmp_path, 0)] == [0, 500]
    assert (tmp_path / time_index.name(0)).stat().st_size == 2 * RECORD_BYTES

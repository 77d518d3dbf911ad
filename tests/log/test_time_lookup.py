"""When output came, from real files: by the indexes, and without them by the times of the segments."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import segments, time_index
from orchctl.log.time_index import Moment, Timeline
from orchctl.session import layout

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
SIZE = 10  # of every segment that hypothesis makes

notes = st.sets(st.integers(1, SIZE - 1), max_size=4).map(
    lambda places: [0, *sorted(places)]
)  # the first byte always is
logs = st.lists(notes, min_size=1, max_size=5)
steps = st.lists(st.integers(0, 3), min_size=25, max_size=25)  # seconds between two notes


def put(folder: str | Path, start: int, size: int, *, written_at: float = 0.0) -> None:
    path = Path(folder, layout.segment(start))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (written_at, written_at))


def note(folder: str | Path, start: int, moments: list[Moment], *, damage: bytes = b"") -> None:
    path = Path(folder, layout.OUTPUT, time_index.name(start))
    path.write_bytes(damage + b"".join(map(time_index.encode, moments)))


def noted(folder: str, places: list[list[int]], waits: list[int]) -> list[Moment]:
    """Segments with indexes; all that was noted, in order."""
    unix_s, every = 100.0, list[Moment]()
    left = iter(waits)
    for number, inside in enumerate(places):
        start, moments = number * SIZE, list[Moment]()
        for place in inside:
            unix_s += next(left)
            moments.append(Moment(start + place, unix_s - 50, unix_s))
        put(folder, start, SIZE, written_at=5000.0)
        note(folder, start, moments)
        every += moments
    return every


@PROPERTY
@given(logs, steps, st.integers(95, 180))
def test_the_search_over_many_segments_is_the_search_in_all_notes(
    places: list[list[int]], waits: list[int], unix_s: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        every, end = noted(folder, places, waits), len(places) * SIZE
        expected = time_index.offset_at(every, unix_s, end)
        assert Timeline(folder).offset_at(unix_s, end) == expected


@PROPERTY
@given(logs, steps, st.integers(0, 60))
def test_a_byte_came_when_the_last_note_up_to_it_says(places: list[list[int]], waits: list[int], offset: int) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        every = noted(folder, places, waits)
        assert Timeline(folder).time_of(offset) == time_index.time_of(every, offset)


@PROPERTY
@given(logs, steps, st.integers(0, 60), st.integers(1, 60))
def test_between_two_bytes_are_the_notes_there_and_the_last_before(
    places: list[list[int]], waits: list[int], first: int, length: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        every = noted(folder, places, waits)
        before = [moment for moment in every if moment.offset <= first][-1:]
        inside = [moment for moment in every if first < moment.offset < first + length]
        assert Timeline(folder).between(first, first + length) == before + inside


def test_of_a_log_that_is_not_there_nothing_is_known(tmp_path: Path) -> None:
    found = Timeline(str(tmp_path))
    assert (found.offset_at(100, 0), found.time_of(0), found.between(0, 10)) == (0, None, [])


def test_before_the_first_byte_that_is_kept_nothing_is_known(tmp_path: Path) -> None:
    put(tmp_path, 100, 10)
    note(tmp_path, 100, [Moment(100, 1.0, 50.0)])
    found = Timeline(str(tmp_path))
    assert found.time_of(99) is None
    assert found.offset_at(10, 110) == 100
    assert found.between(0, 100) == []
    assert [moment.offset for moment in found.between(0, 101)] == [100]


def test_without_indexes_any_byte_may_have_come_when_its_segment_was_last_written(tmp_path: Path) -> None:
    for start, written_at in ((0, 10.0), (100, 20.0), (200, 30.0)):
        put(tmp_path, start, 100, written_at=written_at)
    found = Timeline(str(tmp_path))
    assert [found.time_of(offset) for offset in (0, 100, 199, 200, 299)] == [10.0, 20.0, 20.0, 30.0, 30.0]
    assert found.offset_at(5, 300) == found.offset_at(10, 300) == 0
    assert [found.offset_at(unix_s, 300) for unix_s in (15, 25, 31)] == [100, 200, 300]
    assert found.between(100, 200) == [Moment(100, 0.0, 20.0)]


def test_a_segment_that_has_only_begun_came_after_the_one_before_it(tmp_path: Path) -> None:
    put(tmp_path, 0, 100, written_at=10.0)
    put(tmp_path, 100, 0, written_at=11.0)
    found = Timeline(str(tmp_path))
    assert found.offset_at(10, 100) == 0
    assert found.offset_at(10.5, 100) == found.offset_at(12, 100) == 100


def test_an_index_that_is_damaged_all_over_is_done_without(tmp_path: Path) -> None:
    put(tmp_path, 0, 100, written_at=10.0)
    note(tmp_path, 0, [Moment(0, 1.0, 77.0)], damage=b"x")
    assert Timeline(str(tmp_path)).time_of(50) == 10.0


def test_one_lost_index_leaves_the_others_of_use(tmp_path: Path) -> None:
    for start, written_at in ((0, 10.0), (100, 20.0), (200, 30.0)):
        put(tmp_path, start, 100, written_at=written_at)
    note(tmp_path, 0, [Moment(0, 1.0, 8.0), Moment(50, 2.0, 9.0)])
    note(tmp_path, 200, [Moment(200, 3.0, 21.0), Moment(260, 4.0, 29.0)])
    found = Timeline(str(tmp_path))
    assert [found.time_of(offset) for offset in (0, 60, 100, 199, 200, 299)] == [8.0, 9.0, 20.0, 20.0, 21.0, 29.0]
    assert [found.offset_at(unix_s, 300) for unix_s in (8, 9, 10, 21, 28, 30)] == [0, 50, 100, 200, 260, 300]


def test_a_segment_that_goes_meanwhile_is_no_error(tmp_path: Path) -> None:
    put(tmp_path, 0, 100, written_at=10.0)
    put(tmp_path, 100, 100, written_at=20.0)
    found = Timeline(str(tmp_path))
    (tmp_path / layout.OUTPUT / segments.name(0)).unlink()
    assert found.time_of(50) is None
    assert [moment.offset for moment in found.between(0, 200)] == [100]

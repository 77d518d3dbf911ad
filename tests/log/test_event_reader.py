"""Reading events: from any place, in order, without reading through; and no damage goes unseen or stops anything."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import chain, journal
from orchctl.log.chain import BAD_LINE, BROKEN_CHAIN, MISSING_EVENTS, TORN_TAIL
from orchctl.log.disk import REAL, RealDisk
from orchctl.log.event_journal import EventStore
from orchctl.log.event_reader import EventReader, Finding
from orchctl.log.journal import Record

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

# some events are far larger than what is read to find a place
sizes = st.lists(st.sampled_from([0, 30, 500, 3000, 40_000]), min_size=1, max_size=40)
segment_sizes = st.sampled_from([1, 2000, 30_000, 1 << 24])


class Unlucky(RealDisk):
    """One file cannot be opened."""

    def __init__(self, path: str, error: OSError) -> None:
        self._path = path
        self._error = error

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        if path == self._path:
            raise self._error
        return super().open(path, write=write, create=create, append=append)


def write(path: str, texts: list[int], segment_bytes: int) -> list[Record]:
    """A journal with an event of each size, a second apart; all that is in it."""
    store = EventStore(REAL, path, segment_bytes=segment_bytes)
    for number, size in enumerate(texts):
        store.append([{"text": "x" * size}], 100.0 + number)
    store.close()
    lines = b"".join(file.read_bytes() for file in files(path))
    return journal.decode(lines).records


def files(path: str) -> list[Path]:
    return sorted(Path(path).glob("*.jnl"))


def kinds(path: str) -> list[str]:
    return [finding.kind for finding in EventReader(REAL, path).check()]


def is_part(some: list[Record], whole: list[Record]) -> bool:
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in some)


@contextlib.contextmanager
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="oc-") as made:
        yield made


@pytest.fixture
def journal_of_five(tmp_path: Path) -> str:
    """Five segments with a checkpoint and two events each."""
    store = EventStore(REAL, str(tmp_path), segment_bytes=1)
    for _ in range(5):
        store.append([{"type": "one"}, {"type": "two"}], 100)
    store.close()
    return str(tmp_path)


@PROPERTY
@given(sizes, segment_sizes, st.lists(st.tuples(st.integers(0, 90), st.integers(1, 50)), max_size=8))
def test_any_part_can_be_read_in_any_order(texts: list[int], size: int, asked: list[tuple[int, int]]) -> None:
    with folder() as path:
        written = write(path, texts, size)
        reader = EventReader(REAL, path)
        for seq, limit in asked:
            first = max(0, seq - 1)
            assert reader.read(seq, limit) == written[first : first + limit]


@PROPERTY
@given(sizes, segment_sizes, st.lists(st.floats(90, 150) | st.integers(90, 150), max_size=8))
def test_a_time_is_found_to_the_event(texts: list[int], size: int, times: list[float]) -> None:
    with folder() as path:
        written = write(path, texts, size)
        reader = EventReader(REAL, path)
        for time in times:
            assert reader.seq_at(time) == 1 + bisect_left(written, time, key=lambda event: event["time"])


@PROPERTY
@given(st.lists(st.integers(0, 3) | st.just(-1), max_size=30), st.integers(1, 3), segment_sizes, st.binary(max_size=9))
def test_who_follows_gets_every_event_once(steps: list[int], limit: int, size: int, torn: bytes) -> None:
    with folder() as path:
        store, reader, got, seq = EventStore(REAL, path, segment_bytes=size), EventReader(REAL, path), list[Record](), 1
        for count in [*steps, *[-1] * 200]:
            if count >= 0:
                store.append([{"text": "x" * 90}] * count, 100)
            else:
                got += reader.read(seq, limit)
                seq = got[-1]["seq"] + 1 if got else seq
        store.close()
        assert [event["seq"] for event in got] == list(range(1, store.next_seq))
        for file in files(path)[-1:]:
            with file.open("ab") as tail:
                tail.write(torn.replace(b"\n", b""))
        assert reader.read(seq) == []


@PROPERTY
@given(sizes, st.sampled_from([1, 2000]), st.integers(0), st.integers(1, 255))
def test_a_flipped_bit_anywhere_is_found_and_invents_nothing(
    texts: list[int], size: int, place: int, mask: int
) -> None:
    with folder() as path:
        written = write(path, texts[:8], size)
        file = files(path)[place % len(files(path))]
        data = bytearray(file.read_bytes())
        data[place % len(data)] ^= mask
        file.write_bytes(data)
        assert kinds(path)
        reader = EventReader(REAL, path)
        kept = reader.read(0)
        assert is_part(kept, written)
        assert len(kept) >= len(written) - 2  # a newline that is gone costs both its lines
        assert 1 <= reader.seq_at(103) <= len(written) + 1
        store = EventStore(REAL, path, segment_bytes=size)
        added = store.append([{"type": "next"}], 200)
        store.close()
        assert EventReader(REAL, path).read(0)[-1:] == added


def swap(one: Path, other: Path) -> None:
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)


def forge(file: Path) -> None:
    """Change an event as somebody would who knows of the CRC."""
    lines = file.read_bytes().splitlines()
    event = journal.record_of(lines[1])
    assert event is not None
    file.write_bytes(b"\n".join([lines[0], journal.encode(event | {"who": "nobody"})[:-1], *lines[2:], b""]))


def swap_lines(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[2] + lines[1])


def without_line(file: Path, index: int) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:index] + lines[index + 1 :]))


DISORDER = {MISSING_EVENTS, BROKEN_CHAIN}
DAMAGE: list[tuple[str, Callable[[list[Path]], object], set[str]]] = [
    ("nothing", lambda _: None, set()),
    ("the oldest went", lambda found: found[0].unlink(), set()),
    ("one in the middle went", lambda found: found[2].unlink(), {MISSING_EVENTS}),
    ("the first two were swapped", lambda found: swap(found[0], found[1]), DISORDER),
    ("the last two were swapped", lambda found: swap(found[3], found[4]), DISORDER),
    ("the newest has the name of the oldest", lambda found: found[4].rename(found[0]), DISORDER),
    ("one was copied over the next", lambda found: found[2].write_bytes(found[1].read_bytes()), DISORDER),
    ("the newest is a copy of the oldest", lambda found: found[4].write_bytes(found[0].read_bytes()), DISORDER),
    ("the last two events were swapped", lambda found: swap_lines(found[4]), DISORDER),
    ("an event was changed", lambda found: forge(found[1]), {BROKEN_CHAIN}),
    ("an event went", lambda found: without_line(found[1], 1), {MISSING_EVENTS}),
    ("one is garbage", lambda found: found[1].write_bytes(b"\x00\xff\n \n"), {BAD_LINE, MISSING_EVENTS}),
    ("one is empty", lambda found: os.truncate(found[1], 0), {MISSING_EVENTS}),
    ("the newest is empty", lambda found: os.truncate(found[4], 0), {MISSING_EVENTS}),
    ("the newest is torn", lambda found: os.truncate(found[4], found[4].stat().st_size - 1), {TORN_TAIL}),
    ("one was cut short", lambda found: os.truncate(found[1], 150), {TORN_TAIL, MISSING_EVENTS}),
]


@pytest.mark.parametrize(("damage", "found"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damage_is_found_and_nothing_stops(
    journal_of_five: str, damage: Callable[[list[Path]], object], found: set[str]
) -> None:
    damage(files(journal_of_five))
    assert set(kinds(journal_of_five)) == found
    reader = EventReader(REAL, journal_of_five)
    seqs = [event["seq"] for event in reader.read(0)]
    assert seqs == sorted(set(seqs))
    for seq in range(16):  # from wherever one begins, the same is there
        assert [event["seq"] for event in EventReader(REAL, journal_of_five).read(seq)] == [n for n in seqs if n >= seq]
    reader.seq_at(100)
    before = [(file, file.read_bytes()) for file in files(journal_of_five)]
    store = EventStore(REAL, journal_of_five, segment_bytes=1)
    assert store.next_seq > max(seqs)
    added = store.append([{}], 200)
    store.close()
    assert reader.read(added[0]["seq"]) == added
    assert all(file.read_bytes().startswith(data[: data.rfind(b"\n") + 1]) for file, data in before)


def test_a_finding_says_where(journal_of_five: str) -> None:
    file = files(journal_of_five)[1]
    first = file.read_bytes().index(b"\n") + 1
    with file.open("r+b") as changed:
        changed.seek(first)
        changed.write(b"x")
    assert list(EventReader(REAL, journal_of_five).check()) == [Finding(str(file), first, BAD_LINE, "this is no event")]


def test_a_segment_that_cannot_be_read_is_a_finding(journal_of_five: str) -> None:
    path = str(files(journal_of_five)[2])
    findings = list(EventReader(Unlucky(path, OSError(errno.EIO, "broken")), journal_of_five).check())
    assert findings[0] == Finding(path, 0, BAD_LINE, "this cannot be read: broken")
    assert [finding.kind for finding in findings[1:]] == [MISSING_EVENTS]


def test_segments_that_retention_takes_meanwhile_are_no_damage(journal_of_five: str) -> None:
    reader = EventReader(Unlucky(str(files(journal_of_five)[1]), FileNotFoundError()), journal_of_five)
    assert list(reader.check()) == []
    assert [event["seq"] for event in reader.read(3, 3)] == [3, 7, 8]
    assert reader.size(4) == 0


def test_events_that_are_gone_are_told_by_the_first_that_is_not(journal_of_five: str) -> None:
    store = EventStore(REAL, journal_of_five, keep_s=0, segment_bytes=1)
    store.append([{}], 150)
    assert store.retain(120) == (1, 13)
    reader = EventReader(REAL, journal_of_five)
    assert [event["seq"] for event in reader.read(2, 2)] == [13, 14]
    assert reader.seq_at(0) == 13
    store.close()


def test_a_reader_that_was_ahead_of_a_cut_finds_its_place_again(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path))
    store.append([{"text": "x" * 99}], 100)
    reader = EventReader(REAL, str(tmp_path))
    size = files(str(tmp_path))[0].stat().st_size
    store.append([{"text": "x" * 99}], 100)
    store.close()
    assert len(reader.read(1)) == 3
    os.truncate(files(str(tmp_path))[0], size)
    assert reader.read(4) == []
    store = EventStore(REAL, str(tmp_path))
    added = store.append([{}, {}, {}], 100)
    store.close()
    assert reader.read(4) == added[1:]


def test_an_empty_journal_has_nothing_and_nothing_wrong(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        reader = EventReader(REAL, str(path))
        assert (reader.read(1), reader.seq_at(100), list(reader.check())) == ([], chain.FIRST, [])


def test_a_segment_of_garbage_is_not_read_over_and_over(tmp_path: Path) -> None:
    (tmp_path / chain.name(1)).write_bytes(b"x" * (1 << 20))
    reader = EventReader(REAL, str(tmp_path))
    assert reader.read(50) == []
    assert cost(reader) <= 2 << 20


def test_a_million_events_are_not_read_through(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path))
    batch: list[Record] = [{"type": "t"}] * 10_000
    for number in range(100):
        store.append(batch, 1000.0 + number)
    assert len(files(str(tmp_path))) > 5
    reader = EventReader(REAL, str(tmp_path))
    last = store.next_seq - 1
    assert [event["seq"] for event in reader.read(last - 9)] == list(range(last - 9, last + 1))
    assert cost(reader) < 100_000
    assert reader.read(last + 1) == []
    assert cost(reader) == 1  # it is still there, and nothing new
    added = store.append([{"type": "new"}], 2000.0)
    assert reader.read(last + 1) == added
    assert cost(reader) < 200
    assert reader.read(500_000, 1)[0]["seq"] == 500_000
    assert cost(reader) < 100_000
    middle = reader.seq_at(1050.0)
    assert cost(reader) < 100_000
    around = reader.read(middle - 1, 2)
    assert [event["time"] for event in around] == [1049.0, 1050.0]
    assert reader.seq_at(3000.0) == store.next_seq
    store.close()


def cost(reader: EventReader) -> int:
    """How many bytes were read since the last time."""
    count, reader.bytes_read = reader.bytes_read, 0
    return count

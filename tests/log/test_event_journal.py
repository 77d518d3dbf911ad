"""The event journal on a real disk and on one that fails: what was answered is there, once, and the chain holds."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import chain
from orchctl.log.disk import REAL, RealDisk
from orchctl.log.event_journal import EventStore
from orchctl.log.event_reader import EventReader
from orchctl.log.journal import Record

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

tolds = st.tuples(st.integers(0, 99), st.integers(0, 99)).map(list)
events = st.fixed_dictionaries(
    {"session": st.sampled_from("abc"), "text": st.text(max_size=5)}, optional={"told": tolds}
)
batches = st.lists(st.lists(events, min_size=1, max_size=4), min_size=1, max_size=6)
segment_sizes = st.sampled_from([1, 300, 700, 1 << 20])


class Died(BaseException):
    """The process is gone; nothing that it would do on an error is done."""


class FailingDisk(RealDisk):
    """Takes a few bytes a write; calls that change something fail as `plan` says, one entry a call."""

    def __init__(self, plan: list[bool], error: BaseException) -> None:
        self.plan = list(plan)
        self._error = error

    def _step(self) -> None:
        if self.plan and self.plan.pop(0):
            raise self._error

    def write(self, fd: int, data: bytes, offset: int) -> int:
        """A part of it lands in any case."""
        count = super().write(fd, data[: len(data) // 2 + 1], offset)
        self._step()
        return count

    def truncate(self, fd: int, size: int) -> None:
        self._step()
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        self._step()

    def sync_folder(self, path: str) -> None:
        self._step()

    def rename(self, old: str, new: str) -> None:
        self._step()
        super().rename(old, new)


class Watched(RealDisk):
    """Remembers the names of what was opened, and knows which descriptors are still open."""

    def __init__(self) -> None:
        self.names_opened: set[str] = set()
        self._fds: set[int] = set()

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        fd = super().open(path, write=write, create=create, append=append)
        self.names_opened.add(os.path.basename(path))
        self._fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self._fds.remove(fd)
        super().close(fd)

    def sync(self, fd: int) -> None:
        assert fd in self._fds
        super().sync(fd)
        assert fd in self._fds


@contextlib.contextmanager
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="oc-") as made:
        yield f"{made}/events"


def files(path: str) -> list[Path]:
    return sorted(Path(path).iterdir())


def everything(path: str) -> list[Record]:
    return EventReader(REAL, path).read(0, 1 << 30)


def problems(path: str) -> list[str]:
    return [finding.kind for finding in EventReader(REAL, path).check()]


def without_checkpoints(written: list[Record]) -> list[Record]:
    return [event for event in written if not chain.is_checkpoint(event)]


def told_by(written: list[Record]) -> dict[str, tuple[int, ...]]:
    return {event["session"]: tuple(event["told"]) for event in without_checkpoints(written) if "told" in event}


@PROPERTY
@given(batches, batches, segment_sizes, st.data())
def test_a_cut_at_any_byte_leaves_an_exact_beginning_and_the_chain_goes_on(
    written: list[list[Record]], more: list[list[Record]], size: int, data: st.DataObject
) -> None:
    with folder() as path:
        store = EventStore(REAL, path, segment_bytes=size)
        for batch in written:
            store.append(batch, 100)
        store.close()
        before = everything(path)
        newest = files(path)[-1]
        os.truncate(newest, data.draw(st.integers(0, newest.stat().st_size)))
        store = EventStore(REAL, path, segment_bytes=size)
        kept = everything(path)
        assert kept == before[: len(kept)]
        assert store.next_seq == len(kept) + 1
        assert store.told == told_by(kept)
        assert store.bad_lines == 0
        added = [event for batch in more for event in store.append(batch, 200)]
        store.close()
        assert without_checkpoints(everything(path)) == without_checkpoints(kept) + added
        assert [event["seq"] for event in everything(path)] == list(range(1, store.next_seq))
        assert problems(path) == []


@PROPERTY
@given(batches, st.integers(0, 80), segment_sizes)
def test_a_death_at_any_step_costs_nothing_that_was_answered(
    written: list[list[Record]], steps: int, size: int
) -> None:
    with folder() as path:
        answered: list[Record] = []
        with contextlib.suppress(Died):
            store = EventStore(FailingDisk([False] * steps + [True], Died()), path, segment_bytes=size)
            for batch in written:
                answered += store.append(batch, 100)
        store = EventStore(REAL, path, segment_bytes=size)
        kept = without_checkpoints(everything(path))
        assert kept[: len(answered)] == answered
        assert store.told == told_by(kept)
        added = store.append([{"type": "next"}], 200)
        assert without_checkpoints(everything(path)) == kept + added
        assert problems(path) == []
        assert not [file for file in files(path) if file.suffix == ".new"]
        store.close()


@PROPERTY
@given(batches, st.lists(st.booleans(), max_size=60), segment_sizes)
def test_what_failed_never_happened_whichever_calls_fail(
    written: list[list[Record]], plan: list[bool], size: int
) -> None:
    with folder() as path:
        store = EventStore(FailingDisk(plan, OSError(errno.ENOSPC, "no space")), path, segment_bytes=size)
        answered: list[Record] = []
        for batch in [*written, *([{"type": "again"}] for _ in plan), [{"type": "last"}]]:
            told = dict(store.told)
            try:
                answered += store.append(batch, 100)
            except OSError:
                assert store.told == told
        store.close()
        assert answered[-1]["type"] == "last"
        assert without_checkpoints(everything(path)) == answered
        assert problems(path) == []


@pytest.mark.parametrize("cut_fails", [False, True])
def test_what_was_refused_is_gone_at_once_or_with_the_next_append(tmp_path: Path, cut_fails: bool) -> None:
    disk = FailingDisk([], OSError(errno.ENOSPC, "no space"))
    store = EventStore(disk, str(tmp_path))
    store.append([{"session": "a", "told": [1, 0]}], 100)
    before, head = everything(str(tmp_path)), store.head
    disk.plan = [False, True, cut_fails]
    with pytest.raises(OSError, match="no space"):
        store.append([{"session": "a", "told": [2, 0]}] * 9, 100)
    assert (store.next_seq, store.head, store.told) == (3, head, {"a": (1, 0)})
    added = store.append([{"type": "short"}], 100) if cut_fails else []
    assert everything(str(tmp_path)) == before + added
    assert problems(str(tmp_path)) == []
    store.close()


def test_a_checkpoint_that_failed_leaves_nothing_in_the_next_try(tmp_path: Path) -> None:
    disk = FailingDisk([], OSError(errno.EIO, "broken"))
    store = EventStore(disk, str(tmp_path), segment_bytes=1)
    store.append([{"session": "a" * 99, "told": [1, 0]}], 100)
    disk.plan = [False] * 4 + [True]
    with pytest.raises(OSError, match="broken"):
        store.append([{}], 100)
    store.forget("a" * 99)
    store.append([{}], 100)
    assert problems(str(tmp_path)) == []
    store.close()
    (tmp_path / f"{chain.name(9)}.new").write_bytes(b"a start takes it away")
    EventStore(REAL, str(tmp_path)).close()
    assert [file.name for file in files(str(tmp_path))] == [chain.name(1), chain.name(3)]


def test_a_start_reads_the_newest_segment_and_nothing_older(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=500)
    for number in range(20):
        store.append([{"session": f"s{number % 3}", "told": [number, 0]}], 100)
    store.close()
    for file in files(str(tmp_path))[:-1]:
        file.write_bytes(b"garbage\n")
    disk = Watched()
    again = EventStore(disk, str(tmp_path))
    assert disk.names_opened == {files(str(tmp_path))[-1].name}
    assert (again.next_seq, again.head, again.told) == (store.next_seq, store.head, store.told)
    assert again.told == {"s0": (18, 0), "s1": (19, 0), "s2": (17, 0)}
    assert again.first_seq == 1
    again.close()


def test_a_segment_begins_with_a_checkpoint_of_the_sessions_that_are_not_over(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1)
    store.append([{"session": "a", "told": (5, 0)}, {"session": "b", "told": [7, 1]}], 100)
    store.forget("a")
    store.forget("unknown")
    assert store.append([{"type": "t"}], 101)[0]["seq"] == 5
    assert [file.name for file in files(str(tmp_path))] == [chain.name(1), chain.name(4)]
    checkpoint = everything(str(tmp_path))[3]
    assert (checkpoint["seq"], checkpoint["type"], checkpoint["told"]) == (4, "checkpoint", {"b": [7, 1]})
    assert EventStore(REAL, str(tmp_path)).told == {"b": (7, 1)}
    store.close()


def test_a_bad_line_in_the_middle_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path))
    store.append([{"session": "a", "told": [number, 0]} for number in range(4)], 100)
    store.close()
    lines = files(str(tmp_path))[0].read_bytes().splitlines(keepends=True)
    files(str(tmp_path))[0].write_bytes(b"".join([*lines[:2], b"x" + lines[2], *lines[3:]]))
    store = EventStore(REAL, str(tmp_path))
    assert (store.bad_lines, store.next_seq, store.told) == (1, 6, {"a": (3, 0)})
    store.append([{}], 100)
    assert [event["seq"] for event in everything(str(tmp_path))] == [1, 2, 4, 5, 6]
    assert problems(str(tmp_path)) == [chain.BAD_LINE]
    store.close()


def test_numbers_of_bad_lines_near_the_end_are_not_given_again(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path))
    store.append([{}] * 5, 100)
    store.close()
    lines = files(str(tmp_path))[0].read_bytes().splitlines(keepends=True)
    files(str(tmp_path))[0].write_bytes(b"".join([*lines[:3], b"x" + lines[3], b"x" + lines[4], b"x" + lines[5]]))
    store = EventStore(REAL, str(tmp_path))
    assert store.append([{}], 100)[0]["seq"] == 6
    assert problems(str(tmp_path)) == [chain.BAD_LINE] * 2
    store.close()


@pytest.mark.parametrize("lost", ["checkpoint", "everything", "for an older one"])
def test_a_damaged_checkpoint_is_made_up_for_from_the_segment_before(tmp_path: Path, lost: str) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1)
    store.append([{"session": "a", "told": [1, 1]}], 100)
    store.append([{"session": "b", "told": [2, 2]}], 100)
    store.close()
    oldest, newest = files(str(tmp_path))
    spoilt = {"checkpoint": b"x" + newest.read_bytes(), "everything": b"x\ny\nz\n"}
    newest.write_bytes(spoilt.get(lost, oldest.read_bytes()))
    store = EventStore(REAL, str(tmp_path))
    assert store.told == {"a": (1, 1)} | ({"b": (2, 2)} if lost == "checkpoint" else {})
    assert store.next_seq == 5
    store.append([{}], 100)
    assert [chain.is_checkpoint(event) for event in everything(str(tmp_path))][-2:] == [True, False]
    assert files(str(tmp_path))[-1].name == chain.name(5)
    assert problems(str(tmp_path)) != []
    store.close()


def test_an_empty_segment_is_begun_anew_and_its_name_is_never_undercut(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1)
    for _ in range(2):
        store.append([{}, {}], 100)
    store.close()
    oldest, newest = files(str(tmp_path))
    os.truncate(oldest, oldest.stat().st_size - 1)
    os.truncate(newest, 0)
    store = EventStore(REAL, str(tmp_path), keep_s=0)
    assert store.next_seq == 4
    store.append([{}], 100)
    assert store.retain(200) == (1, 4)
    assert [event["seq"] for event in everything(str(tmp_path))] == [4, 5]
    store.close()


@pytest.mark.parametrize("told", [None, [1], [1, "2"], {"a": 1}, "ab", [True, 1]])
def test_an_event_that_tells_nonsense_is_an_event_like_others(tmp_path: Path, told: object) -> None:
    store = EventStore(REAL, str(tmp_path))
    store.append([{"session": "a", "told": [1, 2]}, {"session": "a", "told": told}, {"session": 3, "told": [1, 2]}], 1)
    assert store.told == EventStore(REAL, str(tmp_path)).told == {"a": (1, 2)}
    store.close()


def test_an_event_that_cannot_be_written_down_changes_nothing(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path))
    store.append([{}], 100)
    with pytest.raises(TypeError):
        store.append([{}, {"data": b"bytes"}], 100)
    assert store.append([], 100) == []
    assert store.append([{}], 100)[0]["seq"] == 3
    assert problems(str(tmp_path)) == []
    store.close()


def test_a_segment_whose_sync_failed_is_not_synced_again_and_a_new_one_begins(tmp_path: Path) -> None:
    disk = FailingDisk([], OSError(errno.EIO, "broken"))
    store = EventStore(disk, str(tmp_path))
    store.append([{}], 100)
    disk.plan = [True]
    with pytest.raises(OSError, match="broken"):
        store.sync()
    with pytest.raises(OSError, match="could not be synced before"):
        store.sync()
    store.append([{}], 100)
    store.sync()
    assert len(files(str(tmp_path))) == 2
    assert problems(str(tmp_path)) == []
    store.close()


def test_syncing_from_another_thread_never_meets_a_closed_file(tmp_path: Path) -> None:
    store, done, errors = (
        EventStore(Watched(), str(tmp_path), segment_bytes=1),
        threading.Event(),
        list[BaseException](),
    )

    def keep_syncing() -> None:
        try:
            while not done.is_set():
                store.sync()
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's
            errors.append(error)

    thread = threading.Thread(target=keep_syncing)
    thread.start()
    for _ in range(40):
        store.append([{}], 100)
    done.set()
    thread.join()
    store.close()
    assert errors == []
    assert problems(str(tmp_path)) == []


def test_segments_go_when_there_are_too_many_bytes_oldest_first(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1, keep_bytes=1000)
    for _ in range(10):
        store.append([{"text": "x" * 50}], 100)
    assert store.retain(100) == (1, store.first_seq)
    assert sum(file.stat().st_size for file in files(str(tmp_path))) <= 1000
    assert files(str(tmp_path))[0].name == chain.name(store.first_seq)
    assert store.retain(100) is None
    assert problems(str(tmp_path)) == []
    store.close()


def test_segments_go_when_all_in_them_is_too_old(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1, keep_s=50)
    for time in (100, 110, 120):
        store.append([{}], time)
    assert store.retain(159) is None
    assert store.retain(160) == (1, 3)
    assert store.retain(1000) == (3, 5)  # the newest stays
    assert store.retain(1000) is None
    assert EventStore(REAL, str(tmp_path)).first_seq == store.first_seq == 5
    store.close()


def test_an_empty_journal_waits_for_its_first_event(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path / "events"))
    store.sync()
    assert (store.first_seq, store.next_seq, store.head, store.retain(100)) == (1, 1, chain.ZERO, None)
    store.close()
    assert files(str(tmp_path / "events")) == []

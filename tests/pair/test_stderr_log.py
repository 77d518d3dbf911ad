"""What a program complains about: all of it while it is little, the newest when it is much, and never a wait."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchctl.pair.output import LIMIT_BYTES, PIECE_BYTES, Complaints, last_words


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Where we read, and where the program writes."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    yield ours, theirs
    for fd in (ours, theirs):
        os.close(fd)


def _pour(complaints: Complaints, theirs: int, data: bytes) -> None:
    for at in range(0, len(data), PIECE_BYTES):
        os.write(theirs, data[at : at + PIECE_BYTES])
        complaints.drain()


def _numbered(count: int) -> bytes:
    return b"".join(b"%015d\n" % number for number in range(count))


def test_what_is_little_is_kept_whole_through_another_mover(tmp_path: Path, pipe: tuple[int, int]) -> None:
    for word in (b"one\n", b"two\n", b"three\n"):
        complaints = Complaints(pipe[0], str(tmp_path))
        os.write(pipe[1], word)
        assert complaints.take()
        assert complaints.take()  # nothing there is not the end
        complaints.close()
    assert (tmp_path / "stderr.log").read_bytes() == b"one\ntwo\nthree\n"
    assert last_words(str(tmp_path), 9) == "wo\nthree"


def test_of_what_is_much_the_newest_is_kept_and_nothing_between(tmp_path: Path, pipe: tuple[int, int]) -> None:
    complaints = Complaints(pipe[0], str(tmp_path))
    wrote = _numbered(5 * LIMIT_BYTES // 16 + 100)
    _pour(complaints, pipe[1], wrote)
    kept = (tmp_path / "stderr.log.1").read_bytes() + (tmp_path / "stderr.log").read_bytes()
    assert LIMIT_BYTES <= len(kept) <= 2 * LIMIT_BYTES
    assert wrote.endswith(kept)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["stderr.log", "stderr.log.1"]
    complaints.close()


def test_what_the_disk_does_not_take_is_counted_and_holds_nobody_up(tmp_path: Path, pipe: tuple[int, int]) -> None:
    complaints = Complaints(pipe[0], str(tmp_path))
    _pour(complaints, pipe[1], b"before\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (7, limits[1]))
        _pour(complaints, pipe[1], b"x" * 300_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    _pour(complaints, pipe[1], b"after\n")
    assert (tmp_path / "stderr.log").read_bytes() == (
        b"before\n\n[300000 bytes are missing: the disk did not take them]\nafter\n"
    )
    complaints.close()


def test_the_end_is_told(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    complaints = Complaints(ours, str(tmp_path))
    os.write(theirs, b"last\n")
    os.close(theirs)
    assert complaints.take()
    assert not complaints.take()
    assert (tmp_path / "stderr.log").read_bytes() == b"last\n"
    complaints.close()
    os.close(ours)

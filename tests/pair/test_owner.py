"""A state directory whose owner has ended is removed, also where the owner's number has been given to somebody else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchctl.pair.daemon import clear_up
from orchctl.pair.tree import start_ticks
from orchctl.session import layout


@pytest.fixture
def thread() -> Iterator[int]:
    """The number of a thread that is not its process's first."""
    over = threading.Event()
    running = threading.Thread(target=over.wait)
    running.start()
    assert running.native_id is not None
    yield running.native_id
    over.set()
    running.join()


def owned_by(folder: Path, pid: int, ticks: int) -> Path:
    root = folder / "state"
    root.mkdir()
    (root / layout.OWNER).write_bytes(layout.encode(layout.Owner(pid, ticks)))
    return root


def test_a_number_that_is_a_threads_now_is_nobodys(tmp_path: Path, thread: int) -> None:
    root = owned_by(tmp_path, thread, start_ticks(thread))
    clear_up(str(root))
    assert not root.exists()


def test_what_an_owner_still_has_stays(tmp_path: Path) -> None:
    root = owned_by(tmp_path, os.getpid(), start_ticks(os.getpid()))
    clear_up(str(root))
    assert root.exists()

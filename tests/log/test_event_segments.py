"""A segment of events gets its name last: whoever sees it finds a checkpoint in it that no power cut takes away."""

from __future__ import annotations

import os
from pathlib import Path

from orchctl.log import chain
from orchctl.log.event_journal import NEW, EventStore
from tests.log.watched_disk import WatchedDisk


def test_a_segment_has_its_name_only_once_its_checkpoint_is_safe(tmp_path: Path) -> None:
    steps: list[tuple[str, list[str]]] = []
    disk = WatchedDisk(lambda name: steps.append((name, sorted(os.listdir(tmp_path)))))
    store = EventStore(disk, str(tmp_path), segment_bytes=1)
    for _ in range(2):
        store.append([{}], 100)
    store.close()
    first, second = chain.name(1), chain.name(3)
    assert steps == [
        (first + NEW, [first + NEW]),
        (tmp_path.name, [first]),
        (first + NEW, [first]),  # what was appended to it, through the same descriptor, before the next one begins
        (second + NEW, [first, second + NEW]),
        (tmp_path.name, [first, second]),
    ]

"""Lives of a log on a disk that fails: no promise is broken by the real code, and planted mistakes are found."""

from __future__ import annotations

import pytest

from tests.log.promises import OUT
from tests.log.simulated_disk import SimulatedDisk
from tests.log.simulation import Views, first_violation

SEEDS = 2_000
LONG_SEEDS = 20_000


class View(SimulatedDisk):
    """The same disk, as somebody uses it who makes a mistake."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.__dict__ = disk.__dict__


class UnsyncedNames(View):
    def sync_folder(self, path: str) -> None:
        if path != OUT:
            super().sync_folder(path)


class OnlyTheLastSegment(View):
    def names(self, path: str) -> list[str]:
        return sorted(name for name in super().names(path) if name.endswith(".seg"))[-1:]


class ReadThenWritten(View):
    def move(self, source: int, fd: int, limit: int, offset: int) -> int:
        data = bytes(self.pipe[:limit])
        del self.pipe[:limit]
        written = 0
        while written < len(data):
            written += self.write(fd, data[written:], offset + written)
        return written


class UnsyncedBytes(View):
    def sync(self, fd: int) -> None:
        self.size(fd)


def test_no_crash_and_no_power_loss_breaks_a_promise(long_form: bool) -> None:
    assert first_violation(range(LONG_SEEDS if long_form else SEEDS)) is None


@pytest.mark.parametrize(
    "views",
    [
        Views(syncer=UnsyncedNames),
        Views(syncer=OnlyTheLastSegment),
        Views(mover=ReadThenWritten),
        Views(recovery=UnsyncedNames),
        Views(recovery=UnsyncedBytes),
    ],
    ids=["names", "rolled segments", "read then written", "names after recovery", "bytes after recovery"],
)
def test_a_planted_mistake_is_found(views: Views) -> None:
    assert first_violation(range(SEEDS), views) is not None

"""Random lives of one log on a disk that fails: the real writer, syncer, recovery and journals.

From the command line: `python -m tests.log.simulation 200000`, and a second number for the first seed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random

from orchctl.log.journal import Record, append
from orchctl.log.recovery import recover
from orchctl.log.sync import Syncer
from orchctl.log.writer import SegmentWriter
from orchctl.session import layout
from tests.log.promises import OUT, SESSION, Promises, must
from tests.log.simulated_disk import NEVER, Crash, Habits, SimulatedDisk

RINGS = (4096, 9000, 16384)  # a segment has 4 KiB: there are two to five of them
NOISE = Random(0).randbytes(1 << 16)
PART = 1_000  # seeds that one process lives at a time

View = Callable[[SimulatedDisk], SimulatedDisk]


def _as_it_is(disk: SimulatedDisk) -> SimulatedDisk:
    return disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """How each part sees the disk; a planted mistake is a view that leaves something out."""

    mover: View = _as_it_is
    syncer: View = _as_it_is
    recovery: View = _as_it_is


SOUND = Views()


class Life:
    """One log from its first byte on."""

    def __init__(self, seed: int, views: Views) -> None:
        self.rnd = rnd = Random(seed)
        failing = rnd.random() < 0.15
        self.habits = Habits(
            ordered=rnd.random() < 0.6,
            scattered=rnd.random() < 0.1,
            failing=failing,
            full=not failing and rnd.random() < 0.2,
        )
        self._ring_bytes = rnd.choice(RINGS)
        self._views = views
        self._records = 0
        self._disk = SimulatedDisk(rnd, self.habits, SESSION, OUT)
        self._promises = Promises(self._disk)
        self._start()
        self._disk.fuse = self._some_steps()

    def act(self) -> None:
        """One thing happens; `Crash` may come at any step of it."""
        chance = self.rnd.random()
        if chance < 0.6:
            self._move()
        elif chance < 0.9:
            self._sync()
        elif chance < 0.97:
            self._record(layout.COMMANDS, {"type": "begin"})
        else:
            self._close()

    def fall(self) -> None:
        """Crash; the next ones take over, and may crash as well. If both processes are gone, so is the pipe."""
        power_lost = both = False
        while True:
            if self.rnd.random() < 0.4:
                self._disk.lose_power()
                power_lost = True
            both = both or power_lost or self.rnd.random() < 0.3
            self._disk.fuse = self._some_steps()
            try:
                recovered = recover(self._views.recovery(self._disk), SESSION, now=0) if both else None
                self._start()
                break
            except Crash:
                continue
            except OSError:
                must(self.habits.full, "recovery met an error on a sound disk")
        self._disk.fuse = NEVER
        self._promises.suspects |= self._syncer.suspects.keys()
        self._promises.check(self._writer.end, power_lost=power_lost)
        if recovered is not None:
            must(recovered.end == self._writer.end, "M: the writer goes on elsewhere")
            self._disk.pipe.clear()
            self._promises.resume(recovered, self._syncer)
        self._disk.fuse = self._some_steps()

    def _some_steps(self) -> int:
        return 1 + int(self.rnd.random() * self.rnd.choice((20, 150, 400)))

    def _start(self) -> None:
        self._start_mover()
        self._syncer = Syncer(self._views.syncer(self._disk), SESSION)

    def _start_mover(self) -> None:
        self._writer = SegmentWriter(self._views.mover(self._disk), OUT, self._ring_bytes, self._drop)

    # the mover

    def _move(self) -> None:
        chance = self.rnd.random()
        try:
            if chance < 0.8:
                self._produce()
            elif chance < 0.9:
                self._record(layout.JOURNAL, {"type": "resized", "cols": self._records})
            elif chance < 0.95:
                self._writer.needed = self.rnd.choice((None, self._writer.start, self._promises.dropped_end))
            else:
                self._writer.roll()
                self._writer.trim(self.rnd.choice((None, 4096)))
        except OSError:
            must(self.habits.full, "the mover met an error on a sound disk")

    def _produce(self) -> None:
        at = int(self.rnd.random() * (1 << 15))
        data = NOISE[at : at + 1 + int(self.rnd.random() * self.rnd.choice((10, 3000, 9000)))]
        self._promises.stream += data
        self._disk.pipe += data
        while self._disk.pipe and self.rnd.random() < 0.98:
            self._writer.move(0)

    def _drop(self, first: int, end: int) -> None:
        self._record(layout.JOURNAL, {"type": "dropped", "first": first, "end": end})
        self._promises.dropped_end = max(self._promises.dropped_end, end)

    def _record(self, name: str, record: Record) -> None:
        self._records += 1
        promise = self._promises.journals[name]
        promise.given[self._records] = record | {"n": self._records}
        append(f"{SESSION}/{name}", promise.given[self._records], self._disk)
        promise.written.append(self._records)

    # the supervisor

    def _sync(self, *, closed: bool = False) -> None:
        """The mover goes on meanwhile, in its own process."""
        written = {name: len(one.written) for name, one in self._promises.journals.items()}
        read_from_seals = self._syncer.durable
        self._disk.meanwhile = None if closed else self._move_or_fall
        try:
            suspects = self._syncer.sync(closed=closed)
        finally:
            self._disk.meanwhile = None
        for name, count in written.items():
            self._promises.journals[name].safe = count
        if self.habits.ordered or self._syncer.durable > read_from_seals:  # seals may be unsynced when they are read
            self._promises.acknowledge(self._syncer.durable, self._syncer)
        self._promises.suspects |= {start for start, _ in suspects}
        if self._writer.start in self._promises.suspects and not closed:
            self._writer.roll()
        if suspects:
            self._disk.fuse = self._some_steps()

    def _move_or_fall(self) -> None:
        """Should the mover crash, the syncer goes on with the next mover, or falls too."""
        try:
            self._move()
        except Crash:
            if self.rnd.random() < 0.5:
                raise
            self._disk.fuse = NEVER
            self._start_mover()
            self._promises.check(self._writer.end, power_lost=False)
            self._disk.fuse = self._some_steps()

    def _close(self) -> None:
        """The session is over, and begins anew on the same log."""
        while self._disk.pipe:
            self._writer.move(0)
        self._sync(closed=True)
        if not self.habits.full:
            self._promises.check_closed(self._syncer)
        self._start()


def live(seed: int, views: Views = SOUND) -> None:
    """One life; an `AssertionError` if something does not hold."""
    one = Life(seed, views)
    for _ in range(one.rnd.choice((4, 10, 20))):
        try:
            one.act()
        except Crash:
            one.fall()
        except OSError:
            must(one.habits.full, "an error on a sound disk")
    one.fall()


def first_violation(seeds: range, views: Views = SOUND) -> tuple[int, str] | None:
    """The first seed whose life went wrong, and how."""
    for seed in seeds:
        try:
            live(seed, views)
        except AssertionError as violated:
            return seed, str(violated)
    return None


def main(count: int, first: int = 0) -> int:
    """Live `count` lives, on all processors, and say so along the way."""
    began = time.monotonic()
    parts = [range(at, min(at + PART, first + count)) for at in range(first, first + count, PART)]
    with ProcessPoolExecutor() as pool:
        for seeds, violation in zip(parts, pool.map(first_violation, parts), strict=True):
            if violation is not None:
                print(f"\nseed {violation[0]}: {violation[1]}")
                pool.shutdown(cancel_futures=True)
                return 1
            done = seeds.stop - first
            print(f"\r{done} seeds, {done / (time.monotonic() - began):.0f} a second", end="", flush=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

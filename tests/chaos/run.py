"""One run: a world, thirty slots, a striker, and at the end what was found and how many faults landed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.agents import kits
from tests.chaos import oracle, uses
from tests.chaos.faults import OWN_CLOCKS, Striker
from tests.chaos.oracle import Finding
from tests.chaos.schedule import KINDS, SLOTS, Fault, faults, kind_of_slot, least
from tests.chaos.stage import Stage
from tests.clocks import Clocks
from tests.world import DEADLINE_S, World, fresh_world, until

SWEEPS = 8  # a second each
AFTER_S = 180.0  # so long after the last fault every life is over


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it."""

    seed: int
    seconds: float
    landed: Counter[str]
    due: dict[str, int]
    counts: Counter[str]
    slowest_s: dict[str, float]
    findings: tuple[Finding, ...]

    @property
    def missing(self) -> list[str]:
        """The kinds of which too few landed."""
        return [
            f"{kind}: {self.landed[kind]} of at least {due}"
            for kind, due in self.due.items()
            if self.landed[kind] < due
        ]

    def __str__(self) -> str:
        lines = [f"chaos: seed {self.seed}, {self.seconds:.0f} s, {sum(self.landed.values())} faults landed"]
        lines += [f"  {self.landed[kind]:5d}  {kind}" for kind in sorted(self.due)]
        lines += ["  done: " + ", ".join(f"{count} {word}" for word, count in sorted(self.counts.items()))]
        lines += [
            "  slowest: " + ", ".join(f"{word} {took_s:.1f} s" for word, took_s in sorted(self.slowest_s.items()))
        ]
        lines += [f"  too few landed: {one}" for one in self.missing]
        lines += [f"  FINDING {finding}" for finding in self.findings]
        return "\n".join([*lines, f"  {len(self.findings)} findings"])


def run(
    seed: int,
    seconds: float,
    *,
    kinds: Sequence[str] = (),
    slots: int = SLOTS,
    disk: str = "",
    log: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Thirty slots for so long, with faults by the seed; `disk` is the size of a small disk for the state directory,
    `log` a file for what the supervisors logged.
    """
    kinds = kinds or tuple(KINDS)
    planned = faults(seed, seconds, kinds)
    found, stage = "", None
    try:
        with fresh_world() as world, _disk(world, disk), _clocks(world) as clocks, kits.scripted(world) as kit:
            kit.prepare(world)
            stage = Stage(world, clocks, seconds, say)
            _play(stage, planned, seed, slots)
            if log:
                shutil.copy(f"{world.state}/supervisor.log", log)
            _finish(stage)
    except AssertionError as error:  # something is left of it
        if stage is None:
            raise
        found = str(error)
    except BaseException:
        if stage is not None:
            stage.stopped = True
            _sweep(stage.world)
        raise
    if found:
        stage.findings.append(Finding("", "end", found))
    landed = Counter(one.fault.kind for one in stage.landed)
    due = least(planned, seconds, kinds)
    if stage.counts[OWN_CLOCKS]:  # which nobody may set; the report says so
        due["clock-jump"] = 0
    return Report(seed, seconds, landed, due, stage.counts, stage.slowest_s, tuple(stage.findings))


def _sweep(world: World) -> None:
    """After an interruption: lives that do not know of it yet may have begun what was just ended."""
    for _ in range(SWEEPS):
        time.sleep(1.0)
        world.clean_up()
        shutil.rmtree(world.folder, ignore_errors=True)


def _play(stage: Stage, planned: list[Fault], seed: int, slots: int) -> None:
    """All lives and all faults, to their end."""
    threads = [
        threading.Thread(target=_fill, args=(stage, slot, seed), name=f"slot {slot}", daemon=True)
        for slot in range(slots)
    ]
    for thread in threads:
        thread.start()
    Striker(stage).run(planned)
    deadline = time.monotonic() + AFTER_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    for thread in threads:
        if thread.is_alive():
            what, since = stage.waiting.get(thread.name, ("something", deadline))
            stage.find("", thread.name, f"it waits for {what}, since {time.monotonic() - since:.0f} s")


def _fill(stage: Stage, slot: int, seed: int) -> None:
    """One life after another."""
    kind, number = uses.KINDS[kind_of_slot(slot)], 0
    with stage.connect() as client:
        while not stage.over:
            try:
                kind(stage, client, slot, number, seed).live()
            except Exception as error:  # noqa: BLE001
                stage.find("", kind.kind, f"the test itself failed: {type(error).__name__} {error}")
                time.sleep(1.0)
            stage.count(f"{kind.kind} over")
            number += 1


def _finish(stage: Stage) -> None:
    """What is on disk is whole, nothing of a session lives, and little was in doubt."""
    world = stage.world
    doubtful = sum(count for word, count in stage.counts.items() if word.endswith(oracle.DOUBTS))
    stage.find("", "end", *oracle.doubts(doubtful, stage.landed))
    try:
        until(lambda: world.json("list") == [], deadline_s=DEADLINE_S)
    except (AssertionError, OSError) as error:
        live = [{name: one[name] for name in ("id", "name", "state", "pid", "stalled")} for one in world.json("list")]
        stage.find(live[0]["id"] if live else "", "end", f"sessions live on: {error} {live}")
    for words in (("verify",), ("audit", "--verify")):
        done = world.run(*words)
        if done.returncode:
            stage.find("", "end", f"{' '.join(words)}: {done}")


@contextlib.contextmanager
def _clocks(world: World) -> Iterator[Clocks]:
    """A supervisor on clocks of its own, and so whoever is started in its place, by us too."""
    clocks = Clocks(world)
    clocks.start_supervisor()
    world.env |= clocks.env
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clocks.env.items():
            patch.setenv(name, value)
        yield clocks


@contextlib.contextmanager
def _disk(world: World, size: str) -> Iterator[None]:
    """A file system of its own for the state directory."""
    if not size:
        yield
        return
    os.mkdir(world.state, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", world.state], check=True)
    try:
        yield
        world.end()
    finally:
        subprocess.run(["umount", "-l", world.state], check=True)

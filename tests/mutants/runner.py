"""Running mutants side by side, each worker in a clone of its own, and telling what became of each.

First every test that is named has to pass in a clone as it is: a test that fails anyway catches nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from queue import SimpleQueue

from tests.mutants import patch
from tests.mutants.clone import TEST_S, Clone, Outcome
from tests.mutants.patch import Mutant

FAILED = 1  # pytest's exit code for tests that failed, and nothing worse


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutant: `caught`, `SURVIVED`, `not run`, or what is wrong with it."""

    name: str
    word: str
    detail: str
    seconds: float = 0.0
    output: str = ""

    @property
    def trouble(self) -> bool:
        """Whether somebody has to do something about it."""
        return self.word not in ("caught", "not run")

    def __str__(self) -> str:
        return f"{self.name:40} {self.word} {self.detail} ({self.seconds:.1f} s)"


def run(
    mutants: Sequence[Mutant],
    root: str,
    *,
    workers: int,
    told: Callable[[Verdict], None] = lambda verdict: None,
    test_s: int = TEST_S,
) -> list[Verdict]:
    """Every mutant, in the order given; `told` hears of each as soon as it is known."""
    verdicts: dict[str, Verdict] = {}

    def note(verdict: Verdict) -> None:
        verdicts[verdict.name] = verdict
        told(verdict)

    sound = []
    for mutant in mutants:
        if wrong := patch.troubles(mutant, root):
            note(Verdict(mutant.name, *_split(wrong[0])))
        else:
            sound.append(mutant)
    with _clones(root, min(workers, len(sound))) as clones, ThreadPoolExecutor(max(1, workers)) as pool:

        def judged(mutant: Mutant) -> Verdict:
            with clones.lend() as clone:
                return judge(clone, mutant, without, test_s=test_s)

        try:
            without = _without_mutants(sound, clones, pool, workers, test_s)
            for done in as_completed([pool.submit(judged, mutant) for mutant in sound]):
                note(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            clones.clear()  # what is under way ends with it
            raise
    return [verdicts[mutant.name] for mutant in mutants]


def judge(clone: Clone, mutant: Mutant, without: dict[str, str], *, test_s: int = TEST_S) -> Verdict:
    """Make the mistake and run its tests; `without` says of tests that do not pass anyway why they do not."""
    began = time.monotonic()
    for test in mutant.tests:
        if word := without.get(test):
            return Verdict(mutant.name, word, test)
    with clone.mutated(mutant) as error:
        if error:
            return Verdict(mutant.name, "does not apply:", error)
        outcome = clone.run(list(mutant.tests), test_s=test_s)
    seconds = time.monotonic() - began
    missing = [test for test in mutant.tests if test not in outcome.failed]
    if outcome.status == FAILED and not missing:
        return Verdict(mutant.name, "caught", f"by {' '.join(mutant.tests)}", seconds)
    return Verdict(mutant.name, "SURVIVED", _why(outcome, missing), seconds, outcome.output)


def _why(outcome: Outcome, missing: list[str]) -> str:
    if outcome.status is None:
        return "pytest came to no end"
    if passed := [test for test in missing if test in outcome.passed]:
        return f"{' '.join(passed)} passes"
    return f"{' '.join(missing) or 'a test'} came to no verdict (pytest's exit code {outcome.status})"


def _without_mutants(
    mutants: Sequence[Mutant], clones: Clones, pool: ThreadPoolExecutor, workers: int, test_s: int
) -> dict[str, str]:
    """The named tests that do not pass in a clone as it is, with what is wrong."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    shares = [share for share in (tests[at::workers] for at in range(workers)) if share]

    def tried(share: list[str]) -> dict[str, str]:
        with clones.lend() as clone:
            passed = clone.run(share, test_s=test_s).passed
            left = [test for test in share if test not in passed]  # all, where one id is unknown: pytest runs none then
            words = {test: _word(test, clone.run([test], test_s=test_s)) for test in left}
        return {test: word for test, word in words.items() if word}

    found: dict[str, str] = {}
    for each in pool.map(tried, shares):
        found |= each
    return found


def _word(test: str, outcome: Outcome) -> str:
    """What is wrong with a test that was run alone, and without a mutant."""
    if test in outcome.passed:
        return ""
    if test in outcome.failed or outcome.status not in (0, 4):
        return "fails without the mutant:"
    return "not run" if outcome.status == 0 else "test unknown:"  # 0: it is skipped here


class Clones:
    """Those that are made, to be had one at a time."""

    def __init__(self) -> None:
        self._made: list[Clone] = []
        self._free: SimpleQueue[Clone] = SimpleQueue()

    def add(self, clone: Clone) -> None:
        """One more."""
        self._made.append(clone)
        self._free.put(clone)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Clone]:
        """One that nobody else has meanwhile."""
        clone = self._free.get()
        try:
            yield clone
        finally:
            self._free.put(clone)

    def clear(self) -> None:
        """End everything that runs in any of them."""
        for clone in self._made:
            clone.clear()


@contextlib.contextmanager
def _clones(root: str, count: int) -> Iterator[Clones]:
    """So many clones; nothing of them stays."""
    base = tempfile.mkdtemp(prefix="mu-")
    clones = Clones()
    try:
        for number in range(count):
            clones.add(Clone(root, f"{base}/{number}"))
        yield clones
    finally:
        clones.clear()
        shutil.rmtree(base)


def _split(wrong: str) -> tuple[str, str]:
    """`word: detail`, or a word of its own."""
    word, colon, detail = wrong.partition(": ")
    return (f"{word}:", detail) if colon else ("is no mutant:", wrong)


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many of each."""
    count = [sum(one.word == word for one in verdicts) for word in ("caught", "SURVIVED", "not run")]
    others = len(verdicts) - sum(count)
    parts = [f"{count[0]} caught", f"{count[1]} survived"]
    parts += [f"{count[2]} not run because their tests are skipped here"] if count[2] else []
    return ", ".join(parts + ([f"{others} with other trouble"] if others else []))


def workers_here() -> int:
    """As many as there are processors, within reason."""
    return max(1, min(4, os.cpu_count() or 1))

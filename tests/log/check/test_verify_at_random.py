"""Whatever happens to any byte, the check gets through it; and what is being written meanwhile is no damage."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log.check.findings import Finding
from orchctl.log.check.verify import verify
from orchctl.log.disk import REAL
from orchctl.log.writer import SegmentWriter
from orchctl.session import layout
from tests.log.built import FIRST, LAST, MIDDLE, ONE, OTHER, Built, ended, index
from tests.world import until

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
SEALED = [FIRST, MIDDLE, LAST]
JOURNALS = [layout.JOURNAL, layout.COMMANDS, layout.SEALS]
RING_BYTES = 1 << 15
LOOKS = 40

at = st.floats(0, 1, exclude_max=True)  # where in a file, whatever its size


def flip(path: Path, where: float, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= 1 << bit
    path.write_bytes(data)


def cut(path: Path, where: float, _: int) -> None:
    path.write_bytes(path.read_bytes()[: int(where * path.stat().st_size)])


def extend(path: Path, where: float, bit: int) -> None:
    path.write_bytes(path.read_bytes() + bytes([1 << bit]) * (1 + int(where * 5000)))


def delete(path: Path, _: float, __: int) -> None:
    path.unlink()


Damage = tuple[Callable[[Path, float, int], None], float, int]
damages = st.tuples(st.sampled_from([flip, cut, extend, delete]), at, st.integers(0, 7))


def damaged(folder: str, choose: Callable[[Built], list[Path]], damage: list[Damage]) -> list[Finding]:
    """What is found after damage to some of a tree's files."""
    built = ended(Path(folder))
    ended(Path(folder), OTHER)
    built.tell()
    for path, (do, where, bit) in zip(choose(built), damage, strict=False):
        if path.exists() and path.stat().st_size:
            do(path, where, bit)
    return list(verify(folder, None))


@PROPERTY
@given(st.data(), st.lists(damages, min_size=1, max_size=4))
def test_any_damage_anywhere_is_got_through(data: st.DataObject, damage: list[Damage]) -> None:
    def choose(built: Built) -> list[Path]:
        files = sorted(path for path in built.root.rglob("*") if path.is_file())
        return [data.draw(st.sampled_from(files)) for _ in damage]

    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        for finding in damaged(folder, choose, damage):
            assert finding.session in (ONE, OTHER, None)
            assert (Path(folder) / finding.path).parent.exists()


@PROPERTY
@given(st.sampled_from(SEALED + JOURNALS), damages)
def test_damage_to_a_sealed_segment_or_to_a_journal_is_always_found(name: str, damage: Damage) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        found = damaged(folder, lambda built: [built.path(name)], [damage])
        assert {(one.session, one.path) for one in found} == {(ONE, f"sessions/{ONE}/{name}")}


@PROPERTY
@given(st.sampled_from([index(0), index(4096), index(8192)]), at, st.integers(0, 7))
def test_a_bit_that_flips_in_an_index_is_always_found(name: str, where: float, bit: int) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        found = damaged(folder, lambda built: [built.path(name)], [(flip, where, bit)])
        assert {(one.session, one.path) for one in found} == {(ONE, f"sessions/{ONE}/{name}")}


class Growing:
    """A session that writes as fast as it can: its ring turns, and what is full is sealed."""

    def __init__(self, root: Path) -> None:
        self.built = Built(root)
        self._log = SegmentWriter(REAL, str(self.built.path(layout.OUTPUT)), RING_BYTES, self._drop)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Built:
        self._thread.start()
        return self.built

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _drop(self, first: int, end: int) -> None:
        self.built.record(layout.JOURNAL, "dropped", first=first, end=end)

    def _run(self) -> None:
        start = self._log.start
        while not self._over.is_set():
            self._log.write(b"x" * 1500)
            if self._log.start != start:
                self.built.seal(start)
                start = self._log.start
        self.built.seal(start)
        self.built.end(self._log.end)


def test_a_session_whose_ring_turns_meanwhile_has_no_findings(tmp_path: Path) -> None:
    with Growing(tmp_path) as built:
        assert [built.found() for _ in range(LOOKS)] == [[]] * LOOKS
        until(lambda: not built.path(FIRST).exists())  # the writer is a thread: it may have begun late
        assert built.found() == []
    assert built.found() == []

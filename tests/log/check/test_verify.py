"""Each damage is named by its kind and its file, and nothing else is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchctl.log import journal, time_index
from orchctl.log.check.findings import Finding
from orchctl.log.check.verify import Tally, verify
from orchctl.log.time_index import Moment
from orchctl.session import layout
from tests.log.built import FIRST, LAST, MIDDLE, ONE, OTHER, Built, ended, index, live, swap

RUN, COMMANDS, SEALS, OUT = layout.JOURNAL, layout.COMMANDS, layout.SEALS, layout.OUTPUT
TORN = journal.encode({"type": "kill"})[:-5]
Damage = Callable[[Built], object]


def append(name: str, data: bytes) -> Damage:
    def damage(built: Built) -> None:
        with built.path(name).open("ab") as file:
            file.write(data)

    return damage


def test_what_is_whole_is_counted_and_has_no_findings(tmp_path: Path) -> None:
    ended(tmp_path)
    ended(tmp_path, OTHER).tell()
    tally = Tally()
    assert list(verify(str(tmp_path), None, tally)) == []
    assert tally == Tally(sessions=2, bytes=2 * 8292)


def test_where_nothing_is_nothing_is_wrong(tmp_path: Path) -> None:
    assert list(verify(str(tmp_path / "none"), None)) == []
    assert list(verify(str(tmp_path), [ONE])) == []


@pytest.mark.parametrize(
    ("damage", "kind", "path"),
    [
        (lambda b: b.cut(MIDDLE, -1), "wrong-size", MIDDLE),
        (lambda b: b.cut(LAST, 0), "wrong-size", LAST),
        (append(LAST, b"x"), "wrong-size", LAST),
        (lambda b: b.flip(MIDDLE, 4095), "wrong-bytes", MIDDLE),
        (lambda b: b.path(FIRST).unlink(), "missing-output", FIRST),
        (lambda b: b.path(MIDDLE).unlink(), "missing-output", MIDDLE),
        (lambda b: b.path(LAST).unlink(), "missing-output", LAST),
        (lambda b: b.record(SEALS, "suspect", start=4096, error="EIO"), "suspect", MIDDLE),
        (append(f"{OUT}/core", b"x"), "unknown-file", f"{OUT}/core"),
        (lambda b: b.flip(index(4096), 40), "bad-index", index(4096)),
        (lambda b: b.cut(index(4096), -1), "bad-index", index(4096)),
        (append(index(0), time_index.encode(Moment(10, 0, 0))), "bad-index", index(0)),
        (append(index(8192), time_index.encode(Moment(8292, 0, 0))), "bad-index", index(8192)),
        (lambda b: b.flip(SEALS, 5), "bad-line", SEALS),
        (append(SEALS, TORN), "torn-tail", SEALS),
        (lambda b: b.flip(RUN, 20), "bad-line", RUN),
        (lambda b: b.flip(RUN, -20), "bad-line", RUN),
        (append(RUN, TORN), "torn-tail", RUN),
        (lambda b: b.cut(RUN, -5), "torn-tail", RUN),
        (lambda b: b.cut(RUN, b.path(RUN).read_bytes().index(b"\n") + 1), "journal-cut", RUN),
        (lambda b: b.cut(RUN, 0), "journal-cut", RUN),
        (lambda b: b.path(RUN).unlink(), "missing-journal", RUN),
        (lambda b: b.flip(COMMANDS, 30), "bad-line", COMMANDS),
        (lambda b: b.cut(COMMANDS, -1), "torn-tail", COMMANDS),
        (append(layout.LEASE, TORN), "torn-tail", layout.LEASE),
        (append(layout.LEASE, b"no record\n"), "bad-line", layout.LEASE),
        (lambda b: b.record(layout.LEASE, "lease", epoch=1, session=OTHER), "foreign-journal", layout.LEASE),
        (lambda b: [b.record(layout.LEASE, "lease", epoch=epoch) for epoch in (1, 2, 1)], "bad-epoch", layout.LEASE),
        (lambda b: b.cut(SEALS, 0), "missing-seal", SEALS),
        (lambda b: b.path(SEALS).unlink(), "missing-seal", SEALS),
        (lambda b: b.cut(layout.ENDED, 1), "bad-end", layout.ENDED),
        (lambda b: b.path(layout.SPEC).unlink(), "bad-spec", layout.SPEC),
        (lambda b: b.cut(layout.SPEC, 9), "bad-spec", layout.SPEC),
        (lambda b: b.path(layout.SPEC).write_bytes(b"{}"), "bad-spec", layout.SPEC),
        (lambda b: b.path(layout.SPEC).write_bytes(b"[" * 100_000), "bad-spec", layout.SPEC),
        (lambda b: b.path(layout.SPEC).write_bytes(b"\xff"), "bad-spec", layout.SPEC),
    ],
)
def test_damage_to_a_session_that_is_over_is_named(tmp_path: Path, damage: Damage, kind: str, path: str) -> None:
    ended(tmp_path, OTHER)
    built = ended(tmp_path)
    damage(built)
    assert built.found() == [(kind, path)]
    assert [(one.session, one.kind) for one in verify(str(tmp_path), None)] == [(ONE, kind)]


@pytest.mark.parametrize(
    ("damage", "kind", "detail"),
    [
        (lambda b: b.path(MIDDLE).unlink(), "missing-output", "bytes 4096 to 8192 are missing"),
        (lambda b: b.path(FIRST).unlink(), "missing-output", "bytes 0 to 4096 are missing"),
        (lambda b: b.cut(MIDDLE, 1000), "missing-output", "bytes 5096 to 8192 are missing"),
        (append(FIRST, b"xx"), "overlap", "the segment of byte 0 reaches to 4098, into that of 4096"),
        (lambda b: b.cut(LAST, 60), "output-short", "the log ends at 8252, and 8292 bytes were written"),
        (lambda b: b.path(LAST).unlink(), "output-short", "the log ends at 8192, and 8292 bytes were written"),
        (append(LAST, b"x"), "output-long", "the log ends at 8293, and only 8292 bytes were written"),
    ],
)
def test_output_without_seals_is_measured_by_its_offsets(
    tmp_path: Path, damage: Damage, kind: str, detail: str
) -> None:
    built = ended(tmp_path)
    for name in (SEALS, layout.ENDED):
        built.path(name).unlink()
    assert built.found() == []
    damage(built)
    assert list(verify(str(tmp_path), None)) == [Finding(ONE, f"sessions/{ONE}/{OUT}", kind, detail)]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (RUN, [("foreign-journal", RUN)]),
        (COMMANDS, [("foreign-journal", COMMANDS)]),
        (layout.SPEC, [("bad-spec", layout.SPEC)]),
        (layout.ENDED, [("bad-end", layout.ENDED)]),
        (SEALS, [("wrong-bytes", one) for one in (FIRST, MIDDLE, LAST)]),
        (MIDDLE, [("wrong-bytes", MIDDLE)]),
    ],
)
def test_files_of_two_sessions_that_were_swapped_are_named(
    tmp_path: Path, name: str, found: list[tuple[str, str]]
) -> None:
    one, other = ended(tmp_path), ended(tmp_path, OTHER)
    swap(one.path(name), other.path(name))
    assert one.found() == other.found() == found


def test_segments_that_were_swapped_are_named(tmp_path: Path) -> None:
    built = ended(tmp_path)
    swap(built.path(FIRST), built.path(MIDDLE))
    assert built.found() == [("wrong-bytes", FIRST), ("wrong-bytes", MIDDLE)]
    swap(built.path(FIRST), built.path(LAST))
    assert built.found() == [("wrong-size", FIRST), ("wrong-bytes", MIDDLE), ("wrong-size", LAST)]


@pytest.mark.parametrize(
    ("name", "size", "kind"),
    [(RUN, 0, "journal-cut"), (RUN, 100, "journal-cut"), (COMMANDS, 0, "journal-cut"), (COMMANDS, 60, "journal-cut")],
)
def test_a_live_sessions_journal_that_lost_what_was_told_is_named(
    tmp_path: Path, name: str, size: int, kind: str
) -> None:
    built = live(tmp_path)
    built.record(RUN, "resized", cols=1, rows=1)
    built.run("ls")
    built.tell()
    assert built.found() == []
    built.cut(name, size)
    assert built.found() == [(kind, name)]
    built.path(name).unlink()
    assert built.found() == [("missing-journal", name)]


def test_what_retention_took_is_not_missing(tmp_path: Path) -> None:
    built = ended(tmp_path)
    built.record(RUN, "dropped", first=0, end=4096)
    assert built.found() == []  # a crash may come between the record and the deed
    built.path(FIRST).unlink()
    assert built.found() == []
    built.path(MIDDLE).unlink()
    assert built.found() == [("missing-output", MIDDLE)]
    built.record(RUN, "dropped", first=4096, end=8292)
    built.path(LAST).unlink()
    assert built.found() == []


def test_a_live_session_may_have_torn_tails_and_be_anywhere(tmp_path: Path) -> None:
    built = live(tmp_path)
    for name in (RUN, COMMANDS, SEALS):
        append(name, TORN)(built)
    append(LAST, b"more")(built)
    append(index(8192), b"torn")(built)
    assert built.found() == []
    built.path(MIDDLE).unlink()
    assert built.found() == [("missing-output", OUT)]


def test_a_live_session_without_any_segment_has_lost_them(tmp_path: Path) -> None:
    built = live(tmp_path)
    shutil.rmtree(built.path(OUT))
    assert built.found() == [("missing-output", OUT)]


def test_output_that_went_on_after_the_end_is_no_finding(tmp_path: Path) -> None:
    built = ended(tmp_path)
    built.path(RUN).write_bytes(built.path(RUN).read_bytes().splitlines(keepends=True)[0])
    built.end(5000, still_open=True)
    assert built.found() == []
    built.path(SEALS).write_bytes(built.path(SEALS).read_bytes().splitlines(keepends=True)[0])
    append(LAST, b"x")(built)
    assert built.found() == [("output-long", OUT), ("missing-seal", SEALS)]


def test_a_directory_in_which_nothing_was_started_is_no_finding(tmp_path: Path) -> None:
    built = live(tmp_path)
    shutil.rmtree(built.path(OUT))
    for name in (layout.SPEC, RUN):
        built.path(name).unlink()
    assert built.found() == []


def test_segments_in_quarantine_are_named_once_though_they_were_sealed(tmp_path: Path) -> None:
    built = Built(tmp_path)
    built.write(4096)
    built.write(100, first=8192)
    built.seal(0, 8192)
    built.path(f"{OUT}/quarantine").mkdir()
    name = os.path.basename(LAST)
    built.path(LAST).rename(built.path(f"{OUT}/quarantine/{name}"))
    built.record(RUN, "lost", offset=4096)
    assert built.found() == [("quarantine", f"{OUT}/quarantine/{name}")]


@pytest.mark.parametrize("name", [layout.SPEC, RUN, COMMANDS, SEALS, layout.ENDED, FIRST, index(0)])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_what_cannot_be_read_is_named_and_the_rest_is_checked(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    built = ended(tmp_path)
    built.path(name).unlink()
    make(built.path(name))
    assert built.found() == [("unreadable", name)]
    built.flip(MIDDLE, 0)
    assert ("unreadable", name) in built.found()
    assert ("wrong-bytes", MIDDLE) in built.found() or name == SEALS


def test_a_damaged_event_journal_is_named_by_file_and_offset(tmp_path: Path) -> None:
    built = ended(tmp_path)
    built.tell()
    path = tmp_path / "events" / f"{1:020d}.jnl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"x" + lines[1])
    (finding,) = verify(str(tmp_path), None)
    assert (finding.session, finding.path, finding.kind) == (None, f"events/{path.name}", "bad-line")
    assert f"at byte {len(lines[0])}:" in finding.detail
    assert list(verify(str(tmp_path), [ONE])) == []


def test_the_process_prints_findings_and_a_summary_and_changes_nothing(tmp_path: Path) -> None:
    ended(tmp_path, OTHER)
    ended(tmp_path).flip(MIDDLE, 0)
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    argv = [sys.executable, "-P", "-m", "orchctl.log.check", "verify", str(tmp_path)]
    words: list[list[str]] = [[], [f"--session={ONE}"], [f"--session={OTHER}"]]
    done = [subprocess.run([*argv, *more], capture_output=True, check=True).stdout for more in words]
    shown = [[json.loads(line) for line in text.splitlines()] for text in done]
    assert [len(lines) for lines in shown] == [2, 2, 1]
    assert shown[0][0]["kind"] == "wrong-bytes"
    assert shown[0][1] == {"summary": {"sessions": 2, "bytes": 2 * 8292, "findings": 1}}
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: (one.st_mtime_ns, one.st_ino) for path, one in before.items()} == {
        path: (one.st_mtime_ns, one.st_ino) for path, one in after.items()
    }

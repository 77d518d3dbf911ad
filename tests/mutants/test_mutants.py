"""The mutants keep their rules, and the runner tells a mistake that is caught from one that is not."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import patch, runner
from tests.mutants.__main__ import ROOT
from tests.mutants.clone import Clone, processes_of
from tests.mutants.patch import Mutant

SUBJECTS = ("bytes", "exit", "order", "lease", "kill", "retention", "once", "permission", "durable")
MUTANTS = patch.read_all()
FILE = "orchctl/product.py"
PRODUCT = """
def none():
    found = 0
    return found


def nothing():
    found = 0
    return found


def double(number):
    return number + number
"""
TESTS = """
import subprocess
import time

import orchctl.product as product


def test_doubles():
    assert product.double(3) == 6


def test_doubles_zero():
    assert product.double(0) == 0


def test_ends():
    started = subprocess.Popen(["sleep", "600"])  # what comes after a mistake is never reached
    assert product.double(3) == 6
    started.kill()
    started.wait()


def test_comes_to_an_end():
    while product.double(3) != 6:
        time.sleep(0.01)
"""
OLD = "    return number + number"
MISTAKES = {
    "caught-by-value": (OLD, "    return number + 1", "test_doubles", "caught"),
    "caught-by-time": (OLD, "    return number * 3", "test_comes_to_an_end", "caught"),
    "caught-and-left": (OLD, "    return number * 4", "test_ends", "caught"),
    "survived-as-right": (OLD, "    return number * 2", "test_doubles", "SURVIVED"),
    "survived-its-test": (OLD, "    return number * number", "test_doubles_zero", "SURVIVED"),
    "survived-unread": (OLD, "    return (number", "test_doubles", "SURVIVED"),  # no test was run: nothing is caught
    "unknown-function": (OLD, "    return number + 2", "test_trebles", "test unknown:"),
}


def _patch(old: str, new: str, *tests: str, sentence: str = "It is wrong.", source: str = PRODUCT) -> str:
    before, after = (text.splitlines(keepends=True) for text in (source, source.replace(old, new, 1)))
    header = "".join([sentence, "\n\n", *(f"Test: tests/test_it.py::{test}\n" for test in tests), "\n"])
    diff = "".join(difflib.unified_diff(before, after, f"a/{FILE}", f"b/{FILE}", n=1))
    return f"{header}diff --git a/{FILE} b/{FILE}\n{diff}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A product of two functions and its tests."""
    root = tmp_path / "project"
    texts = {FILE: PRODUCT, "tests/test_it.py": TESTS, "orchctl/__init__.py": "", "pytest.ini": "[pytest]\n"}
    for file, text in texts.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


@pytest.fixture
def short() -> Iterator[Path]:
    """A temporary directory whose path leaves room for a socket's; nothing that runs may be left of it."""
    made = tempfile.mkdtemp(prefix="mu-")
    yield Path(made)
    assert processes_of(made) == []
    shutil.rmtree(made)


def _mutant(folder: Path, name: str, text: str) -> Mutant:
    path = folder / f"{name}.patch"
    path.write_text(text)
    return patch.read(str(path))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_is_small_and_names_a_test(mutant: Mutant) -> None:
    assert patch.troubles(mutant, ROOT) == []


def test_there_are_several_mutants_of_every_promise() -> None:
    counts = {subject: sum(one.name.startswith(f"{subject}-") for one in MUTANTS) for subject in SUBJECTS}
    assert min(counts.values()) >= 4, counts
    assert len({one.diff for one in MUTANTS}) == len(MUTANTS)


@pytest.mark.long
def test_every_mutant_is_caught() -> None:
    verdicts = runner.run(MUTANTS, ROOT, workers=runner.workers_here())
    assert [str(one) for one in verdicts if one.trouble] == []


def test_a_mistake_is_caught_only_if_its_test_was_run_and_failed(
    project: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    mutants = [_mutant(project.parent, name, _patch(*words[:3])) for name, words in MISTAKES.items()]
    moved = PRODUCT.replace("number", "count")
    mutants.append(
        _mutant(project.parent, "gone-place", _patch("count + count", "count", "test_doubles", source=moved))
    )
    expected = {name: words[3] for name, words in MISTAKES.items()} | {"gone-place": "does not apply:"}
    told: list[str] = []
    verdicts = runner.run(mutants, str(project), workers=2, told=lambda one: told.append(one.name), test_s=5)
    assert {one.name: one.word for one in verdicts} == expected
    assert sorted(told) == sorted(expected)
    assert {one.name for one in verdicts if one.trouble} == {one for one in expected if not one.startswith("caught")}
    assert runner.summary(verdicts) == "3 caught, 3 survived, 2 with other trouble"
    assert os.listdir(short) == []
    assert (project / FILE).read_text() == PRODUCT


def test_a_test_that_cannot_be_tried_catches_nothing(project: Path) -> None:
    (project / "tests/test_it.py").write_text(
        "import pytest\ndef test_fails(): assert 0\ndef test_plain(): pass\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n"
    )
    names = {"fails-anyway": "test_fails", "has-no-parameter": "test_plain[3]", "is-skipped": "test_skipped"}
    mutants = [_mutant(project.parent, name, _patch(OLD, "    return 1", test)) for name, test in names.items()]
    verdicts = runner.run(mutants, str(project), workers=1)
    assert [one.word for one in verdicts] == ["fails without the mutant:", "test unknown:", "not run"]
    assert [one.trouble for one in verdicts] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (_patch(OLD, "    return 1", "test_doubles"), ""),
        (_patch(OLD, "\n".join(["    # more"] * 5), "test_doubles"), ""),
        (_patch(OLD, "\n".join(["    # more"] * 6), "test_doubles"), "it changes 6 lines; at most 5"),
        (_patch(OLD, "    return 1", "test_doubles", sentence=""), "no sentence says what the mistake is"),
        (_patch(OLD, "    return 1"), "it names no test"),
        (_patch(OLD, "    return 1", "test_doubles", "test_x"), "test unknown: tests/test_it.py::test_x"),
        (_patch("return found", "return 1", "test_doubles"), f"several places in {FILE} look like the one it means"),
        ("It is nothing.\n\nTest: tests/test_it.py::test_doubles\n", "it changes nothing"),
    ],
    ids=["good", "five lines", "six lines", "no sentence", "no test", "an unknown test", "two places", "no diff"],
)
def test_what_is_no_mutant_is_told(project: Path, text: str, trouble: str) -> None:
    found = patch.troubles(_mutant(project.parent, "some-thing", text), str(project))
    assert found[:1] == ([trouble] if trouble else [])


def test_a_file_that_is_renamed_is_no_line(project: Path) -> None:
    diff = f"diff --git a/{FILE} b/orchctl/other.py\nsimilarity index 100%\nrename from {FILE}\n"
    text = f"It is elsewhere.\n\nTest: tests/test_it.py::test_doubles\n\n{diff}rename to orchctl/other.py\n"
    mutant = _mutant(project.parent, "file-renamed", text)
    assert (patch.troubles(mutant, str(project)), mutant.changed_lines) == ([], 0)
    assert mutant.files == ["orchctl/other.py", FILE]


def test_the_daemons_of_a_clone_run_its_own_code_and_are_ended_with_it(short: Path) -> None:
    clone = Clone(ROOT, str(short / "0"))
    assert clone.origin("orchctl.supervisor.main").startswith(f"{clone.tree}/orchctl/")
    (Path(clone.tree) / "orchctl/version.py").write_text('VERSION = "99.9"\n')
    orchctl, env = (
        f"{short}/0/venv/bin/orchctl",
        {"PATH": os.environ["PATH"], "ORCHCTL_STATE_DIR": f"{short}/0/t/state"},
    )
    subprocess.run([orchctl, "spawn", "sleep", "600"], env=env, check=True, capture_output=True, timeout=60)
    told = subprocess.run([orchctl, "supervisor", "status", "--json"], env=env, check=True, capture_output=True)
    assert json.loads(told.stdout)["version"] == "99.9"
    assert len(processes_of(str(short))) >= 5  # supervisor, zygote, keeper, mover and program
    clone.clear()
    assert processes_of(str(short)) == []
    assert os.listdir(short / "0/t") == []

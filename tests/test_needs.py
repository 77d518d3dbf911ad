"""The one way to skip: declared, counted by reason, and a failure where nothing may be skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

TOP = Path(__file__).parent.parent
_PROJECT = """
import pytest
from tests.needs import NEEDS, Need, marks, needs
NEEDS["nothing"] = Need("a unicorn", "catch one", lambda: False)
NEEDS["all"] = Need("something", "never", lambda: True)

@pytest.fixture
def costly():
    raise AssertionError("no fixture is made for a test that is skipped")

@needs("nothing")
def test_one(costly): ...

@pytest.mark.parametrize("name", [pytest.param("nothing", marks=marks("nothing")), pytest.param("b", marks=marks("b"))])
def test_two(name): ...

@needs("all")
def test_three(): ...
"""


def _pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(_PROJECT)
    words = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", *options]
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    settings = ["-c", os.devnull, "-W", "ignore", "--rootdir", str(folder), str(folder)]
    return subprocess.run([*words, *settings], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_what_is_absent_is_skipped_with_a_line_for_each_reason(tmp_path: Path) -> None:
    done = _pytest(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 passed, 2 skipped" in done.stdout
    assert "2 skipped: needs a unicorn: catch one\n" in done.stdout


def test_where_nothing_may_be_skipped_it_is_a_failure(tmp_path: Path) -> None:
    done = _pytest(tmp_path, "--no-skips")
    assert done.returncode == 1
    assert "2 passed, 2 errors in " in done.stdout, done.stdout
    assert "test_one was skipped: needs a unicorn: catch one" in done.stdout


def test_a_need_that_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(AssertionError, match="knows no 'gold', 'silver'"):
        needs.needs("gold", "zsh", "silver")


def test_reasons_are_counted_and_the_most_frequent_comes_first() -> None:
    assert needs.summary(["b", "a", "b", "c"]) == ["2 skipped: b", "1 skipped: a", "1 skipped: c"]


def test_tests_look_for_programs_in_no_other_way() -> None:
    other = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b")
    allowed = {"conftest.py", "test_needs.py", "fresh/test_fresh.py", "mutants/test_mutants.py"}
    files = {str(path.relative_to(TOP / "tests")): path.read_text() for path in (TOP / "tests").rglob("*.py")}
    assert {name for name, text in files.items() if other.search(text)} <= allowed

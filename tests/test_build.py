"""The build's own rules: format, lint, types, imports, file sizes. Each runs as a developer would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
BIN = os.path.dirname(sys.executable)
SPLIT_AT_LINES = 500


@pytest.mark.parametrize(
    "words",
    [
        ["ruff", "check", "--no-cache", "."],
        ["ruff", "format", "--no-cache", "--check", "."],
        ["mypy", "--cache-dir", os.devnull],
        ["lint-imports", "--no-cache"],
    ],
    ids=["lint", "format", "types", "imports"],
)
def test_the_tree_passes(words: list[str]) -> None:
    done = subprocess.run([f"{BIN}/{words[0]}", *words[1:]], cwd=TOP, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_no_file_is_longer_than_it_may_be() -> None:
    files = [path for room in ("orchctl", "tests", "bench") for path in (TOP / room).rglob("*.py")]
    long = {str(path): lines for path in files if (lines := len(path.read_text().splitlines())) > SPLIT_AT_LINES}
    assert files
    assert long == {}


def test_every_module_says_what_it_owns() -> None:
    silent = [str(path) for path in (TOP / "orchctl").rglob("*.py") if not path.read_text().startswith('"""')]
    assert silent == []

"""The build's own rules: format, lint, types, imports, file sizes. Each runs as a developer would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
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


def test_what_the_package_says_of_itself_is_true() -> None:
    said = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert (said["license"], [(TOP / name).read_text()[:11] for name in said["license-files"]]) == (
        "MIT",
        ["MIT License"],
    )
    assert not [one for one in said["classifiers"] if "MacOS" in one or one.startswith("License ::")]
    assert {"click>=8.5,<9", "httpx>=0.27,<1"} <= set(said["dependencies"])
    source = "\n".join(path.read_text() for path in (TOP / "orchctl").rglob("*.py"))
    for dependency in said["dependencies"]:
        module = re.split("[<>=]", dependency)[0].replace("-", "_")
        assert re.search(rf"^\s*(import|from) {module}\b", source, re.MULTILINE), dependency

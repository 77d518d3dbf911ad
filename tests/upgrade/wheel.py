"""Wheels to upgrade from and to. `python -m tests.upgrade.wheel REF` makes the one of a commit, in `wheels/`.

A wheel in `wheels/` is what an earlier version installs: `git archive` of its commit, built by hatchling. One line is
changed: its version gets the commit as local part (`0.1.0+git.b5ff2e7`), so that a test sees which version answers.
The dates of the files are that of the commit, so the same commit, hatchling and zlib make the same bytes again.

Add one for each release, and remove none as long as somebody may upgrade from it: the test runs with each it finds.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TOP = HERE.parent.parent
WHEELS = HERE / "wheels"
_VERSION = re.compile(r'^VERSION = "([^"]+)"$', re.MULTILINE)
_STARTED = re.compile(r'"-m",\s*"(orchctl[\w.]*)"')
_PARTS = ("orchctl", "completions", "man", "pyproject.toml", "README.md", "LICENSE")  # all that the build reads
_OLDEST_IN_A_ZIP = 315532800  # 1980


def kept() -> list[Path]:
    """The wheels of earlier versions, oldest commit first."""
    return sorted(WHEELS.glob("*.whl"))


def version_of(wheel: Path) -> str:
    """The version in a wheel's name."""
    return wheel.name.split("-")[1]


def started_by_name(wheel: Path) -> set[str]:
    """The modules that processes of this version run as programs of their own: `python -m NAME`."""
    with zipfile.ZipFile(wheel) as archive:
        sources = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")]
    return {name for source in sources for name in _STARTED.findall(source)}


def programs(wheel: Path) -> set[str]:
    """The modules of this version that `python -m` can run."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name.removesuffix(".py") for name in archive.namelist() if name.endswith(".py")]
    return {name.removesuffix("/__main__").replace("/", ".") for name in names if not name.endswith("/__init__")}


def build_present(folder: Path) -> Path:
    """The wheel of the tree as it is now, uncommitted changes included. Nothing is written to the tree."""
    with tempfile.TemporaryDirectory(prefix="oc-tree-") as tree:
        for name in _PARTS:
            source = TOP / name
            if source.is_dir():
                shutil.copytree(source, f"{tree}/{name}", ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tree)
        return _build(tree, folder, _OLDEST_IN_A_ZIP)


def build_of_commit(ref: str, folder: Path) -> Path:
    """The wheel of a commit, marked as such."""
    commit, time = _git("log", "-1", "--format=%h %ct", "--abbrev=7", ref).decode().split()
    with tempfile.TemporaryDirectory(prefix="oc-tree-") as tree:
        with zipfile.ZipFile(io.BytesIO(_git("archive", "--format=zip", ref))) as archive:
            archive.extractall(tree)
        module = Path(tree, "orchctl", "version.py")
        module.write_text(_VERSION.sub(rf'VERSION = "\1+git.{commit}"', module.read_text()))
        return _build(tree, folder, int(time))


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(TOP), *words], stdout=subprocess.PIPE, check=True).stdout


def _build(tree: str, folder: Path, time: int) -> Path:
    with tempfile.TemporaryDirectory(prefix="oc-wheel-") as made:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made],
            cwd=tree,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(time)},
            capture_output=True,
            check=True,
        )
        (wheel,) = Path(made).glob("*.whl")
        return Path(shutil.copy(wheel, folder))


def main() -> None:
    """Make one wheel and say where it is."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.upgrade.wheel REF")
    print(build_of_commit(sys.argv[1], WHEELS))


if __name__ == "__main__":
    main()

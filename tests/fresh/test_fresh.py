"""Both commands of README and its tour, on a minimal Debian, as root and as a normal user."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.fresh.__main__ import NOT_HERE
from tests.fresh.machine import USER, local_indexes
from tests.needs import needs
from tests.readme import README, blocks


def test_readme_begins_with_installing_and_testing() -> None:
    install, test, path = (block.text for block in blocks("sh")[:3])
    assert "pip install -q . && .venv/bin/orchctl spawn" in install
    assert test.endswith("pytest -n 4\n")
    assert path == ". .venv/bin/activate\n"
    before_the_tour = README.read_text().partition("```console")[0]
    assert path in before_the_tour


def test_folders_that_pip_looks_into_are_found() -> None:
    found = local_indexes({"extra-index-url": "file:///usr/simple https://index.invalid/simple", "find-links": "/etc"})
    assert found == ["/etc", "/usr"]


@pytest.mark.long
@needs("namespaces", "debootstrap", "tmux")
@pytest.mark.parametrize("user", ["root", USER])
def test_a_fresh_machine_runs_the_tour_and_passes_the_tests(user: str) -> None:
    words = [sys.executable, "-m", "tests.fresh", "--user", user]
    done = subprocess.run(words, cwd=README.parent, capture_output=True, text=True, check=False)
    if done.returncode == NOT_HERE:
        pytest.skip(done.stdout.splitlines()[-1])
    verdict = done.stdout.splitlines()[-1]
    assert done.returncode == 0, done.stdout[-5000:]
    assert verdict.startswith(f"{user}: install 0, tour 0 wrong, tests 0: ")
    ran = re.search(r"(\d+) passed", verdict)
    assert ran is not None
    assert int(ran[1]) > 4000
    assert "failed" not in verdict
    assert "skipped: needs zsh: apt-get install zsh" in verdict

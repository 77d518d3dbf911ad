"""The ids of all tests, those of the long forms too, collected by pytest in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.ledger import HERE

TOP = HERE.parent.parent


class Ids:
    """A plugin of pytest that writes down what it collects."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """After everything that selects."""
        self.found = [item.nodeid for item in session.items]


def collected() -> list[str]:
    """Ask another process, so that nothing of this one has a say."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.collect"], cwd=TOP, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Print them as JSON, on the last line."""
    ids = Ids()
    words = ["--collect-only", "--long", "-qq", "--assert=plain"]  # rewriting asserts would take longer than all else
    status = pytest.main(words, plugins=[ids])
    print(f"\n{json.dumps(ids.found)}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())

"""The same as `tests/world.py` for a user who is not root, because root may do what others may not."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.world import DEADLINE_S, ORCHCTL, World, processes_of

NOBODY = 65534
_BECOME = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
_PASS = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


@functools.cache
def become_nobody() -> list[str]:
    """The words before a command. Where the interpreter lies in root's own directory, with leave to pass through."""
    again = 'exec "$0" -c "import orchctl, click"'  # by a second exec: root's leave lasts through the first
    bare = subprocess.run([*_BECOME, "sh", "-c", again, sys.executable], capture_output=True, check=False)
    return _BECOME if bare.returncode == 0 else [*_BECOME, *_PASS]


class NobodysWorld(World):
    """Its directory belongs to that user, and so does everything that runs in it."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        os.chmod(folder, 0o755)
        self.home = f"{folder}/nobody"
        os.mkdir(self.home, 0o700)
        os.chown(self.home, NOBODY, NOBODY)
        self.put_state(f"{self.home}/state")

    def put_state(self, path: str) -> None:
        """Where the state directory is to be."""
        self.state = path
        self.env |= {"ORCHCTL_STATE_DIR": path, "HOME": self.home}

    def run(self, *words: str, timeout: float = DEADLINE_S, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """One command of that user to its end."""
        return self.run_program([ORCHCTL, *words], timeout=timeout, **options)

    def look(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Nothing is forked for another user."""
        return self.run(*words)

    def run_program(self, words: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Any program of that user to its end."""
        options = {"env": self.env, "cwd": self.home, "capture_output": True, "timeout": DEADLINE_S, **options}
        return subprocess.run([*become_nobody(), *words], stdin=subprocess.DEVNULL, check=False, **options)


@contextlib.contextmanager
def nobodys_world(world: World) -> Iterator[NobodysWorld]:
    """Inside of a world of the test's own, whose end looks for what is left."""
    os.chmod(world.folder, 0o755)
    os.mkdir(f"{world.folder}/apart")
    made = NobodysWorld(f"{world.folder}/apart")
    try:
        yield made
        made.end()
        assert processes_of(made.folder) == []
    finally:
        made.clean_up()
        shutil.rmtree(made.folder, ignore_errors=True)

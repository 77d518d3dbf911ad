"""A supervisor whose calls go through a library of ours: `LD_PRELOAD` puts the library before libc.

A library has a dial, a file that it reads at each call, so that what it does can be changed while all of them run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import ClassVar

from orchctl.paths import Root, prepare
from tests.world import World


class Preload:
    """One library for one state directory's processes."""

    name: ClassVar[str]
    source: ClassVar[str]  # in C; DIAL is the path of the dial

    def __init__(self, world: World) -> None:
        self._world = world
        self._dial = f"{world.folder}/{self.name}.dial"
        self.library = f"{world.folder}/{self.name}.so"
        self.turn("")

    @property
    def env(self) -> dict[str, str]:
        """What makes a process use the library, once there is one."""
        return {"LD_PRELOAD": self.library}

    def turn(self, text: str) -> None:
        """Set the dial, at once."""
        with open(f"{self._dial}.new", "w", encoding="ascii") as file:
            file.write(f"{text}\n")
        os.rename(f"{self._dial}.new", self._dial)

    def build(self) -> None:
        """The library."""
        words = ["gcc", "-shared", "-fPIC", "-O1", f'-DDIAL="{self._dial}"', "-x", "c", "-", "-o", self.library, "-ldl"]
        subprocess.run(words, input=self.source, text=True, check=True, timeout=60)

    def start_supervisor(self) -> None:
        """A supervisor with the library, and all that come after it."""
        self.build()
        prepare(Root(self._world.state))
        told, tell = os.pipe()
        with os.fdopen(told, "rb") as ready:
            words = [sys.executable, "-P", "-m", "orchctl.pair", self._world.state, "--ready", str(tell)]
            subprocess.run(words, env=self._world.env | self.env, pass_fds=[tell], check=True, timeout=60)
            os.close(tell)
            assert ready.read().endswith(b"ready\n")

"""On a machine whose processors and disk are busy with other work, starts and kills end as on an idle one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from tests.e2e.lifecycle.test_start import ask_at_once
from tests.e2e.lifecycle.test_survival import pour_through_kills
from tests.world import World, until

MB = 1 << 20
_SPIN = "while True: pass"
_WRITE = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
while True:
    os.pwrite(file, os.urandom(1 << 20), 0)
    os.fsync(file)
"""


@contextlib.contextmanager
def busy(folder: str) -> Iterator[None]:
    """Every processor has something to do all the time, and the disk is written to and synced without a pause."""
    written = f"{folder}/written"
    processors = os.cpu_count() or 1
    others = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(processors)]
    others.append(subprocess.Popen([sys.executable, "-c", _WRITE, written]))
    try:
        until(lambda: os.path.exists(written))
        yield
        assert [one.poll() for one in others] == [None] * len(others)  # to the end
    finally:
        for one in others:
            one.kill()
            one.wait()
        os.unlink(written)


def test_clients_that_come_at_once_reach_one_supervisor(world: World, long_form: bool) -> None:
    """F75 of F11."""
    for _ in range(20 if long_form else 1):
        with busy(world.folder):
            ask_at_once(world, 50 if long_form else 12)
        world.ok("supervisor", "stop")


def test_a_follower_gets_every_byte_while_the_supervisor_is_killed(world: World, long_form: bool) -> None:
    """F75 of F01."""
    with busy(world.folder):
        pour_through_kills(world, *((256 * MB, 200) if long_form else (4 * MB, 3)))

"""The environment that orchctl runs from is taken away under it (F63): what runs goes on, and what cannot says so."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import pair_processes
from tests.programs import pour_by_steps, pour_digest
from tests.upgrade.installation import Installation
from tests.world import World, fresh_world, until

KB = 1024
SIZE, STEPS = 600 * KB, 3
_START = "from orchctl import Client\nwith Client() as client: client.start_supervisor()"


class Apart(World):
    """A world whose daemons run from an environment of their own."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.installed = Installation(f"{folder}/venv")
        (packages,) = Path(self.installed.folder).glob("lib/python*/site-packages")
        shutil.copytree(Path(__file__).parents[3] / "orchctl", packages / "orchctl")

    def start_supervisor(self) -> int:
        """By that environment's Python; its pid."""
        words = [self.installed.python, "-P", "-c", _START]
        subprocess.run(words, env=self.env, cwd="/", check=True, timeout=60)
        return self.supervisor()


@pytest.fixture
def apart() -> Iterator[Apart]:
    with fresh_world() as world:
        yield Apart(world.folder)


def test_sessions_outlive_the_environment_they_were_started_from(apart: Apart) -> None:
    supervisor = apart.start_supervisor()
    with open(f"/proc/{supervisor}/cmdline", "rb") as file:
        assert file.read().startswith(os.fsencode(apart.installed.folder))
    gate = f"{apart.folder}/gate"
    os.mkfifo(gate)
    with apart.client() as client:
        program = pour_by_steps(SIZE, seed=5, steps=STEPS, gate=gate, exit_code=9)
        session = client.spawn(program).id
        shell = client.spawn(["bash"]).id
        assert client.exec(shell, "x=kept").exit_code == 0
        with open(gate, "wb", buffering=0) as file:
            file.write(b".")
            until(lambda: len(apart.log(session)) >= SIZE // STEPS)
            os.rename(apart.installed.folder, f"{apart.installed.folder}-gone")
            pair_processes.kill_mover(apart, session)
            file.write(b".")
            until(lambda: len(apart.log(session)) >= 2 * SIZE // STEPS)
            pair_processes.kill_keeper(apart, session)
            file.write(b".")
        assert client.wait(session).exit_code == 9
        assert hashlib.sha256(apart.log(session)).hexdigest() == pour_digest(SIZE, seed=5)
        assert client.exec(shell, "echo $x").output == b"kept\n"
        new = client.spawn(["sh", "-c", "exit 3"]).id  # the zygote has all that it needs
        assert client.wait(new).exit_code == 3
    os.kill(supervisor, signal.SIGKILL)  # the next one cannot be started from there
    said = apart.run("exec", shell, "echo $x")
    assert said.returncode == 0 or (said.returncode == 125 and b"supervisor stop --leave" in said.stderr), said
    apart.ok("supervisor", "stop", "--leave")
    assert apart.ok("exec", shell, "echo $x") == "kept"  # by the Python of whoever asks

"""An interrupt while a shell still starts: it comes up whole, and the next command is right."""

from __future__ import annotations

import contextlib
import os
import random
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from orchctl import Client, SessionHandle
from orchctl.pair import tree
from tests.conformance.kinds import KINDS, Kind
from tests.needs import marks
from tests.world import World, until

EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])


def _spawn(client: Client, kind: Kind, home: str, start_up: str = "") -> SessionHandle:
    os.makedirs(os.path.dirname(f"{home}/{kind.file}"))
    with open(f"{home}/{kind.file}", "w", encoding="ascii") as file:
        file.write(start_up)
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn(kind.command, cwd=home, env=env)


def _is_right(shell: SessionHandle) -> None:
    done = shell.exec("echo up; sh -c 'exit 3'", wait_prompt_s=60)
    assert (done.exit_code, done.output) == (3, b"up\n"), done


def _has_begun(client: Client, shell: SessionHandle) -> None:
    until(lambda: client.info(shell.id).pid is not None)


def _name(pid: int) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:
        return file.read().strip()
    return b""


@EACH
def test_an_interrupt_does_not_take_the_marks_of_a_shell_that_starts(world: World, long_form: bool, kind: Kind) -> None:
    dice = random.Random(kind.name)
    with world.client() as client:
        for number in range(12 if long_form else 1):
            shell = _spawn(client, kind, f"{world.folder}/home{number}", f"/bin/sleep {0.2 * dice.random():.2f}\n")
            _has_begun(client, shell)
            client.interrupt(shell.id)
            _is_right(shell)
            shell.kill(grace_s=0)


@EACH
def test_what_a_start_up_file_runs_is_not_interrupted(world: World, kind: Kind) -> None:
    """It is held in the middle of that file, before it comes to its marks."""
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    with (
        open(os.open(gate, os.O_RDWR), "wb", buffering=0) as opener,
        world.client() as client,
        world.client() as other,
        ThreadPoolExecutor(1) as pool,
    ):
        shell = _spawn(client, kind, f"{world.folder}/home", f"head -n 1 {gate}; echo read\n")
        until(lambda: b"head" in map(_name, tree.children(client.info(shell.id).pid or 0)))
        interrupting = pool.submit(other.interrupt, shell.id)
        wait([interrupting], timeout=0.5)  # one that is not held is over by then
        opener.write(b"from the gate\n")
        interrupting.result()
        _is_right(shell)
        assert b"from the gate\r\nread\r\n" in world.log(shell.id)


@pytest.mark.long
@EACH
def test_a_start_that_hangs_can_be_interrupted(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(client, kind, f"{world.folder}/home", "/bin/sleep 1000\n")
        _has_begun(client, shell)
        client.interrupt(shell.id)
        _is_right(shell)
        assert shell.exec("echo next").output == b"next\n"

"""Only a prompt of the session's own shell ends a command: not one made by hand, not a mark that is printed."""

from __future__ import annotations

import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchctl import SessionHandle
from tests.conformance.case import Case
from tests.conformance.kinds import KINDS, Kind
from tests.conformance.prompts import CASES
from tests.conformance.runner import run
from tests.needs import marks
from tests.world import World, until

EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        pytest.param(kind, case, id=f"{kind.name}: {case.name}", marks=marks(kind.name))
        for kind in KINDS
        for case in CASES[kind.name]
    ],
)
def test_a_prompt_by_hand_ends_nothing(shared_world: World, kind: Kind, case: Case) -> None:
    faults = run(shared_world, case, kind=kind)
    assert not faults, "\n".join(faults)


@EACH
def test_old_marks_that_are_printed_end_nothing(shared_world: World, kind: Kind) -> None:
    """A log as it is, and one whose prompts have the numbers that are due next."""
    with shared_world.client() as client:
        home = tempfile.mkdtemp(prefix="home-", dir=shared_world.folder)
        shell = client.spawn(kind.command, cwd=home, env={"HOME": home})
        assert shell.exec("echo one").output == b"one\n"
        shell.wait_for("prompt", timeout_s=60)
        old = shared_world.log(shell.id)
        newest = max(int(number) for number in re.findall(rb";P;(\d+)", old))
        due = re.sub(rb";P;\d+", b";P;%d" % (newest + 1), old)
        for name, data in (("old", old), ("due", due), ("late", re.sub(rb";P;\d+", b";P;%d" % (newest + 500), old))):
            with open(f"{home}/{name}", "wb") as file:
                file.write(data)
            done = shell.exec(f"cat {name}; sleep 0.2; echo after; sh -c 'exit 3'")
            assert (done.exit_code, done.output.endswith(b"after\n")) == (3, True), (name, done)
            assert shell.exec(f"echo next {name}").output == f"next {name}\n".encode()
        shell.kill(grace_s=0)


@EACH
@pytest.mark.parametrize("then", ["echo after", "sleep 0.3; echo after", "sh -c 'sleep 1'; echo after"])
def test_an_end_that_a_command_prints_itself_is_not_believed(shared_world: World, kind: Kind, then: str) -> None:
    with shared_world.client() as client, ThreadPoolExecutor(1) as pool:
        home = tempfile.mkdtemp(prefix="home-", dir=shared_world.folder)
        shell = client.spawn(kind.command, cwd=home, env={"HOME": home})
        assert shell.exec("true").exit_code == 0
        wait = "sh -c 'until test -e forged; do sleep 0.05; done; cat forged'"
        running = pool.submit(shell.exec, f"{wait}; {then}; sh -c 'exit 3'")
        _forge(shared_world, shell, f"{home}/forged")
        done = running.result()
        assert (done.exit_code, done.output.endswith(b"after\n")) == (3, True), done
        assert shell.exec("echo next").output == b"next\n"
        shell.kill(grace_s=0)


def _forge(world: World, shell: SessionHandle, path: str) -> None:
    """The end mark of the second command that was begun, with a status of 0."""
    begun = re.compile(rb"\x1b\]6973;([0-9a-f]+);C;([^;\x07]+)[;\x07]")
    until(lambda: len(begun.findall(world.log(shell.id))) > 1)
    nonce, exec_id = begun.findall(world.log(shell.id))[1]
    with open(f"{path}.new", "wb") as file:
        file.write(b"\x1b]6973;%s;D;%s;0\x07" % (nonce, exec_id))
    os.rename(f"{path}.new", path)

"""A full disk under an agent's server and its conversations: they wait, and everything is told and said once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.agents import kits
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import fresh_world, until

pytestmark = needs("namespaces")


@pytest.fixture
def stage() -> Iterator[Stage]:
    """The scripted harness; only the state directory is on a file system of eight megabytes."""
    with fresh_world() as world:
        os.mkdir(world.state, 0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", world.state], check=True)
        try:
            with kits.scripted(world) as kit:
                kit.prepare(world)
                yield Stage(world, kit)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{world.state}/filler")
            world.end()
        finally:
            subprocess.run(["umount", "-l", world.state], check=True)


@contextlib.contextmanager
def _full(stage: Stage, leave_bytes: int = 0) -> Iterator[None]:
    """Until it is left, there is room for so much."""
    path = f"{stage.world.state}/filler"
    free = os.statvfs(stage.world.state)
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(4096, free.f_bavail * free.f_frsize - leave_bytes))
    try:
        yield
    finally:
        os.unlink(path)


def _stalled(stage: Stage, name: str = "it") -> str | None:
    found: str | None = stage.world.json("info", name)["stalled"]
    return found


def _open(gate: str) -> None:
    with open(gate, "w", encoding="ascii"):
        pass


@pytest.mark.parametrize("leave_bytes", [0, 20_000, 100_000])
def test_a_turn_waits_and_ends_with_every_word_once(stage: Stage, leave_bytes: int) -> None:
    stage.spawn()
    stage.spawn("other")
    gate = f"{stage.world.folder}/gate"
    script = f"say begun\ngate {gate}\ntool ls\ncount 5000 0\nthink hard\ntool ls\nsay over"
    running = stage.world.start("exec", "it", script)
    until(lambda: "begun" in stage.tells())
    with _full(stage, leave_bytes):
        _open(gate)
        until(lambda: _stalled(stage))
        assert "space" in (_stalled(stage) or "")
        assert stage.agent()["busy"]
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    said = [line for line in output.decode().splitlines() if not line.startswith("[")]
    assert said == ["begun", *map(str, range(5000)), "over"]
    assert [line for line in stage.tells().splitlines() if not line.startswith("[")] == said
    assert _stalled(stage) is None
    assert [one["phase"] for one in stage.events("tool")] == ["started", "updated", "finished"] * 2
    assert [one["phase"] for one in stage.events("turn")] == ["started", "finished"]
    assert "prompt number 2" in stage.says("recall")
    assert "prompt number 1" in stage.says("recall", "other")
    stage.world.ok("verify")


def test_a_prompt_that_cannot_be_written_down_is_not_said(stage: Stage) -> None:
    stage.spawn()
    stage.says("say first")
    with _full(stage):
        refused = stage.exec("# " + "x" * 9000 + "\nrecall", "--once", "mine", "--json")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (125, "no-space")
        assert b"Traceback" not in refused.stderr
    until(lambda: _stalled(stage) is None)
    again = stage.exec("# " + "x" * 9000 + "\nrecall", "--once", "mine")
    assert (again.returncode, "prompt number 2" in again.stdout.decode()) == (0, True)
    assert "prompt number 3" in stage.says("recall")


def test_a_conversation_ends_once_its_end_can_be_written_down(stage: Stage) -> None:
    session = stage.spawn()
    stage.says("say first")
    with stage.working("stay"), _full(stage):
        journal = f"{stage.world.state}/sessions/{session}/harness.jnl"
        with contextlib.suppress(OSError), open(journal, "ab", buffering=0) as file:
            file.write(b"\n" * (-os.stat(journal).st_size % 4096))  # the block that it ends in has room for more
        killing = stage.world.start("kill", "--grace", "1s", "it")
        until(lambda: b'"kill"' in stage.world.journal(session) or _stalled(stage))
    with stage.world.client() as client:
        assert client.wait("it", timeout_s=60).end_reason == "killed"
    killing.communicate(timeout=60)
    ends = [one["end"] for one in stage.events("turn") if one["phase"] == "finished"]
    assert ends == ["completed", "interrupted"]


def test_a_server_that_dies_on_a_full_disk_is_replaced(stage: Stage) -> None:
    stage.spawn()
    gate = f"{stage.world.folder}/gate"
    running = stage.world.start("exec", "it", f"say begun\ngate {gate}\ncount 5000 0\ntool ls\nsay last words\ndie")
    until(lambda: "begun" in stage.tells())
    with _full(stage, 20_000):
        _open(gate)
        until(lambda: _stalled(stage))
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert [line for line in output.decode().splitlines() if not line.startswith("[")] == [
        "begun",
        *map(str, range(5000)),
        "last words",
    ]
    assert "prompt number 2" in stage.says("recall")
    ends = [one["end"] for one in stage.events("turn") if one["phase"] == "finished"]
    assert ends == ["interrupted", "completed"]

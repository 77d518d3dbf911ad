"""`orchctl verify`: what real sessions leave is clean, what is damaged is named, and nothing is started for it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.log.built import MIDDLE, ONE, OTHER, Built, ended
from tests.world import World

NEAR = "11111111-2222-4222-8222-222222222222"  # begins as ONE does


@pytest.fixture
def root(world: World) -> Path:
    """A state directory that is built by hand."""
    path = Path(world.state)
    path.mkdir(0o700)
    (path / "sessions").mkdir(0o700)
    return path


def test_without_a_state_directory_all_is_well_and_none_is_made(world: World) -> None:
    assert world.json("verify") == {"sessions": 0, "bytes": 0, "findings": []}
    assert world.run("verify", "nobody").returncode == 3
    assert not os.path.exists(world.state)


def test_findings_are_lines_with_a_summary_or_one_document(world: World, root: Path) -> None:
    ended(root, OTHER)
    ended(root).flip(MIDDLE, 7)
    done = world.run("verify")
    finding, summary = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert re.fullmatch(rf"{ONE[:8]} wrong-bytes sessions/{ONE}/{MIDDLE}: .*4096 bytes.*", finding)
    assert summary == "sessions: 2, bytes of output: 16584, findings: 1"
    told = world.run("verify", "--json")
    found = json.loads(told.stdout)
    assert told.returncode == 1
    assert [found["sessions"], found["bytes"], len(found["findings"])] == [2, 16584, 1]
    assert set(found["findings"][0]) == {"session", "path", "kind", "detail"}
    quiet = world.run("verify", "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, b"", b"")


def test_a_session_is_chosen_by_id_prefix_or_name(world: World, root: Path) -> None:
    Built(root, NEAR, name="db").write(4)
    ended(root).flip(MIDDLE, 7)
    ended(root, OTHER)
    for word, status in ((ONE, 1), (ONE[:10], 1), (OTHER[:8], 0), ("db", 0)):
        assert world.run("verify", word).returncode == status
    assert world.run("verify", "db", ONE).returncode == 1
    assert world.run("verify", OTHER[:3]).returncode == world.run("verify", "nobody").returncode == 3
    assert json.loads(world.run("verify", ONE[:8], "--json").stderr)["code"] == "ambiguous-session"


def test_a_name_means_its_newest_bearer_and_damaged_specs_have_none(world: World, root: Path) -> None:
    for session, created_at in ((NEAR, 2.0), (ONE, 3.0), (OTHER, 1.0)):
        built = Built(root, session, name="db")
        built.write(4)
        spec = built.path("spec.json")
        spec.write_text(spec.read_text().replace('"created_at": 1.0', f'"created_at": {created_at}'))
    (root / "sessions" / ONE / "seals.jnl").write_bytes(b"damage\n")
    assert world.run("verify", "db").returncode == 1
    (root / "sessions" / ONE / "spec.json").write_bytes(b"[]")
    assert world.run("verify", "db").returncode == 0
    assert world.run("verify", ONE).returncode == 1


def test_hostile_names_of_files_are_shown_as_text(world: World, root: Path) -> None:
    (ended(root).folder / "out" / "\x1b]0;owned\x07\n").touch()
    done = world.run("verify")
    assert done.returncode == 1
    assert b"^[]0;owned^G" in done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_what_real_sessions_leave_is_clean_alive_and_ended(world: World) -> None:
    live = world.ok("spawn", "--name", "live", "sh", "-c", "seq 1 20000; exec sleep 1000")
    over = world.ok("spawn", "--wait", "seq", "1", "1000")
    assert world.json("verify")["findings"] == []
    assert world.json("verify", "live")["sessions"] == 1
    assert world.ok("verify", over, live).endswith("findings: 0")


def test_damage_to_a_real_session_is_named_and_starts_nothing(world: World) -> None:
    session = world.ok("spawn", "--wait", "seq", "1", "1000")
    world.ok("supervisor", "stop", "--kill")
    journal = Path(world.state, "sessions", session, "run.jnl")
    journal.write_bytes(journal.read_bytes().replace(b"started", b"Started"))
    done = world.run("verify", "--json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, finding["kind"]) == (1, "bad-line")
    assert (finding["session"], finding["path"]) == (session, f"sessions/{session}/run.jnl")
    assert world.run("supervisor", "status").returncode == 1


def test_a_state_directory_open_to_others_is_refused(world: World, root: Path) -> None:
    root.chmod(0o755)
    done = world.run("verify", "--json")
    assert (done.returncode, json.loads(done.stderr)["code"]) == (4, "bad-state-dir")
    root.chmod(0o700)

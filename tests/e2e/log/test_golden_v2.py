"""What the second recorded version wrote opens for ever, and every reading verb says of it what was said then."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import readings
from tests.golden.readings import AGAIN, open_copy, says_at_least, settle
from tests.world import World, fresh_world, until

TOP = Path(__file__).parents[2]
V2 = TOP / "golden" / "v2"
STORE = TOP.parent / "docs" / "STORE.md"
LEFT = {"left": "lost", "left-pipe": "lost", "left-held": "lost"}


@pytest.fixture(scope="module", params=["put away", "as it was left"])
def old(request: pytest.FixtureRequest) -> Iterator[tuple[World, list[dict[str, Any]]]]:
    """A copy that the present code has opened, and all that it said of it; nobody changes it afterwards."""
    with fresh_world() as world:
        put_away = request.param == "put away"
        open_copy(V2 / "state", world, put_away=put_away)
        yield world, list(readings.everything(world, readings.stamps(V2 / "state"), exports=put_away))


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (V2 / readings.SAID).read_text().splitlines()]


def printed(world: World, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.ok("events", *words).splitlines()]


def test_every_reading_verb_says_what_it_said(old: tuple[World, list[dict[str, Any]]]) -> None:
    _, said = old
    asked = {one["asked"]: one for one in said}
    known = {one["asked"]: one for one in recorded()}
    assert len(asked) > 100
    assert set(asked) <= set(known)
    different = [(known[words], one) for words, one in asked.items() if not says_at_least(one, known[words])]
    assert different == []


def test_events_are_those_in_the_journal_and_go_on_with_the_next_number(old: tuple[World, list[Any]]) -> None:
    world, _ = old
    kept = readings.events(V2 / "state")
    found = {one["seq"]: one for one in printed(world) if "seq" in one}
    for event in kept:
        assert says_at_least(found[event["seq"]], {key: event[key] for key in ("type", "session", "time", "who")})
    done = [json.loads(line) for line in world.ok("audit", "--json").splitlines()]
    assert len(done) > 50
    for deed in done:
        assert says_at_least(deed, {key: found[deed["seq"]][key] for key in ("type", "session", "time", "who")})
    last = kept[-1]["seq"]
    assert min(seq for seq in found if seq > last) == last + 1
    assert sorted(found) == [*sorted(one["seq"] for one in kept), *(seq for seq in sorted(found) if seq > last)]


def test_the_chain_holds_from_what_was_noted_then(old: tuple[World, list[Any]]) -> None:
    world, _ = old
    noted = next(one["out"] for one in recorded() if one["asked"] == "before: audit --verify")
    head = re.search(r"^head (\S+)$", noted, re.MULTILINE)
    assert head is not None
    assert world.run("audit", "--verify", "--head", head[1]).returncode == 0


def test_what_was_left_live_is_lost_and_its_log_is_kept(old: tuple[World, list[Any]]) -> None:
    world, _ = old
    for name, reason in LEFT.items():
        info = world.json("info", name)
        assert (info["state"], info["end_reason"], info["exit_code"]) == ("closed", reason, None), name
        kept = b"".join(path.read_bytes() for path in sorted((V2 / f"state/sessions/{info['id']}/out").glob("*.seg")))
        assert world.run("tail", "--raw", "-n", "all", name).stdout == kept
    assert world.run("tail", "-n", "all", "left-pipe").stdout == b"up\n"
    assert [one["status"] for one in world.json("history", "left")] == ["exited", "error"]
    assert world.json("lease", "show", "left-held")["lease"] is None
    again = world.json("info", AGAIN)
    assert (again["run"], again["state"]) == (2, "live")


def test_it_goes_on_from_there(world: World) -> None:
    open_copy(V2 / "state", world)
    settle(world)
    before = [one["seq"] for one in printed(world) if "seq" in one]
    done = world.run("spawn", "--follow", "--", "echo", "hello", cwd="/")
    assert (done.returncode, done.stdout) == (0, b"hello\n")
    after = [one["seq"] for one in printed(world) if "seq" in one]
    assert after[: len(before)] == before
    assert after[len(before) :] == list(range(before[-1] + 1, after[-1] + 1))
    assert world.ok("spawn", "--name", "work", "-w", "/", "--", "true")  # nobody has the name any more
    _goes_on_where_it_ended(world)
    found = json.loads(world.run("verify", "--json").stdout)["findings"]
    assert [one["kind"] for one in found] == ["quarantine"]  # which the recording has


def _goes_on_where_it_ended(world: World) -> None:
    """An ended session of the recording gets another run, in the same log."""
    old = world.json("info", "alone")
    assert (old["state"], old["run"], old["cwd"]) == ("closed", 1, "/")
    world.ok("restart", old["id"])
    world.ok("send", old["id"], "more")
    until(lambda: world.log(old["id"]).endswith(b"more\r\n" * 2))
    new = world.json("info", old["id"])
    assert (new["run"], new["state"]) == (2, "live")
    assert new["output"]["next_offset"] == old["output"]["next_offset"] + len(b"more\r\n" * 2)


def test_an_ended_owner_takes_its_state_directory_with_it(world: World) -> None:
    open_copy(V2 / "ephemeral", world)
    assert re.fullmatch(r"\d+ \d+\n", (V2 / "ephemeral" / "owner").read_text())
    assert world.run("verify").returncode == 0
    world.run("list")
    until(lambda: not os.path.exists(world.state))


NEWER = {"clock.json", "config-path"}  # what versions after the recording's began to write


def test_every_kind_of_file_that_is_documented_is_recorded() -> None:
    (listing,) = re.findall(r"```\n(.*?)```", STORE.read_text(), re.DOTALL)[:1]
    names = re.findall(r"^(?:<[^>]*>|\S)+", listing, re.MULTILINE)
    assert len(names) > 15
    found = [
        str(path.relative_to(V2 / folder)) for folder in ("state", "ephemeral") for path in (V2 / folder).rglob("*")
    ]
    assert set(names) >= NEWER
    for name in [*(name for name in names if name not in NEWER), "sessions/<id>/stderr.log.1"]:
        pattern = re.sub(r"<[^>]*>", "*", name).rstrip("/")
        assert fnmatch.filter(found, pattern), f"no file of the kind {name} is in the recording"


def test_every_backend_and_every_end_is_recorded() -> None:
    infos = [one["out_json"][0] for one in recorded() if one["asked"].startswith("info ")]
    assert {one["backend"] for one in infos} == {"pty", "pipe", "codex", "claude", "opencode", "acp"}
    ends = {one["end_reason"] for one in infos}
    assert ends >= {"exited", "signaled", "killed", "timeout", "idle-timeout", "lost"}


def test_nothing_of_a_machine_is_recorded() -> None:
    for path in V2.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            assert not re.search(rb"(?<!-golden)/(?:root|work)/|/home/\w|\.venv", text), path

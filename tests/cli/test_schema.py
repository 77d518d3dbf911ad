"""The schemas: what real commands print is what they say, with nothing more and nothing missing."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

import orchctl.session
from orchctl.cli.schema import document
from orchctl.cli.shapes import SHAPES
from orchctl.session.tale import Tale
from tests.generate.tree import tree
from tests.world import World

# printed in another form, which has a shape of its own: `result` and `tail`
OTHERWISE = {"Selection", "Search", "Line", "Count", "Size", "Result", "Chunk", "Gap", "Limits", "Painting"}
OTHERWISE |= {"Agent", "Profile", "CommandWait"}
RULES = {
    "Credit",
    "Change",
    "_Kept",
    "Move",
    "Rights",
    "Attached",
    "Claim",
    "Identity",
    "Held",
    "Use",
    "Bound",
    "Owner",
}
RULES |= {"Run", "Anchor", "Sight"}  # what decisions are made from; never printed
HAPPENINGS = "orchctl.session.events"  # printed as events, which have shapes of their own
STREAMS = {"tail", "events", "search", "audit", "supervisor logs"}


def _closed(name: str) -> Draft202012Validator:
    """Its schema, in which nothing may be that it does not name."""
    schema = document(name)
    for one in schema["$defs"].values():
        if "properties" in one:
            one["additionalProperties"] = False
    return Draft202012Validator(schema)


def _check(name: str, value: Any) -> Any:
    error = best_match(_closed(name).iter_errors(value))
    assert error is None, f"{name}: {error.message} in {value}" if error else ""
    return value


def _shape_of(command: str) -> str:
    (name,) = [name for name, (_, printed_by) in SHAPES.items() if command in printed_by]
    return name


def _said(world: World, *words: str, status: int = 0) -> Any:
    """What a command prints with --json, checked against the shape that it is said to print."""
    at = 2 if words[0] in ("supervisor", "config") else 1
    done = world.run(*words[:at], "--json", *words[at:])
    assert done.returncode == status, done
    shape = _shape_of(" ".join(words[:at]))
    if " ".join(words[:at]) in STREAMS:
        return [_check(shape, json.loads(line)) for line in done.stdout.splitlines()]
    return _check(shape, json.loads(done.stdout))


def test_the_schemas_are_schemas(world: World) -> None:
    whole = json.loads(world.ok("schema"))
    assert whole == document()
    assert set(SHAPES) <= set(whole["$defs"])
    Draft202012Validator.check_schema(whole)
    for name in SHAPES:
        one = json.loads(world.ok("schema", name))
        assert one == document(name)
        assert one["$ref"] == f"#/$defs/{name}"
        Draft202012Validator.check_schema(one)
        assert set(one["$defs"]) <= set(whole["$defs"])
        assert {**one["$defs"], **whole["$defs"]} == whole["$defs"] | one["$defs"]
    done = world.run("schema", "no-such-shape", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert "session" in _check("error", json.loads(done.stderr))["message"]


def test_every_command_that_prints_json_has_a_shape() -> None:
    printing = {
        node.name for node in tree().walk() for option in node.options if "--json" in option.names and node.path
    }
    shaped = [command for _, printed_by in SHAPES.values() for command in printed_by]
    assert sorted(shaped) == sorted(printing - {"schema"}), "SHAPES in orchctl/cli/shapes.py"


def test_every_dataclass_of_the_model_that_is_printed_has_a_schema() -> None:
    known = set(document()["$defs"])
    for found in pkgutil.iter_modules(orchctl.session.__path__, "orchctl.session."):
        if found.name == HAPPENINGS:
            continue
        module = importlib.import_module(found.name)
        kinds = {
            name for name, one in vars(module).items() if dataclasses.is_dataclass(one) and one.__module__ == found.name
        }
        assert kinds - known - OTHERWISE - RULES == set()


def test_every_field_of_a_dataclass_is_in_its_schema_and_required() -> None:
    from orchctl.session.model import Session

    schema = document("session")["$defs"]["Session"]
    fields = [field.name for field in dataclasses.fields(Session)]
    assert list(schema["properties"]) == schema["required"] == fields
    assert schema["properties"]["name"] == {"type": ["string", "null"]}
    assert schema["properties"]["leftover"] == {"type": "array", "items": {"type": "integer"}}
    assert "live" in schema["properties"]["state"]["enum"]


def test_a_wrong_value_is_refused(world: World) -> None:
    session = _said(world, "spawn", "--wait", "true")
    wrongs: list[dict[str, Any]] = [{"pid": "1"}, {"state": "dead"}, {"leftover": [1.5]}, {"output": {}}, {"new": 1}]
    for wrong in wrongs:
        assert list(_closed("session").iter_errors(session | wrong)), wrong
    assert list(_closed("session").iter_errors({name: session[name] for name in session if name != "run"}))
    assert Draft202012Validator(document("session")).is_valid(session | {"new": 1})  # later versions may add


def test_sessions_and_what_is_done_to_them(world: World) -> None:
    _said(world, "spawn", "--name", "db", "sleep", "1000")
    _said(world, "spawn", "--wait", "sh", "-c", "exit 3", status=3)
    _said(world, "spawn", "--no-pty", "--stdin=open", "--name", "pipe", "--timeout", "1h", "cat")
    assert [one["name"] for one in _said(world, "list")] == ["db", "pipe"]
    assert len(_said(world, "list", "-a")) == 3
    _said(world, "info", "db")
    for words in (["signal", "db", "CONT"], ["resize", "db", "100x30"], ["pause", "db"], ["unpause", "db"]):
        _said(world, *words)
    _said(world, "send", "db", "hello")
    _said(world, "restart", "db")
    assert _said(world, "kill", "db")["survivors"] == []
    _said(world, "wait", "db", status=128 + world.json("info", "db")["signal"])
    assert len(_said(world, "kill-by-manager", "user")["ended"]) == 1
    assert len(_said(world, "prune", "db", "--dry-run")["sessions"]) == 1


def test_commands_and_their_results(world: World) -> None:
    world.ok("spawn", "--name", "work", "bash")
    world.ok("wait", "work", "--for", "prompt")
    assert _said(world, "exec", "work", "echo hi")["output"] == "hi\n"
    assert "output_b64" in _said(world, "exec", "work", r"printf '\377\0'")
    assert "errors" in _said(world, "exec", "work", "--pipe", "echo x; echo y >&2; false", status=1)
    assert _said(world, "exec", "work", "--max-output", "2", "echo long")["truncated"]
    assert _said(world, "exec", "work", "--timeout", "1s", "sleep 1000", status=124)["status"] == "timeout"
    assert _said(world, "exec", "work", "--detach", "sleep 1000")["status"] == "running"
    _said(world, "interrupt", "work")
    assert _said(world, "wait", "work", "--for", "prompt")["condition"] == "prompt"
    assert _said(world, "wait", "work", "--for", "quiet=100ms")["condition"] == "quiet"
    assert [one["number"] for one in _said(world, "history", "work")] == [1, 2, 3, 4, 5, 6]
    world.ok("send", "work", "--no-enter", "echo rea'd'y")
    world.ok("send", "work", "")
    told = _said(world, "wait", "work", "--for", "output=ready")
    assert (told["condition"], told["asked"], told["match"]) == ("output", "output=ready", "ready")


def test_output_and_events(world: World) -> None:
    world.ok("spawn", "--name", "one", "--wait", "printf", r"a\n\377")
    world.ok("spawn", "--name", "two", "sh", "-c", "cat; echo end")
    assert {"output", "output_b64"} & set(_said(world, "tail", "one")[0])
    assert _said(world, "tail", "-t", "-n", "all", "one")[0]["time"] > 0
    world.ok("send", "two", "typed")
    world.ok("wait", "two", "--for", "output=typed")
    world.ok("resize", "two", "90x20")
    world.ok("interrupt", "two")
    world.run("wait", "two")
    world.ok("spawn", "--name", "shell", "bash")
    world.run("exec", "shell", "--wait-prompt", "1m", "false")
    world.ok("prune", "--output", "one")
    assert [line["type"] for line in _said(world, "tail", "-n", "all", "one")] == ["gap"]
    ended = _said(world, "wait", "one", "two", status=1)
    assert [session["name"] for session in ended] == ["one", "two"]
    events = _said(world, "events")
    kinds = {(event["type"], event.get("phase") or event.get("state") or event.get("action")) for event in events}
    assert {("command", "started"), ("command", "finished"), ("input", "resize"), ("input", None)} <= kinds
    assert {("session.state", state) for state in ("idle", "bootstrapping", "live", "closed")} <= kinds


def test_events_that_need_a_broken_disk_or_a_long_time(world: World) -> None:
    """Told by what tells them; the common fields are those of an event that was seen."""
    world.ok("spawn", "--wait", "true")
    seen = _said(world, "events")[0]
    common = {name: seen[name] for name in ("seq", "time", "session", "run", "managed_by", "backend", "who")}
    tale = Tale(prompts=False)
    for record in ({"type": "dropped", "first": 0, "end": 9}, {"type": "fs-error", "message": "no space"}):
        (event,) = tale.of_run(record | {"time": 1.0})
        _check("event", common | event)
    gap = {"type": "gap", "session": None, "first_seq": 1, "end_seq": 9}
    _check("event", gap)  # to a reader that was overtaken
    _check("event", {"seq": 9, "time": 1.0, **gap})  # in the journal
    assert list(_closed("event").iter_errors(gap | {"session": "x"}))


def test_the_store_the_supervisor_and_errors(world: World) -> None:
    assert not _said(world, "supervisor", "status", status=1)["running"]
    assert not _said(world, "supervisor", "stop")["stopped"]
    assert _said(world, "supervisor", "start")["running"]
    assert _said(world, "supervisor", "restart")["old_pid"]
    session = world.ok("spawn", "--wait", "echo", "x")
    assert _said(world, "verify")["findings"] == []
    assert _said(world, "supervisor", "stop")["stopped"]
    os.unlink(f"{world.state}/sessions/{session}/run.jnl")
    assert _said(world, "verify", status=1)["findings"]
    assert _said(world, "completion", "bash")["shell"] == "bash"


def test_what_keeps_it_going(world: World) -> None:
    world.ok("spawn", "--name", "one", "--wait", "true")
    _said(world, "config", "set", "limits.user.sessions", "1")
    world.ok("spawn", "--name", "two", "bash")
    world.ok("exec", "two", "--wait-prompt", "1m", "true")
    assert world.run("spawn", "true").returncode == 6
    world.ok("prune", "one")
    world.ok("kill", "two")
    deeds = {deed["deed"] for deed in _said(world, "audit")}
    assert {"spawn", "exec", "limit", "prune", "kill"} <= deeds
    (chain,) = _said(world, "audit", "--verify")
    assert (chain["findings"], chain["first_seq"]) == ([], 1)
    assert {"limit", "input"} <= {event["type"] for event in _said(world, "events")}
    assert _said(world, "limits")
    assert _said(world, "supervisor", "logs", "-n", "5")
    _said(world, "doctor", status=world.run("doctor").returncode)
    for words in (["show"], ["path"], ["get", "idle_exit"], ["check"], ["unset", "limits.user.sessions"]):
        _said(world, "config", *words)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write("idel_exit = 3\n")
    assert _said(world, "config", "check", status=1)["problems"]
    assert _said(world, "config", "show", status=1)["problems"]


@pytest.mark.parametrize(
    "words", [["info", "nobody"], ["list", "--what"], ["resize", "x", "0x0"], ["exec", "nobody", "x"]]
)
def test_errors(world: World, words: list[str]) -> None:
    world.ok("spawn", "--wait", "true")
    done = world.run(words[0], "--json", *words[1:])
    assert done.returncode != 0
    _check("error", json.loads(done.stderr))

"""Several sessions at once: by name, manager, label, repository, from stdin, and all of them."""

from __future__ import annotations

import json
import os

import pytest

from tests.world import World, until

LONG = ["sleep", "1000"]


def _four(world: World) -> dict[str, str]:
    os.makedirs(f"{world.folder}/work/.git")
    os.makedirs(f"{world.folder}/work/deep/below")
    return {
        "a": world.ok("spawn", "--name", "a", "-m", "boss", "-l", "k=1", *LONG),
        "b": world.ok("spawn", "--name", "b", "-m", "boss:sub", "-l", "k=1", "-l", "j=x", *LONG),
        "c": world.ok("spawn", "--name", "c", "-m", "boss-2", "-l", "k=2", *LONG),
        "d": world.ok("spawn", "--name", "d", "-w", f"{world.folder}/work/deep", *LONG),
    }


def test_every_selector_chooses_whom_it_says(world: World) -> None:
    ids = _four(world)
    names = {session: name for name, session in ids.items()}

    def chosen(*words: str) -> str:
        return "".join(sorted(names[line] for line in world.ok("list", "-q", *words).split()))

    assert chosen() == "abcd"
    assert chosen("@boss") == chosen("-m", "boss") == "ab"
    assert chosen("-m", "boss", "-m", "boss-2") == chosen("@boss", "@boss-2") == "abc"
    assert chosen("-l", "k=1") == "ab"
    assert chosen("-l", "k=1", "-l", "j=x") == "b"
    assert chosen("@boss", "-l", "j=x") == "b"
    assert chosen("--repo", f"{world.folder}/work/deep/below") == chosen("--repo", f"{world.folder}/work") == "d"
    assert chosen("--repo", world.folder) == ""
    assert chosen("a", ids["c"][:8]) == "ac"
    assert chosen("a", "@boss:sub") == "ab"
    assert chosen("-m", "nobody") == ""
    done = world.run("list", "-q", "-", input=f"b\n\n{ids['d']}\n".encode(), stdin=None)
    assert sorted(done.stdout.decode().split()) == sorted([ids["b"], ids["d"]])


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["nobody"], 3, "no-such-session"),
        (["a", "-l", "k=1"], 2, "bad-selection"),
        (["-l", "novalue"], 2, "usage"),
        (["-m", "x::y"], 2, "bad-manager"),
        (["@"], 2, "bad-manager"),
    ],
)
def test_a_selector_that_means_nothing_is_an_error(world: World, words: list[str], status: int, code: str) -> None:
    world.ok("spawn", "--name", "a", *LONG)
    for command in ("list", "kill", "wait", "tail", "pause", "events", "prune"):
        done = world.run(command, "--json", *words)
        assert done.returncode in (status, 125), (command, done)
        assert json.loads(done.stderr.splitlines()[-1])["code"] == code
    assert world.json("info", "a")["is_alive"]


def test_commands_that_change_sessions_need_to_be_told_which(world: World) -> None:
    world.ok("spawn", "--name", "a", *LONG)
    for command in ("kill", "pause", "unpause", "restart", "tail", "wait", "label"):
        done = world.run(command)
        assert done.returncode in (2, 125)
        assert b"orchctl: " in done.stderr
    assert world.json("info", "a")["is_alive"]


def test_kill_ends_whom_it_chooses_and_nobody_else(world: World) -> None:
    ids = _four(world)
    dry = world.run("kill", "--dry-run", "@boss")
    assert (dry.stdout, dry.returncode) == (b"2\n", 0)
    assert dry.stderr.count(b"would end") == 2
    assert world.json("kill", "--dry-run", "-l", "k=1")["would_end"] == [ids["a"], ids["b"]]
    assert world.ok("kill-by-manager", "--dry-run", "--exact", "boss") == "1"
    assert len(world.ok("list", "-q").split()) == 4
    assert world.ok("kill", "-l", "k=1") == "2"
    assert world.ok("kill", "-l", "k=1") == "0"
    assert sorted(world.ok("list", "-q").split()) == sorted([ids["c"], ids["d"]])
    assert world.ok("kill", "a") == "0"
    assert world.ok("kill", "--all") == "2"


def test_kill_asks_with_the_signal_that_is_wanted(world: World) -> None:
    said = world.ok("spawn", "sh", "-c", "trap 'echo usr1; exit 7' USR1; echo ready; while :; do sleep 0.1; done")
    deaf = world.ok("spawn", "sh", "-c", "trap '' INT; echo ready; while :; do sleep 1; done")
    for session in (said, deaf):
        world.ok("wait", session, "--for", "output=ready")
    assert world.ok("kill", "-s", "USR1", said) == "1"
    ended = world.json("info", said)
    assert (ended["exit_code"], ended["end_reason"]) == (7, "killed")
    assert world.ok("kill", "-s", "SIGINT", "--grace", "0.3s", deaf) == "1"
    assert world.json("info", deaf)["end_reason"] == "killed"
    assert world.run("kill", "-s", "NOPE", said).returncode == 2


def test_pause_signal_resize_and_restart_reach_several(world: World) -> None:
    ids = _four(world)
    assert {one["paused"] for one in world.json("pause", "@boss")} == {True}
    assert [one["paused"] for one in world.json("list")] == [True, True, False, False]
    assert world.ok("unpause", "@boss") == ""
    assert world.json("resize", "a", "100x30")["cols"] == 100
    assert [one["rows"] for one in world.json("resize", "-l", "k=1", "90x20")] == [20, 20]
    assert world.ok("restart", "@boss").split() == ["run", "2", "run", "2"]
    world.ok("signal", "@boss", "TERM")
    for name in "ab":
        assert world.run("wait", ids[name]).returncode == 128 + 15
    assert world.ok("signal", "@boss", "TERM") == ""


def test_a_session_may_be_called_otherwise_while_it_lives(world: World) -> None:
    session = world.ok("spawn", "--name", "old", "-l", "k=1", *LONG)
    world.ok("spawn", "--name", "other", *LONG)
    assert world.run("rename", "old", "other").returncode == 5
    assert world.run("rename", "old", "bad name").returncode == 2
    world.ok("rename", "old", "new")
    assert world.json("info", "new")["id"] == session
    assert world.run("info", "old").returncode == 3
    world.ok("spawn", "--name", "old", *LONG)
    world.ok("label", "new", "j=2", "k=3")
    assert world.ok("label", "new").split() == ["j=2", "k=3"]
    world.ok("label", "--remove", "k", "new")
    assert world.json("info", "new")["labels"] == {"j": "2"}
    os.kill(world.supervisor(), 9)
    again = world.json("info", "new")
    assert (again["id"], again["labels"]) == (session, {"j": "2"})
    world.ok("restart", "new")
    assert (world.json("info", session)["name"], world.json("info", session)["labels"]) == ("new", {"j": "2"})
    world.ok("kill", "new")
    assert world.run("rename", "new", "later").returncode == 3
    assert world.run("label", "new", "a=b").returncode == 3
    assert world.json("info", "new")["labels"] == {"j": "2"}
    told = [json.loads(line) for line in world.ok("events", session).splitlines()]
    assert [event["labels"] for event in told if "labels" in event] == [{"j": "2", "k": "3"}, {"j": "2"}]


def test_wait_tells_each_end_and_the_first_with_any(world: World) -> None:
    slow = world.ok("spawn", "-m", "w", "--name", "slow", "sh", "-c", "read x; exit 3")
    quick = world.ok("spawn", "-m", "w", "--name", "quick", "true")
    first = world.run("wait", "--any", "@w")
    assert (first.stdout.decode().strip(), first.returncode) == (quick, 0)
    waiting = world.start("wait", "@w")
    world.ok("send", slow, "go")
    out, _ = waiting.communicate(timeout=60)
    assert sorted(out.decode().split("\n")) == ["", "quick  0", "slow  3"]
    assert waiting.returncode == 1
    assert world.run("wait", "--timeout", "0.2s", world.ok("spawn", *LONG), quick).returncode == 124
    assert world.run("wait", "@nobody").returncode == 3
    both = json.loads(world.run("wait", "--json", "slow", "quick").stdout)
    assert {one["exit_code"] for one in both} == {0, 3}


def test_events_are_chosen_like_sessions(world: World) -> None:
    ids = _four(world)

    def told(*words: str) -> set[str]:
        return {json.loads(line)["session"] for line in world.ok("events", *words).splitlines()}

    until(lambda: told() >= set(ids.values()))
    assert told("@boss") == told("-l", "k=1") == {ids["a"], ids["b"]}
    assert told("--repo", f"{world.folder}/work") == {ids["d"]}
    assert told("c") == {ids["c"]}


def test_prune_takes_the_ended_ones_of_those_it_chooses(world: World) -> None:
    _four(world)
    world.ok("kill", "a")
    until(lambda: world.json("prune", "--dry-run", "@boss")["sessions"], "the session is never put away")
    assert world.ok("prune", "@boss").startswith("1 sessions pruned")
    assert world.ok("prune", "@boss").startswith("0 sessions pruned")
    assert world.ok("prune", "-m", "nobody").startswith("0 sessions pruned")
    assert len(world.ok("list", "-a", "-q").split()) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["top"],
        ["info", "x"],
        ["tail", "x"],
        ["tail", "@m"],
        ["history", "x"],
        ["wait", "x"],
        ["wait", "@m"],
        ["wait", "x", "--for", "output=y"],
        ["kill", "x"],
        ["kill", "--all"],
        ["kill-by-manager", "m"],
        ["send", "x", "text"],
        ["exec", "x", "true"],
        ["interrupt", "x"],
        ["pause", "x"],
        ["rename", "x", "y"],
        ["label", "x", "a=b"],
        ["prune", "x"],
    ],
    ids=" ".join,
)
def test_where_there_is_no_session_nothing_is_started_to_say_so(world: World, words: list[str]) -> None:
    done = world.run(*words)
    assert done.returncode in ({0, 3, 125} if words[0] in ("wait", "exec", "kill", "tail", "prune") else {0, 3})
    assert b"Traceback" not in done.stderr
    assert not os.path.exists(f"{world.state}/supervisor.sock")

"""`wait` in all its forms: several conditions, several sessions, which fired, and what cannot be waited for."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from orchctl import OrchctlError
from orchctl.errors import NoSuchSession, TimedOut
from orchctl.session.model import Happened
from tests.world import World, until

SAYS = ("sh", "-c", "echo early; read x; echo got $x; read y; exit 7")


def test_several_sessions_are_told_as_they_come_to_hold(world: World) -> None:
    world.ok("spawn", "--name", "one", *SAYS)
    world.ok("spawn", "--name", "two", "sh", "-c", "read x; echo late; sleep 1000")
    waiting = world.start("wait", "one", "two", "--for", "output=(early|late)", "--for", "exit", "--json")
    world.ok("send", "two", "go")
    told = json.loads(waiting.communicate()[0])
    found = {(one["condition"], one["asked"], one["session"]["name"], one["match"]) for one in told}
    condition = "output=(early|late)"
    assert found == {("output", condition, "one", "early"), ("output", condition, "two", "late")}
    lines = world.ok("wait", "one", "two", "--for", "output=early|late").splitlines()
    assert sorted(lines) == ["one  output=early|late", "two  output=early|late"]


def test_the_first_of_several_conditions_is_named(world: World) -> None:
    world.ok("spawn", "--name", "s", *SAYS)
    assert world.ok("wait", "s", "--for", "input", "--for", "exit") == "input"
    assert world.ok("wait", "s", "--for", "state=closed", "--for", "state=live") == "state=live"
    told = world.json("wait", "s", "--for", "output=nothing", "--for", "quiet=100ms")
    assert (told["condition"], told["asked"], told["session"]["name"]) == ("quiet", "quiet", "s")
    waiting = world.start("wait", "s", "--for", "output=never", "--for", "state=closed")
    world.ok("send", "s", "a")
    world.ok("send", "s", "b")
    assert (waiting.communicate()[0], waiting.returncode) == (b"state=closed\n", 0)
    assert world.ok("wait", "s", "--for", "exit", "--for", "input") == "exit"


def test_any_gives_the_first_one_and_its_id(world: World) -> None:
    asks = world.ok("spawn", "cat")
    sleeps = world.ok("spawn", "sleep", "1000")
    assert world.ok("wait", "--any", sleeps, asks, "--for", "input", "--for", "exit") == f"{asks}  input"
    ended = world.ok("spawn", "--wait", "--json", "true")
    gone = json.loads(ended)["id"]
    assert world.json("wait", "--any", gone, asks, "--for", "input")["session"]["id"] == asks
    none = world.run("wait", "--any", gone, "--for", "input", "--json")
    assert (none.returncode, json.loads(none.stderr)["code"]) == (3, "session-ended")


def test_output_is_looked_at_from_the_last_input_or_as_said(world: World) -> None:
    world.ok("spawn", "--name", "s", *SAYS)
    assert world.ok("wait", "s", "--for", "output=^early$") == "early"
    world.ok("wait", "s", "--for", "input")
    end = world.json("info", "s")["output"]["next_offset"]
    world.ok("send", "s", "word")
    assert world.ok("wait", "s", "--for", "output=^got word$") == "got word"
    assert world.run("wait", "s", "--for", "output=early", "--timeout", "200ms").returncode == 124
    assert world.ok("wait", "s", "--for", "output=early", "--since", "@0") == "early"
    assert world.ok("wait", "s", "--for", "output=early", "--since", "1h") == "early"
    assert world.run("wait", "s", "--for", "output=early", "--since", f"@{end}", "--timeout", "200ms").returncode == 124
    assert world.run("wait", "s", "--for", "output=got", "--new", "--timeout", "200ms").returncode == 124


def test_new_output_is_what_comes_from_now_on(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["sh", "-c", "echo tick; while read x; do echo tick; done"])
        session.wait_for_output("tick")
        session.wait_for("input")
        waiting = world.start("wait", session.id, "--for", "output=tick", "--new", "--json")

        def tick() -> bool:
            session.send(b"x\n")
            return waiting.poll() is not None

        until(tick)
        out, _ = waiting.communicate()
    assert (waiting.returncode, json.loads(out)["match"]) == (0, "tick")


def test_a_session_that_ends_before_is_an_error_that_says_so(world: World) -> None:
    world.ok("spawn", "--name", "s", *SAYS)
    other = world.ok("spawn", "cat")
    waiting = world.start("wait", "s", other, "--for", "output=never", "--for", "quiet=1000s", stderr=-1)
    world.ok("send", "s", "a")
    world.ok("send", "s", "b")
    _, error = waiting.communicate()
    assert waiting.returncode == 3
    assert b"s ended" in error
    for condition in ("input", "state=live", "quiet=1000s", "output=never"):
        done = world.run("wait", "s", "--for", condition, "--json")
        assert (done.returncode, json.loads(done.stderr)["code"]) == (3, "session-ended"), condition
    assert world.ok("wait", "s", "--for", "output=got a", "--since", "@0") == "got a"


def test_the_last_words_of_a_session_are_searched_before_it_is_given_up(world: World) -> None:
    with world.client() as client:
        for _ in range(5):
            session = client.spawn(["sh", "-c", "sleep 0.1; echo done"])
            (found,) = client.wait_for_each([session.id], ["output=done", "input"], timeout_s=60)
            assert (found.condition, found.match) == ("output=done", b"done")


def test_waiting_goes_on_when_the_supervisor_is_killed(world: World) -> None:
    with world.client() as client:
        sessions = [client.spawn(["sh", "-c", "read x; echo said $x; read y"]) for _ in range(3)]
        for session in sessions:
            session.wait_for("input")
        found = client.wait_for_each([one.id for one in sessions], ["output=said [a-z]+", "exit"], timeout_s=60)
        with world.client() as other:
            other.send(sessions[1].id, b"b\n")
            first = next(found)
            os.kill(world.supervisor(), signal.SIGKILL)
            other.send(sessions[0].id, b"a\n")
            other.send(sessions[2].id, b"c\n")
            rest = {(one.session.id, one.match) for one in found}
        assert (first.session.id, first.match) == (sessions[1].id, b"said b")
        assert rest == {(sessions[0].id, b"said a"), (sessions[2].id, b"said c")}


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("--for", "output=("), "bad-pattern", 2),
        (("--for", "nonsense"), "bad-condition", 2),
        (("--for", "prompt=3"), "bad-condition", 2),
        (("--for", "turn"), "bad-condition", 2),
        (("--for", "needs-input", "--for", "exit"), "bad-condition", 2),
        (("--for", "state=dead"), "bad-state", 2),
        (("--for", "quiet=soon"), "usage", 2),
        (("--for", "output=x", "--since", "@1", "another"), "usage", 2),
        (("--for", "output=x", "--since", "1m", "--new"), "usage", 2),
        (("--for", "output=x", "--since", "yesterday"), "usage", 2),
        (("--for", "input", "--new"), "usage", 2),
        (("--for", "prompt"), "not-a-shell", 5),
        (("--for", "input", "nobody"), "no-such-session", 3),
        (("--for", "quiet", "--timeout", "50ms"), "timed-out", 124),
        (("--since", "1m"), "usage", 125),
    ],
)
def test_bad_input_is_a_clear_error(world: World, words: tuple[str, ...], code: str, status: int) -> None:
    world.ok("spawn", "--name", "s", "cat")
    world.ok("spawn", "--name", "another", "cat")
    done = world.run("wait", "s", *words, "--json")
    assert (done.returncode, json.loads(done.stderr)["code"], done.stdout) == (status, code, b""), done.stderr


def test_the_library_waits_in_the_same_ways(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["bash"])
        assert session.wait_for("state=live", "exit") == "state=live"
        assert session.wait_for("input", "output=never") == "input"
        assert session.wait_for("prompt") == "prompt"
        started = time.monotonic()
        with pytest.raises(TimedOut):
            session.wait_for("exit", timeout_s=0.2)
        assert time.monotonic() - started >= 0.2
        with pytest.raises(OrchctlError) as refused:
            session.wait_for("whatever")
        assert refused.value.code == "bad-condition"
        with pytest.raises(NoSuchSession):
            client.wait_for_each(["nobody"], ["exit"])
        found = list(client.wait_for_each([session.id, session.id], ["prompt"]))
        assert [(type(one), one.condition, one.match) for one in found] == [(Happened, "prompt", None)]

"""`expect`: which of several patterns came first after the caller's last input, and what stood before it."""

from __future__ import annotations

import json
import os
import signal

import pytest

from orchctl import OrchctlError
from orchctl.session.model import Expected
from tests.world import World

ECHOES = ("sh", "-c", 'stty -echo; echo ready; while read x; do echo "<$x>"; done; printf bye')


def test_it_says_which_pattern_came_and_what_stood_before_it(world: World) -> None:
    world.ok("spawn", "--name", "s", *ECHOES)
    assert world.ok("expect", "s", "never", "^rea(dy|l)$") == "1"
    world.ok("send", "s", "one")
    assert world.ok("expect", "s", "ready", "ne>") == "1\n<o"
    told = world.json("expect", "s", "<(?P<word>o.)(x)?e>")
    assert told == {"index": 0, "match": "<one>", "before": "", "groups": ["on", None], "dropped_bytes": 0}
    assert world.ok("expect", "s", "e>", "n", "<on", "--template", "{index} {match} {before}") == "2 <on"


def test_several_patterns_are_taken_in_the_order_of_the_text(world: World) -> None:
    world.ok("spawn", "--name", "s", "sh", "-c", "echo foobar; sleep 1000")
    assert world.json("expect", "s", "bar", "foo", "foobar")["index"] == 1
    assert world.json("expect", "s", "foobar", "foo")["index"] == 0


def test_bytes_that_are_no_text_come_as_base64(world: World) -> None:
    world.ok("spawn", "--name", "s", "printf", "a\\377b\\n")
    told = world.json("expect", "s", "b")
    assert (told["before_b64"], told["match"]) == ("Yf8=", "b")


def test_it_looks_after_the_callers_own_last_input(world: World) -> None:
    """Each manager's own; what another one typed since then does not hide the answer."""
    world.ok("spawn", "--name", "s", *ECHOES)
    world.ok("expect", "s", "ready")
    first = {**world.env, "ORCHCTL_MANAGER": "orchestrator:first-1"}
    second = {**world.env, "ORCHCTL_MANAGER": "orchestrator:second-1"}
    world.ok("send", "s", "one", env=first)
    world.ok("expect", "s", "<one>", env=first)
    world.ok("send", "s", "two", env=second)
    assert world.ok("expect", "s", "<[a-z]+>", env=second, timeout=60) == "0"
    assert json.loads(world.ok("expect", "s", "<[a-z]+>", "--json", env=first))["match"] == "<one>"
    assert json.loads(world.ok("expect", "s", "<[a-z]+>", "--json", env=second))["match"] == "<two>"
    assert json.loads(world.ok("expect", "s", "<[a-z]+>", "--json"))["match"] == "<two>"


def test_it_works_without_a_terminal(world: World) -> None:
    world.ok(
        "spawn",
        "--no-pty",
        "--stdin=open",
        "--name",
        "p",
        "sh",
        "-c",
        "while read x; do printf 'got %s\\r\\n' $x; done",
    )
    world.ok("send", "p", "it")
    assert world.json("expect", "p", "it\r\n")["before"] == "got "


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("s",), "usage", 2),
        (("s", "("), "bad-pattern", 2),
        (("s", "fine", "[z-a]"), "bad-pattern", 2),
        (("nobody", "x"), "no-such-session", 3),
        (("s", "never", "--timeout", "100ms"), "timed-out", 124),
        (("s", "never", "--timeout", "long"), "usage", 2),
        (("ended", "never"), "session-ended", 3),
    ],
)
def test_bad_input_is_a_clear_error(world: World, words: tuple[str, ...], code: str, status: int) -> None:
    world.ok("spawn", "--name", "s", "cat")
    world.ok("spawn", "--name", "ended", "--wait", "echo", "bye")
    done = world.run("expect", *words, "--json")
    assert (done.returncode, json.loads(done.stderr)["code"], done.stdout) == (status, code, b""), done.stderr


def test_a_session_that_ends_is_searched_to_its_last_byte(world: World) -> None:
    world.ok("spawn", "--name", "s", *ECHOES)
    world.ok("wait", "s", "--for", "input")
    waiting = world.start("expect", "s", "never", "bye$")
    never = world.start("expect", "s", "never", stderr=-1)
    world.ok("send", "s", "--key", "C-d")
    out, _ = waiting.communicate()
    assert (out.splitlines()[0], waiting.returncode) == (b"1", 0)  # it may have looked before there was any input
    _, error = never.communicate()
    assert (never.returncode, b"ended" in error) == (3, True)


def test_the_library_expects_too_also_while_the_supervisor_is_killed(world: World) -> None:
    with world.client() as client:
        session = client.spawn(ECHOES)
        assert session.expect("never", b"rea(d)y") == Expected(index=1, match=b"ready", before=b"", groups=(b"d",))
        session.send(b"one\n")
        os.kill(world.supervisor(), signal.SIGKILL)
        found = session.expect("<one>", timeout_s=60)
        assert (found.index, found.match) == (0, b"<one>")
        with pytest.raises(OrchctlError) as refused:
            session.expect()
        assert refused.value.code == "no-pattern"


def test_memory_is_bounded_by_a_window(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end"])
        found = session.expect("the end", timeout_s=60)
    assert found.match == b"the end"
    assert 0 < found.dropped_bytes < 3000000
    assert found.dropped_bytes + len(found.before) == 3000001

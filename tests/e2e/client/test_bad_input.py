"""Bad input: a clear message, its code, no traceback, and nothing lost. One supervisor and one session see it all."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator

import pytest

from orchctl.errors import BadInput, CannotExecute, LimitReached, OrchctlError
from tests.rawclient import HELLO, RawClient, control
from tests.world import World, fresh_world

TWINS = "5ca1ab1e"


@pytest.fixture(scope="module")
def busy() -> Iterator[World]:
    """A supervisor with a live session, which must be there in the end."""
    with fresh_world() as made:
        program = made.ok("spawn", "--name", "bystander", "sleep", "1000")
        _make_things(made.folder)
        with RawClient(made) as client:  # two ids that begin alike do not happen by themselves
            client.say(HELLO)
            for number in (1, 2):
                session = TWINS + str(uuid.uuid4())[8:]
                asked = {"session_id": session, "command": ["true"], "cwd": "/", "env": dict(made.env)}
                client.say(control({"id": number, "kind": "session.spawn", **asked}))
            client.hear(3)
        yield made
        assert made.ok("list", "-q") == program
        assert made.json("info", "bystander")["is_alive"] is True


def _make_things(folder: str) -> None:
    for name, text, mode in (
        ("plain", "x\n", 0o600),
        ("broken", "#!/nowhere/at/all\n", 0o700),
        ("format", "\0", 0o700),
    ):
        with open(f"{folder}/{name}", "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", mode)


ROWS: dict[str, tuple[list[str], int, str]] = {
    "unknown session": (["info", "nobody"], 3, "no-such-session"),
    "unknown session, to be killed": (["kill", "nobody"], 3, "no-such-session"),
    "unknown session, to be typed into": (["send", "nobody", "text"], 3, "no-such-session"),
    "unknown session, to be followed": (["tail", "-f", "nobody"], 3, "no-such-session"),
    "unknown session, to run a command": (["exec", "nobody", "true"], 125, "no-such-session"),
    "unknown session, to be waited for": (["wait", "nobody"], 125, "no-such-session"),
    "session named by nothing": (["info", ""], 3, "no-such-session"),
    "session named by escapes": (["info", "\x1b]0;x\x07\u202e\n\r"], 3, "no-such-session"),
    "prefix of three digits": (["info", TWINS[:3]], 3, "no-such-session"),
    "ambiguous prefix": (["info", TWINS], 2, "ambiguous-session"),
    "an ended session, to be typed into": (["send", "{twin}", "text"], 3, "session-ended"),
    "name taken": (["spawn", "--name", "bystander", "true"], 5, "name-taken"),
    "bad name": (["spawn", "--name", "a b", "true"], 2, "bad-name"),
    "empty name": (["spawn", "--name", "", "true"], 2, "bad-name"),
    "name of 65 letters": (["spawn", "--name", "n" * 65, "true"], 2, "bad-name"),
    "name with a newline": (["spawn", "--name", "a\n", "true"], 2, "bad-name"),
    "command not found": (["spawn", "no-such-command-here"], 127, "command-not-found"),
    "command not found by path": (["spawn", "/no/such/command"], 127, "command-not-found"),
    "empty command": (["spawn", ""], 2, "usage"),
    "command not executable": (["spawn", "{folder}/plain"], 126, "not-executable"),
    "command is a directory": (["spawn", "{folder}"], 126, "not-executable"),
    "command below a file": (["spawn", "{folder}/plain/x"], 127, "command-not-found"),
    "command without its interpreter": (["spawn", "{folder}/broken"], 127, "command-not-found"),
    "command not found, waited for": (["spawn", "--wait", "no-such-command-here"], 125, "command-not-found"),
    "directory missing": (["spawn", "-w", "/no/such/place", "true"], 2, "bad-cwd"),
    "directory is a file": (["spawn", "-w", "{folder}/plain", "true"], 2, "bad-cwd"),
    "size of nothing": (["spawn", "--size", "0x0", "true"], 2, "usage"),
    "size too large": (["spawn", "--size", "65536x1", "true"], 2, "usage"),
    "size without a number": (["spawn", "--size", "x", "true"], 2, "usage"),
    "size below zero": (["spawn", "--size", "-1x24", "true"], 2, "usage"),
    "resize to nothing": (["resize", "bystander", "0x0"], 2, "usage"),
    "duration beyond all numbers": (["kill", "--grace", "1e400", "bystander"], 2, "usage"),
    "duration below zero": (["kill", "--grace", "-1s", "bystander"], 2, "usage"),
    "duration of centuries": (["kill", "--grace", "99999999d", "bystander"], 2, "usage"),
    "empty duration": (["kill", "--grace", "", "bystander"], 2, "usage"),
    "duration with a space": (["kill", "--grace", "5 m", "bystander"], 2, "usage"),
    "duration in other digits": (["kill", "--grace", "٣s", "bystander"], 2, "usage"),
    "timeout that is no duration": (["spawn", "--timeout", "soon", "true"], 2, "usage"),
    "timeout of a wait that is none": (["wait", "--for", "prompt", "--timeout", "1y", "bystander"], 2, "usage"),
    "empty segment of a manager": (["spawn", "-m", "a::b", "true"], 2, "bad-manager"),
    "manager of 2000 bytes": (["spawn", "-m", "a" * 2000, "true"], 2, "bad-manager"),
    "manager with a space": (["spawn", "-m", "a b", "true"], 2, "bad-manager"),
    "manager to list by": (["list", "-m", ":"], 2, "bad-manager"),
    "manager to kill by": (["kill-by-manager", ""], 2, "bad-manager"),
    "invalid regular expression": (["wait", "bystander", "--for", "output=("], 2, "bad-pattern"),
    "condition that nobody knows": (["wait", "bystander", "--for", "christmas"], 2, "bad-condition"),
    "environment without a value": (["spawn", "-e", "NAME", "true"], 2, "usage"),
    "environment without a name": (["spawn", "-e", "=x", "true"], 2, "usage"),
    "unknown signal": (["signal", "bystander", "SIGNOTHING"], 2, "usage"),
    "unknown restart policy": (["spawn", "--restart", "maybe", "true"], 2, "bad-restart"),
    "process that is not there": (["spawn", "--bind-pid", "4194305", "true"], 2, "no-such-process"),
    "lines that are no number": (["tail", "-n", "ten", "bystander"], 2, "usage"),
    "offset past the end": (["tail", "--since", "@999999999", "bystander"], 2, "bad-offset"),
    "unknown command": (["fly"], 2, "usage"),
    "unknown option": (["list", "--fast"], 2, "usage"),
    "nothing to type": (["send", "bystander"], 2, "usage"),
    "not a shell": (["exec", "bystander", "true"], 125, "not-at-prompt"),
    "script that is not there": (["exec", "bystander", "--script", "/no/such/file"], 125, "usage"),
    "two that exclude each other": (["spawn", "--wait", "--follow", "true"], 125, "usage"),
}


@pytest.mark.parametrize("name", ROWS)
def test_bad_input_is_refused_with_a_message_and_a_code(busy: World, name: str) -> None:
    words, status, code = ROWS[name]
    (twin, _) = [one["id"] for one in busy.json("list", "-a") if one["id"].startswith(TWINS)]
    words = [word.replace("{folder}", busy.folder).replace("{twin}", twin) for word in words]
    before = sorted(os.listdir(f"{busy.state}/sessions"))
    plain = busy.run(*words)
    assert (plain.returncode, plain.stdout) == (status, b""), plain
    lines = plain.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("orchctl: ")
    assert len(lines[0]) > len("orchctl: ") + 10
    assert lines[0].isprintable()
    told = busy.run(words[0], "--json", *words[1:])
    assert (told.returncode, told.stdout) == (status, b"")
    error = json.loads(told.stderr)
    assert error["code"] == code
    assert set(error) >= {"code", "message"}
    assert sorted(os.listdir(f"{busy.state}/sessions")) == before, "nothing is half-created"


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (["a\0b"], BadInput, "nul-byte"),
        (["true", "a\0b"], BadInput, "nul-byte"),
        (["true", "\ud800"], OrchctlError, "bad-frame"),
        (["true", "x" * 200_000], CannotExecute, "not-executable"),
        (["true", *["x" * 100_000] * 12], LimitReached, "too-large"),
    ],
    ids=["NUL in the command", "NUL in a word", "half a character", "a word of 200 KB", "words of 1.2 MB"],
)
def test_the_library_refuses_what_no_program_can_be_started_with(
    busy: World, words: list[str], kind: type[OrchctlError], code: str
) -> None:
    with busy.client() as client:
        with pytest.raises(kind) as caught:
            client.spawn(words)
        assert caught.value.code == code, caught.value
        with pytest.raises(OrchctlError):
            client.spawn(["true"], env={"A\0": "x"})
        with pytest.raises(OrchctlError):
            client.spawn(["true"], env={"A": "x\0"})
        with pytest.raises(OrchctlError):
            client.spawn(["true"], cwd="/\0")
        with pytest.raises(OrchctlError):
            client.info("\0")
        assert [one.name for one in client.list()] == ["bystander"]


def test_an_environment_of_two_megabytes_is_refused_and_one_of_half_a_megabyte_arrives(busy: World) -> None:
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(19)}
    done = busy.run("spawn", "--json", "true", env=busy.env | large)
    assert (done.returncode, json.loads(done.stderr)["code"]) == (6, "too-large")
    fits = dict(list(large.items())[:5])
    done = busy.run("spawn", "--follow", "sh", "-c", "env | grep -c ^LARGE_", env=busy.env | fits)
    assert (done.returncode, done.stdout) == (0, b"5\n")


def test_a_command_of_any_characters_arrives_whatever_they_take_in_a_message(busy: World) -> None:
    shell = busy.ok("spawn", "bash")
    with busy.client() as client:
        for count in (60_000, 100_000):
            assert client.exec(shell, f"x='{'😀' * count}'; echo ${{#x}}").output == b"%d\n" % count
        assert [one.exit_code for one in client.history(shell)] == [0, 0]
        client.kill(shell)

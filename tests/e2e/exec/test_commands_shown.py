"""Whoever looks at a session reads the commands that were run in it, and never the lines that were typed for them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal

import pytest

from orchctl import AsyncClient, Client, SessionHandle
from orchctl.session.model import Expected
from orchctl.session.stream import Chunk
from orchctl.shell.marks import ANY_MARK
from tests.attached import DETACH, attached
from tests.attached import until as person_until
from tests.conformance.kinds import BASH, KINDS, Kind
from tests.e2e.attach.test_attach_screen import Tmux
from tests.needs import marks, needs
from tests.world import ORCHCTL, World, until

EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])
LONG = "echo " + "x" * 400


def _spawn(world: World, client: Client, kind: Kind, *, cols: int = 80) -> SessionHandle:
    home = f"{world.folder}/home"
    os.makedirs(home, exist_ok=True)
    env = {"HOME": home, "PS1": "$ ", **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn([*kind.command], name="s", cwd=home, env=env, size=(cols, 24))


def _clean(text: str, session: str) -> bool:
    """Whether nothing of the typed line is there: not its file's folder, not what the file is called."""
    return session not in text and "6973" not in text and "source '" not in text


@EACH
@pytest.mark.parametrize("cols", [80, 31])
def test_tail_shows_commands_in_the_place_of_typed_lines(world: World, kind: Kind, cols: int) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind, cols=cols)
        assert shell.exec("echo one").output == b"one\n"
        assert shell.exec("echo two\necho three").output == b"two\nthree\n"
        assert shell.exec(LONG).exit_code == 0
        assert shell.exec("echo hidden", record=False).output == b"hidden\n"
        for view in ("--plain", "-t", "--prefix"):
            text = world.ok("tail", "-n", "all", view, "s")
            assert _clean(text, shell.id), text
            assert re.search(r"echo one\r?\n", text), text
            assert re.search(r"echo two …\r?\n", text), text
            assert re.search(r"echo x{194}…\r?\n", text), text
            assert re.search(r"\[command\]\r?\n", text), text
            assert "echo hidden" not in text
        assert "6973-" in world.ok("tail", "-n", "all", "--raw", "s").replace("\r", "") or cols != 80


@EACH
def test_a_prompt_stands_once_before_each_command(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind)
        for number in range(5):
            assert shell.exec(f"echo {number}").exit_code == 0
        commands = [line for line in _plain_lines(world) if "echo " in line]
        prompt = commands[0].removesuffix("echo 0")
        assert prompt
        expected = [text for number in range(5) for text in (f"{prompt}echo {number}", str(number))]
        expected.append(prompt.rstrip())
        # an exec answers at the command's end, before the shell has drawn its next prompt
        until(lambda: len(_plain_lines(world)) >= len(expected) and _plain_lines(world)[-1] == expected[-1])
        lines = _plain_lines(world)
        assert lines[lines.index(expected[0]) :] == expected


def _plain_lines(world: World) -> list[str]:
    return [line.rstrip() for line in world.ok("tail", "-n", "all", "--plain", "s").split("\n")]


def test_a_reader_that_begins_anywhere_shows_none_of_it(world: World) -> None:
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        shell.exec("echo one")
        shell.exec("echo two")
        for offset in range(len(world.log(shell.id))):
            stream = client.output(shell.id, offset=offset, commands=True)
            text = b"".join(stream.shown(piece) for piece in stream if isinstance(piece, Chunk)) + stream.rest()
            assert shell.id.encode() not in text, (offset, text)


def test_a_follower_never_gets_a_piece_of_it(world: World) -> None:
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        follower = world.start("tail", "-f", "-n", "all", "s")
        for number in range(30):
            shell.exec(f"echo number {number}")
        os.kill(world.supervisor(), signal.SIGKILL)
        shell.exec("echo the last")
        shell.exec("exit 0")
        text, _ = follower.communicate(timeout=60)
    told = text.decode()
    assert _clean(told, shell.id), told
    assert re.findall(r"^(?:number \d+|the last)$", told.replace("\x1b[?2004l", ""), re.M) == [
        *(f"number {number}" for number in range(30)),
        "the last",
    ]
    assert re.findall(r"echo (number \d+|the last)$", told, re.M) == [
        *(f"number {number}" for number in range(30)),
        "the last",
    ]


def test_a_command_that_runs_for_long_holds_nothing_back(world: World) -> None:
    """Whoever comes while it runs gets its output at once."""
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        shell.exec("echo begun; read line", detach=True, tty_stdin=True)
        until(lambda: b"begun\r\n" in world.log(shell.id))
        assert world.ok("tail", "-n", "1", "s").endswith("begun")
        assert world.ok("tail", "-n", "2", "--plain", "s").endswith("echo begun; read line\nbegun")


def test_a_session_that_has_ended_shows_its_commands(world: World) -> None:
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        shell.exec("echo one")
        shell.exec("exit 3")
        until(lambda: not client.info(shell.id).is_alive)
        world.ok("supervisor", "restart")
        text = world.ok("tail", "-n", "all", "--plain", shell.id)
    assert re.findall(r"(?m)[#$] (.*)$", text)[:2] == ["echo one", "exit 3"]
    assert _clean(text, shell.id)


def test_expect_after_exec_has_neither_the_line_nor_the_command(world: World) -> None:
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        shell.exec("echo first")
        shell.exec("echo one two three")
        found = shell.expect("three")
        assert found.before.replace(b"\x1b[?2004l", b"").endswith(b"one two ")
        assert b"echo" not in found.before
        assert b"6973" not in found.before
        assert client.wait_for_output(shell.id, "two")[0] == b"two"


def test_expect_awaited_has_neither_the_line_nor_the_command(world: World) -> None:
    async def expected() -> Expected:
        async with AsyncClient(state_dir=world.state) as client:
            shell = await client.spawn(["bash"], cwd=world.folder)
            await shell.exec("echo one two three")
            return await shell.expect("three")

    found = asyncio.run(expected())
    assert b"6973" not in found.before
    assert b"echo" not in found.before


def test_waiting_for_output_is_not_answered_by_the_command_itself(world: World) -> None:
    with world.client() as client:
        shell = _spawn(world, client, BASH)
        shell.exec("true")
        shell.exec("read line; echo d''one", detach=True, tty_stdin=True)
        waits = world.start("wait", "s", "--for", "output=done|d''one")
        until(lambda: b"C;" in world.log(shell.id)[-60:])
        client.send(shell.id, b"go", enter=True)
        told, _ = waits.communicate(timeout=60)
        assert (waits.returncode, b"d''one" in told) == (0, False)


MAKE = "make() { echo testing $1; }\n"
RC = {
    "bash": f"PS1='$ '\n{MAKE}",
    "zsh": f"PS1='$ '\nunsetopt PROMPT_SP\n{MAKE}",
    "fish": "function fish_prompt; echo -n '$ '; end\nfunction make; echo testing $argv; end\nset fish_greeting\n",
}


def _shared(world: World, client: Client, kind: Kind) -> SessionHandle:
    """A shell with a prompt of its own and a command called make."""
    home = f"{world.folder}/home"
    path = f"{home}/{kind.file}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(RC.get(kind.name, f"PS1='$ '\n{MAKE}"))
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn([*kind.command], name="s", cwd=home, env=env)


@EACH
@needs("tmux")
def test_a_person_who_shares_a_screen_with_an_agent_reads_its_commands(world: World, kind: Kind) -> None:
    tmux = Tmux(world.folder)
    tmux("start-server", ";", "set", "-g", "exit-empty", "off", ";", "set", "-g", "status", "off")
    try:
        with world.client() as client:
            shell = _shared(world, client, kind)
            shell.exec("true")
            tmux.open("ours", ["env", f"ORCHCTL_STATE_DIR={world.state}", ORCHCTL, "attach", "s"])
            greeting, _, _ = tmux.until("ours", lambda shown: shown.endswith("$ true\n$")).rpartition("$ true")
            seen = list[str]()
            for number in range(5):
                assert shell.exec(f"make test-{number}").exit_code == 0
                seen.append(tmux.lines("ours"))
            assert shell.exec("echo " + "word " * 40).exit_code == 0
            long = "$ echo " + "word " * 14 + "wo"
            expected = "$ true\n" + "".join(f"$ make test-{n}\ntesting test-{n}\n" for n in range(5))
            last = tmux.until("ours", lambda shown: shown.endswith("\n$") and "word" in shown)
            assert last.startswith(greeting + expected + long), last
            assert not [one for one in seen if "6973" in one or "/shell/" in one or shell.id[:8] in one]
            assert [line for line in last.split("\n") if "/shell" in line or "6973" in line] == []
    finally:
        tmux("kill-server")


@needs("tmux")
def test_a_person_who_comes_later_reads_the_same(world: World) -> None:
    tmux = Tmux(world.folder)
    tmux("start-server", ";", "set", "-g", "exit-empty", "off", ";", "set", "-g", "status", "off")
    try:
        with world.client() as client:
            shell = _shared(world, client, BASH)
            shell.exec("make all")
            shell.exec("make test")
            tmux.open("ours", ["env", f"ORCHCTL_STATE_DIR={world.state}", ORCHCTL, "attach", "s"])
            expected = "$ make all\ntesting all\n$ make test\ntesting test\n$"
            tmux.until("ours", lambda shown: shown == expected)
            assert world.ok("screen", "s").rstrip() == expected
    finally:
        tmux("kill-server")


def test_what_a_person_types_is_shown_at_once(world: World) -> None:
    with world.client() as client:
        shell = _shared(world, client, BASH)
        shell.exec("true")
        with attached(world, "s") as person:
            person_until(lambda: b"$ true" in person.seen, person)
            for key in b"echo typed":
                person.type(bytes([key]))
            person_until(lambda: person.seen.endswith(b"echo typed"), person)
            person.type(b"\r")
            person_until(lambda: b"typed\r\n" in person.seen.partition(b"echo typed\r\n")[2], person)
            person.type(DETACH)
            assert person.end() == 0


@EACH
def test_search_finds_commands_and_never_typed_lines(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _shared(world, client, kind)
        for number in range(3):
            shell.exec(f"make part-{number}")
        assert world.run("search", "-F", shell.id, "s").returncode == 1
        assert world.run("search", "6973|/shell/", "s").returncode == 1
        assert world.ok("search", "--count", "make part", "s") == "3"
        found = [json.loads(line) for line in world.ok("search", "-C", "1", "--json", "make part-1", "s").split("\n")]
        assert [one["type"] for one in found] == ["context", "match", "context"]
        assert found[1]["text"].endswith("make part-1")
        assert found[1]["text"][slice(*found[1]["spans"][0])] == "make part-1"
        assert [one["line"] for one in found] == list(range(found[0]["line"], found[0]["line"] + 3))
        text = world.run("tail", "-n", "all", "s").stdout.decode().split("\n")
        assert text[found[1]["line"] - 1].endswith("make part-1")
        log = world.run("tail", "-n", "all", "--raw", "s").stdout
        assert b"testing part-1" in ANY_MARK.sub(b"", log[found[2]["offset"] :])[:30]
        assert "make part-1" not in world.ok("tail", "--since", f"@{found[2]['offset']}", "s")


@EACH
def test_a_recording_has_commands_and_no_typed_lines(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _shared(world, client, kind)
        shell.exec("make one")
        shell.exec("make two")
        shell.exec(LONG)
    for form in ("text", "asciicast"):
        told = world.ok("export", "--as", form, "s")
        assert _clean(told, shell.id), told
        assert told.count("make one") == told.count("make two") == 1
        assert re.search(r"echo x{194}(…|\\u2026)", told), told
    assert "6973" in world.ok("export", "--as", "raw", "s")
    assert "6973" in world.ok("export", "--as", "jsonl", "s")


@EACH
def test_a_screen_has_commands_and_no_typed_lines(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _shared(world, client, kind)
        shell.exec("make one")
        shell.exec("make two")
        lines = [line for line in world.json("screen", "s")["lines"] if line]
    assert [line for line in lines if "$" in line or "testing" in line] == [
        "$ make one",
        "testing one",
        "$ make two",
        "testing two",
        "$",
    ]

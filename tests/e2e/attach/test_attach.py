"""`attach`: a session in somebody's own terminal."""

from __future__ import annotations

import json
import os
import signal

import pyghostty as ghostty
import pytest

from tests.attached import DETACH, Person, attached, content, typewriter, until
from tests.world import ORCHCTL, World

MESS = (
    "printf '\\033[?1049h\\033[?1000h\\033[?1006h\\033[?2004h\\033[?1h\\033=\\033[?25l\\033[>1u\\033[2;9r\\033[31mmess'"
)


def spawned(world: World, *words: str, name: str = "s") -> str:
    return world.ok("spawn", "--name", name, *words)


def at_shell(world: World, words: str) -> Person:
    """A person at a shell's prompt who attaches; the terminal's modes before and after are in files."""
    folder = world.folder
    script = f"""
        stty -a > {folder}/before
        sh -c 'echo $$ > {folder}/pid; exec {ORCHCTL} {words}'
        echo "ended with $?" > {folder}/code
        stty -a > {folder}/after
    """
    return Person(world, shell=script)


def modes_are_as_before(world: World, person: Person) -> None:
    before, after = content(f"{world.folder}/before"), content(f"{world.folder}/after")
    assert before
    assert before == after
    with ghostty.Terminal(80, 24) as terminal, ghostty.Terminal(80, 24) as fresh:
        terminal.feed(person.seen)
        looked_at = (1, 7, 25, 66, 1000, 1002, 1003, 1004, 1006, 1049, 2004, 2026)
        assert [mode for mode in looked_at if terminal.mode(mode) != fresh.mode(mode)] == []
        assert terminal.get("active_screen", "int32_t") == 0
        assert terminal.get("kitty_keyboard_flags", "uint8_t") == 0


def test_keys_go_in_output_comes_out_and_the_exit_code_is_the_programs(world: World) -> None:
    keys = f"{world.folder}/keys"
    spawned(world, *typewriter(keys))
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        person.type(b"hello \x03\x1b[A\xc3\xa9")
        until(lambda: content(keys) == b"hello \x03\x1b[A\xc3\xa9", person)
        person.type(b"Q")
        person.wait_for(b"over")
        assert person.end() == 9


def test_detaching_leaves_it_running(world: World) -> None:
    keys = f"{world.folder}/keys"
    session = spawned(world, *typewriter(keys))
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        person.type(b"last words" + DETACH)
        assert person.end() == 0
        assert b"orchctl: detached from s; 'orchctl attach s' goes back\r\n" in person.seen
    until(lambda: content(keys) == b"last words")  # typed by now; the program may not have written it yet
    assert world.json("info", "s")["state"] == "live"
    assert world.json("info", "s")["lease"] is None
    assert session == world.json("info", "s")["id"]


def test_what_is_typed_while_no_supervisor_answers_arrives_before_one_is_detached(world: World) -> None:
    keys = f"{world.folder}/keys"
    spawned(world, *typewriter(keys))
    status = world.json("supervisor", "status")
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        os.kill(status["zygote"], signal.SIGSTOP)  # which would start the next one
        os.kill(status["pid"], signal.SIGKILL)
        try:
            person.wait_for(b"no supervisor answers")
            person.type(b"last words" + DETACH)
            person.look()
        finally:
            os.kill(status["zygote"], signal.SIGCONT)
        assert person.end() == 0
        assert b"did not arrive" not in person.seen
    until(lambda: content(keys) == b"last words")


def test_other_detach_keys_by_option_and_by_setting(world: World) -> None:
    keys = f"{world.folder}/keys"
    spawned(world, *typewriter(keys))
    with attached(world, "--detach-keys", "ctrl-p,ctrl-q", "s") as person:
        person.wait_for(b"ready")
        person.type(b"\x1c\x04")
        until(lambda: content(keys) == b"\x1c\x04", person)
        person.type(b"\x10\x11")
        assert person.end() == 0
    world.ok("config", "set", "detach_keys", "C-],x")
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        person.type(b"\x1dx")
        assert person.end() == 0


def test_a_first_detach_key_alone_reaches_the_program(world: World) -> None:
    keys = f"{world.folder}/keys"
    spawned(world, *typewriter(keys))
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        person.type(b"\x1c")
        until(lambda: content(keys) == b"\x1c", person)
        person.type(DETACH)
        assert person.end() == 0


def test_the_session_has_the_size_of_the_window(world: World) -> None:
    spawned(world, "sh", "-c", "trap 'stty size' WINCH; echo begun; while :; do sleep 0.05; done")
    with attached(world, "s", size=(100, 30)) as person:
        person.wait_for(b"30 100")
        person.resize(70, 20)
        person.wait_for(b"20 70")
        found = world.json("info", "s")
        assert (found["cols"], found["rows"]) == (70, 20)
        person.type(DETACH)
        assert person.end() == 0


def test_what_was_shown_before_is_shown_again(world: World) -> None:
    spawned(world, *typewriter(f"{world.folder}/keys"))
    world.ok("wait", "s", "--for", "output=ready")
    for _ in range(2):
        with attached(world, "s") as person:
            person.wait_for(b"ready")
            person.type(DETACH)
            assert person.end() == 0


def test_one_who_only_looks_on_changes_nothing(world: World) -> None:
    keys = f"{world.folder}/keys"
    spawned(world, *typewriter(keys))
    with attached(world, "--read-only", "s", size=(100, 30)) as person:
        person.wait_for(b"ready")
        person.type(b"nothing of this")
        person.resize(90, 20)
        world.ok("send", "s", "--no-enter", "this")  # by then the keys have been read too
        until(lambda: content(keys) == b"this", person)
        person.type(b"\x03")
        assert person.end() == 0
    assert content(keys) == b"this"
    found = world.json("info", "s")
    assert (found["cols"], found["rows"], found["lease"]) == (80, 24, None)


def test_a_session_whose_time_is_over_is_told_by_the_exit_code(world: World) -> None:
    spawned(world, "--timeout", "20s", *typewriter(f"{world.folder}/keys"))
    with attached(world, "s") as person:
        assert person.end() == 124


def test_spawn_and_attach_in_one(world: World) -> None:
    person = Person(world, "spawn", "--name", "s", "--attach", *typewriter(f"{world.folder}/keys"), size=(90, 20))
    try:
        person.wait_for(b"ready")
        found = world.json("info", "s")
        assert (found["cols"], found["rows"]) == (90, 20)
        person.type(b"Q")
        assert person.end() == 9
        assert b"over" in person.seen
    finally:
        person.close()


@pytest.mark.parametrize("how", ["detach", "end", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "stopped supervisor"])
def test_the_terminal_is_always_as_it_was(world: World, how: str) -> None:
    spawned(world, "sh", "-c", f"{MESS}; read line; exit 3")
    person = at_shell(world, "attach s")
    try:
        person.wait_for(b"mess")
        if how == "detach":
            person.type(DETACH)
        elif how == "end":
            person.type(b"\r")
        elif how == "stopped supervisor":
            world.ok("supervisor", "stop", "--leave")
        else:
            until(lambda: content(f"{world.folder}/pid").endswith(b"\n"), person)
            os.kill(int(content(f"{world.folder}/pid")), signal.Signals[how])
        person.end()
        codes = {"detach": 0, "end": 3, "SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131}
        assert content(f"{world.folder}/code") == b"ended with %d\n" % codes.get(how, 125)
        modes_are_as_before(world, person)
    finally:
        person.close()


def test_the_terminal_is_as_it_was_when_no_supervisor_comes_back(world: World) -> None:
    spawned(world, "sh", "-c", f"{MESS}; read line")
    status = world.json("supervisor", "status")
    person = at_shell(world, "--no-autostart attach s")
    try:
        person.wait_for(b"mess")
        for pid in (status["zygote"], status["pid"]):
            os.kill(pid, signal.SIGKILL)
        person.end()
        assert content(f"{world.folder}/code") == b"ended with 125\n"
        assert b"orchctl: " in person.seen.rpartition(b"\x1b")[2]
        modes_are_as_before(world, person)
    finally:
        person.close()


def test_a_stopped_attach_gives_the_terminal_back_and_shows_all_anew_later(world: World) -> None:
    keys, folder = f"{world.folder}/keys", world.folder
    spawned(world, *typewriter(keys))
    script = f"""exec bash -c 'set -m
        stty -a > {folder}/before
        sh -c "echo \\$\\$ > {folder}/pid; exec {ORCHCTL} attach s"
        stty -a > {folder}/after
        echo stopped
        fg
        echo ended with $? > {folder}/code'
    """
    person = Person(world, shell=script)
    try:
        person.wait_for(b"ready")
        os.kill(int(content(f"{folder}/pid")), signal.SIGTSTP)
        person.wait_for(b"stopped\r\n")
        modes_are_as_before(world, person)
        until(lambda: b"ready" in person.seen.rpartition(b"stopped\r\n")[2], person)
        person.type(b"on")
        until(lambda: content(keys) == b"on", person)
        person.type(b"Q")
        person.end()
        assert content(f"{folder}/code") == b"ended with 9\n"
    finally:
        person.close()


def test_without_a_terminal_nothing_happens(world: World) -> None:
    spawned(world, *typewriter(f"{world.folder}/keys"))
    done = world.run("attach", "s", "--json")
    assert done.returncode == 125
    assert json.loads(done.stderr)["code"] == "not-a-terminal"
    done = world.run("spawn", "--attach", "--name", "t", "sleep", "1000", "--json")
    assert done.returncode == 125
    assert b"not a terminal" in done.stderr
    assert [found["name"] for found in world.json("list")] == ["s"]


def _refusal(world: World, *words: str) -> tuple[int, str]:
    person = Person(world, "attach", "--json", *words)
    try:
        code = person.end()
        return code, str(json.loads(person.seen.strip().rpartition(b"\n")[2])["code"])
    finally:
        person.close()


def test_what_cannot_be_attached_to_is_refused(world: World) -> None:
    spawned(world, "-b", "pipe", "--stdin=open", "cat", name="pipe")
    world.ok("spawn", "--wait", "--name", "ended", "true")
    assert _refusal(world, "pipe") == (125, "no-terminal")
    assert _refusal(world, "ended") == (125, "session-ended")
    assert _refusal(world, "nobody") == (125, "no-such-session")
    assert _refusal(world, "--take", "--read-only", "pipe") == (125, "usage")
    assert _refusal(world, "--detach-keys", "ctrl-1", "pipe") == (125, "bad-keys")


def test_nobody_is_attached_to_the_session_they_are_in(world: World) -> None:
    spawned(world, "sh", "-c", f"read line; {ORCHCTL} attach --json s; echo code $?; read line")
    world.ok("send", "s", "")
    world.ok("wait", "s", "--for", "output=code 125")
    assert b'"own-session"' in world.log(world.json("info", "s")["id"])

"""Half a line that somebody typed is never run together with a command of ours, whenever it was typed."""

from __future__ import annotations

import os
import shlex
import signal

import pytest

from orchctl import Client, OrchctlError, SessionHandle
from tests.conformance.kinds import DASH, KINDS, Kind
from tests.needs import marks
from tests.rawclient import children_of, parent_of
from tests.world import World, until

EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])
SLOW_PROMPT = {
    "bash": "PROMPT_COMMAND='sleep 0.4'\n",
    "zsh": "precmd() { sleep 0.4; }\n",
    "fish": "function fish_prompt; sleep 0.4; echo '$ '; end\n",
}
SLOW_START = "sleep 0.4\n"


def _spawn(world: World, client: Client, kind: Kind, rc: str = "") -> SessionHandle:
    home = f"{world.folder}/home"
    os.makedirs(os.path.dirname(f"{home}/{kind.file}"), exist_ok=True)
    with open(f"{home}/{kind.file}", "w", encoding="ascii") as file:
        file.write(rc)
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn(kind.command, cwd=home, env=env)


def _children(client: Client, session: str) -> list[str]:
    pid = client.info(session).pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def _refused(shell: SessionHandle, **options: float) -> None:
    with pytest.raises(OrchctlError) as refused:
        shell.exec("echo never", **options)  # type: ignore[arg-type]
    assert refused.value.code == "not-at-prompt"


@EACH
@pytest.mark.parametrize(
    "when", ["before the first prompt", "during a command", "at its end", "on the way to a prompt", "at a prompt"]
)
def test_half_a_line_is_never_run(world: World, kind: Kind, when: str) -> None:
    rc = SLOW_START if when == "before the first prompt" else ""
    if when == "on the way to a prompt":
        rc = SLOW_PROMPT.get(kind.name, "PS1='$(sleep 0.4)$ '\n")
    with world.client() as client:
        shell = _spawn(world, client, kind, rc)
        if when != "before the first prompt":
            assert shell.exec("true").exit_code == 0
        if when in ("at a prompt", "during a command"):
            shell.wait_for("prompt", timeout_s=60)
        if when == "during a command":
            client.send(shell.id, b"/bin/sleep 0.4", enter=True)
            until(lambda: _children(client, shell.id))
        client.send(shell.id, b"touch ran; ")
        shell.wait_for("quiet", quiet_s=0.6, timeout_s=60)
        before = len(world.log(shell.id))
        _refused(shell)
        _refused(shell, wait_prompt_s=0.3)
        assert b"x6973" not in world.log(shell.id)[before:]
    assert not os.path.exists(f"{world.folder}/home/ran")


@EACH
def test_half_a_line_is_remembered_by_the_next_supervisor_and_the_next_mover(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind)
        assert shell.exec("true").exit_code == 0
        client.send(shell.id, b"touch ran; ")
        shell.wait_for("quiet", quiet_s=0.3, timeout_s=60)
        os.kill(world.supervisor(), signal.SIGKILL)
        _refused(shell)
        mover = _mover(world, shell.id)
        assert mover > 0
        os.kill(mover, signal.SIGKILL)
        until(lambda: _mover(world, shell.id) not in (0, mover))
        _refused(shell)
    assert not os.path.exists(f"{world.folder}/home/ran")


def _mover(world: World, session: str) -> int:
    """The process that moves the session's bytes: beside its program, below its keeper; 0 while there is none."""
    program = int(world.json("info", session)["pid"])
    beside = [pid for pid in children_of(parent_of(program)) if pid != program]
    return beside[0] if beside else 0


@EACH
@pytest.mark.parametrize("first", ["nothing", "an interrupt"])
def test_a_refusal_names_the_keys_that_clear_the_line(world: World, kind: Kind, first: str) -> None:
    """In a shell without a line editor an interrupt leaves the line as it is, and brings a new prompt."""
    with world.client() as client:
        shell = _spawn(world, client, kind)
        assert shell.exec("true").exit_code == 0
        shell.wait_for("prompt", timeout_s=60)
        client.send(shell.id, b"touch ran; ")
        shell.wait_for("quiet", quiet_s=0.3, timeout_s=60)
        if first == "an interrupt":
            client.interrupt(shell.id)
            shell.wait_for("quiet", quiet_s=0.3, timeout_s=60)
        if first == "nothing" or kind is DASH:
            with pytest.raises(OrchctlError) as refused:
                shell.exec("echo never")
            words = shlex.split(refused.value.message.partition("Clear it: ")[2])
            assert words[:3] == ["orchctl", "send", shell.id]
            world.ok(*words[1:])
        assert shell.exec("echo clear; ls", wait_prompt_s=30).output == b"clear\n"


@EACH
def test_whole_lines_stand_in_nobodys_way(world: World, kind: Kind) -> None:
    """At a prompt, typed ahead, and to a program that reads lines."""
    with world.client() as client:
        shell = _spawn(world, client, kind)
        assert shell.exec("echo 1", wait_prompt_s=30).output == b"1\n"
        for number in range(5):
            client.send(shell.id, b"true", enter=True)
            assert shell.exec(f"echo 2.{number}", wait_prompt_s=30).output == b"2.%d\n" % number
        client.send(shell.id, b"/bin/sleep 0.4", enter=True)
        until(lambda: _children(client, shell.id))
        client.send(shell.id, b"touch ahead", enter=True)
        assert shell.exec("ls ahead", wait_prompt_s=30).output == b"ahead\n"
        client.send(shell.id, b"cat >lines", enter=True)
        until(lambda: world.json("info", shell.id)["waiting"] == "yes")  # before it reads, a ^D may be a byte to it
        client.send(shell.id, b"a\nb\n\x04")
        assert shell.exec("cat lines", wait_prompt_s=30).output == b"a\nb\n"


@EACH
def test_a_key_that_ends_a_program_is_no_half_line(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind)
        assert shell.exec("true").exit_code == 0
        for number in range(3):
            client.send(
                shell.id, b"sh -c 'stty -icanon -echo; echo a\"\"sks; head -c 1 >key; sleep 0.2; stty sane'", enter=True
            )
            until(lambda number=number: world.log(shell.id).count(b"asks\r\n") == number + 1)  # type: ignore[misc]
            client.send(shell.id, b"y")
            assert shell.exec("cat key", wait_prompt_s=30).output == b"y"

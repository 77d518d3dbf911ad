"""Interrupts and time-outs at any moment, with prompts that take up to a second to draw, many sessions at once, and a
machine that has other things to do.

The answer is the command's own end, or 130 or 124 with its output up to there. No mark, no typed line and no
error is in any of them, and the next command is right each time.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchctl import Client, Result, SessionHandle
from orchctl.errors import Conflict
from tests.conformance.kinds import BASH, BUSYBOX, DASH, FISH, KINDS, KSH93, MKSH, ZSH, Kind
from tests.needs import marks, needs
from tests.world import World, until

DRAWING = {
    "bash": "PROMPT_COMMAND='sleep $(cat ~/delay)'\n",
    "zsh": "precmd() { sleep $(cat ~/delay); }\n",
    "fish": "function fish_prompt; sleep (cat ~/delay); echo '$ '; end\n",
}
HOOKLESS = "PS1='$(sleep $(cat ~/delay))$ '\n"
DELAYS = (0, 0, 0, 0, 0.05, 0.1, 0.3, 0.7, 1)
TEXT = "echo a; /bin/sleep 0.15; echo b; sh -c 'exit 3'"
BEGINNINGS = (b"", b"a\n", b"a\nb\n")
SESSIONS = (BASH, BASH, ZSH, FISH, DASH, BUSYBOX, KSH93, MKSH)
EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])
Round = Callable[[Client, SessionHandle, random.Random], Result]  # the client is another's


def _spawn(client: Client, kind: Kind, home: str) -> SessionHandle:
    os.makedirs(os.path.dirname(f"{home}/{kind.file}"))
    _draw_for(home, 0)
    with open(f"{home}/{kind.file}", "w", encoding="ascii") as file:
        file.write(DRAWING.get(kind.name, HOOKLESS))
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn(kind.command, cwd=home, env=env)


def _draw_for(home: str, delay_s: float) -> None:
    with open(f"{home}/delay.new", "w", encoding="ascii") as file:
        file.write(f"{delay_s}\n")
    os.rename(f"{home}/delay.new", f"{home}/delay")


def _has_locked_itself_up(kind: Kind, error: Conflict) -> bool:
    """Busybox leaves an allocation by a jump when it is interrupted there, and waits for its own lock for ever."""
    return kind is BUSYBOX and error.code == "stuck" and "hangs in a lock of its own" in error.message


def _rounds(world: World, kind: Kind, seed: str, rounds: int, one: Round) -> Counter[int | None]:
    """So many rounds in one session; how often there was which exit code."""
    dice = random.Random(seed)
    home = f"{world.folder}/{seed}"
    shares = Counter[int | None]()
    with world.client() as client, world.client() as other:
        shell = _spawn(client, kind, home)
        for turn in range(rounds):
            _draw_for(home, dice.choice(DELAYS))
            try:
                result = one(other, shell, dice)
            except Conflict as error:
                if not _has_locked_itself_up(kind, error):
                    raise
                print(f"{seed}, round {turn}: {error}")
                break
            shares[result.exit_code] += 1
            said = f"{seed}, round {turn}: {result}"
            assert result.output in BEGINNINGS, said
            assert result.exit_code in (3, 124, 130), said
            assert result.exit_code != 3 or result.output == BEGINNINGS[-1], said
            following = shell.exec(f"echo after {turn}; sh -c 'exit {turn % 100}'", wait_prompt_s=60)
            assert (following.exit_code, following.output) == (turn % 100, b"after %d\n" % turn), (
                f"{seed}, after round {turn}: {following}"
            )
        shell.kill(grace_s=0)
    return shares


def _interrupted(other: Client, shell: SessionHandle, dice: random.Random) -> Result:
    """At a random moment by another client, often soon after it was asked for."""
    after_s = dice.choice((0.01, 0.05, 0.3, 0.8)) * dice.random()
    if dice.random() < 0.5:
        shell.wait_for("prompt", timeout_s=60)
    interrupter = threading.Timer(after_s, other.interrupt, [shell.id])
    interrupter.start()
    try:
        return shell.exec(TEXT, wait_prompt_s=60)
    finally:
        interrupter.join()


def _timed_out(_: Client, shell: SessionHandle, dice: random.Random) -> Result:
    after_s = dice.choice((0.02, 0.1, 0.4, 1.2)) * dice.random()
    return shell.exec(TEXT, wait_prompt_s=60, timeout_s=after_s, kill_after_s=1)


@contextlib.contextmanager
def _load() -> Iterator[None]:
    """Every processor is busy."""
    words = [sys.executable, "-c", "while True: pass"]
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            busy = stack.enter_context(subprocess.Popen(words))
            stack.callback(busy.kill)
        yield


@needs("zsh", "fish", "busybox", "ksh93", "mksh")
@pytest.mark.parametrize(("one", "cut"), [(_interrupted, 130), (_timed_out, 124)], ids=["interrupts", "time-outs"])
def test_an_answer_is_the_commands_own_end_or_tells_that_it_was_cut(
    world: World, long_form: bool, one: Round, cut: int
) -> None:
    rounds = 40 if long_form else 4
    run = f"-{os.urandom(3).hex()}" if long_form else ""
    with _load(), ThreadPoolExecutor(len(SESSIONS)) as pool:
        seeds = (f"{kind.name}-{number}{run}" for number, kind in enumerate(SESSIONS))
        jobs = [pool.submit(_rounds, world, *words, rounds, one) for words in zip(SESSIONS, seeds, strict=True)]
        shares = sum((job.result() for job in jobs), Counter[int | None]())
    print(f"\n{dict(shares)} of {shares.total()}{run}")
    assert shares.total() >= rounds * (len(SESSIONS) - 1)
    assert set(shares) <= {3, cut}
    for code in (3, cut):
        assert shares[code] >= shares.total() / 10, shares


@pytest.mark.long
@needs("busybox")
def test_a_busybox_that_locks_itself_up_is_named(world: World) -> None:
    """Some of a hundred do, in a loop that allocates; its caller does not wait until it is killed."""
    locked = 0
    with world.client() as client:
        shell = client.spawn(BUSYBOX.command)
        for _ in range(400):
            try:
                done = shell.exec("while :; do :; done", timeout_s=0.1, kill_after_s=60, wait_prompt_s=60)
                assert (done.exit_code, done.output) == (124, b""), done
            except Conflict as error:
                if not _has_locked_itself_up(BUSYBOX, error):
                    raise
                locked += 1
                shell.kill(grace_s=0)
                shell = client.spawn(BUSYBOX.command)
    print(f"\n{locked} of 400 locked themselves up")


@EACH
@pytest.mark.parametrize("delay_s", [0.7, 1.5])
def test_a_slow_prompt_is_not_interrupted_again(world: World, kind: Kind, delay_s: float) -> None:
    with world.client() as client:
        shell = _spawn(client, kind, f"{world.folder}/home")
        assert shell.exec("echo up").output == b"up\n"
        _draw_for(f"{world.folder}/home", delay_s)
        for number in range(2):
            done = shell.exec("echo a; /bin/sleep 30", timeout_s=1, kill_after_s=1, wait_prompt_s=60)
            assert (done.exit_code, done.output) == (124, b"a\n"), done
            following = shell.exec(f"echo {number}", wait_prompt_s=60)
            assert (following.exit_code, following.output) == (0, b"%d\n" % number)


def test_a_line_is_typed_once_though_a_prompt_comes_before_it_is_read(world: World) -> None:
    """An interrupt finds the shell at its prompt while the line is on its way to it."""
    with world.client() as client, world.client() as other, ThreadPoolExecutor(1) as pool:
        shell = _spawn(client, BASH, f"{world.folder}/home")
        assert shell.exec("true").exit_code == 0
        shell.wait_for("prompt", timeout_s=60)
        pid = other.info(shell.id).pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        running = pool.submit(shell.exec, TEXT)
        until(lambda: [command.status for command in other.history(shell.id)][1:] == ["running"])
        other.wait_for(shell.id, "quiet", quiet_s=0.3, timeout_s=60)  # that it is typed gives no event
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGCONT)
        done = running.result()
        assert (done.exit_code, done.output) == (3, b"a\nb\n"), done
        assert world.log(shell.id).count(f"x6973-{done.command.id}".encode()) == 1
        assert shell.exec("echo next").output == b"next\n"

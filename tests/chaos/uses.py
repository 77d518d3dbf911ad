"""Lives that are used by somebody: shells with commands, readers that are typed into, limits, restarts, agents."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import subprocess
import time

from tests.chaos import oracle, processes
from tests.chaos.lives import Life, Piped, Pour, Tree
from tests.chaos.oracle import ANSWER_S, End, Told
from tests.chaos.stage import Excused, program
from tests.world import until

PROFILE = "it"
LIMIT_S = 3.0
ON_TIME_S = 60.0  # a limit that is kept so late is none; the machine is busy, and its keeper may have been stopped


class Shell(Life):
    """Commands one after another, each with its own output and code; each tells in a file that it ran."""

    kind = "shell"

    def run(self) -> None:
        """Each ran once, and was answered truly."""
        self.spawn([self.dice.choice(["bash", "sh"])])
        answered, failed = list[str](), list[str]()
        for number in range(self.dice.randint(6, 14)):
            if self.lost:
                break
            word = f"{os.path.basename(self.file)}.{number}"
            try:
                if self.dice.random() < 0.12:
                    failed.append(word)
                    self._exec_apart(word)
                else:
                    known = self._exec(word, pipe=self.dice.random() < 0.2)
                    (answered if known else failed).append(word)
            except Excused:
                failed.append(word)
            time.sleep(self.dice.uniform(0.0, 0.5))
        try:
            if not self.lost:
                self.kill()
                self.judge_end(self.wait(), End("killed"))
        finally:
            ran = list[str]()
            if os.path.exists(self.file):
                with open(self.file, encoding="ascii") as file:
                    ran = file.read().split()
            self.find(*oracle.runs(ran, answered, failed))

    def _exec(self, word: str, *, pipe: bool) -> bool:
        """Whether its end was known."""
        code, lines = self.dice.randrange(100), self.dice.choice([1, 1, 40, 2000])
        text = f"echo {word} >> {self.file}; sleep 0.{self.dice.randrange(6)}; seq {lines}; (exit {code})"
        result = self.stage.ask(
            self.session,
            "exec",
            lambda: self.client.exec(self.session, text, wait_prompt_s=ANSWER_S / 2, pipe=pipe),
        )
        due = Told(b"".join(b"%d\n" % number for number in range(1, lines + 1)), code)
        told = Told(result.output, result.exit_code, result.status)
        self.find(*oracle.command(word, told, due, lost=self.lost))
        return told.code is not None

    def _exec_apart(self, word: str) -> None:
        """By a process that may be killed; the command goes with it, or ends."""
        text = f"echo {word} >> {self.file}; sleep 1"
        words = ("exec", self.session, "--wait-prompt", "30s", text)
        process = self.stage.world.start(*words, stderr=subprocess.DEVNULL)
        self.stage.clients[self.slot] = process
        try:
            process.communicate(timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            self.find(f"'orchctl exec' has not ended {ANSWER_S:.0f} s later")
            process.kill()
            process.communicate()
        self.stage.clients.pop(self.slot, None)


class Reader(Life):
    """A program that reads slowly, and a long input for it: what arrives is counted there."""

    kind = "reader"

    def run(self) -> None:
        """Every byte that was sent, once and in order."""
        parts = [self.dice.randbytes(self.dice.choice([10, 3000, 40_000, 96_000])) for _ in range(3)]
        sent, code = b"".join(parts), self.dice.randrange(100)
        words = program("read", self.file, "2048", "0.08", str(code))
        self.spawn(words)
        until(lambda: self.log() or self.lost, f"{self.session} is never ready")
        in_doubt = False
        try:
            for part in parts:
                self.stage.ask(self.session, "send", lambda part=part: self.client.send(self.session, part))  # type: ignore[misc]
        except Excused:
            in_doubt = True
        with open(f"{self.file}.end", "wb"):
            pass
        if self.lost:
            self.put_an_end()
        else:
            self.judge_end(self.wait(), End("exited", code))
        with open(self.file, "rb") as file:
            got = file.read()
        self.find(*oracle.received(got, sent, in_doubt=in_doubt or self.lost))
        due = b"ready\ngot %d\n" % len(got)
        self.find(*oracle.stream(self.log(), due, whole=not self.lost))


class Restarted(Life):
    """It fails some times, and is started again as often, never more."""

    kind = "restart"

    def run(self) -> None:
        """As many runs as it takes, by its own word."""
        good = self.dice.randint(2, 4)
        self.spawn(program("again", self.file, str(good)), restart="on-failure:5")
        deadline = time.monotonic() + 2 * ANSWER_S
        while time.monotonic() < deadline and not self.lost:
            if self._runs() >= good and self._has_ended():
                break
            time.sleep(0.2)
        time.sleep(1.0)  # one run too many would come by now
        if not self.lost and self._runs() != good:
            self.find(f"it ran {self._runs()} times, and {good} were due")
        self.judge_end(self.wait(), End("exited", 0))

    def _has_ended(self) -> bool:
        with contextlib.suppress(Excused):  # what excused the error passes
            return not self.stage.ask(self.session, "info", lambda: self.client.info(self.session)).is_alive
        return False

    def _runs(self) -> int:
        try:
            with open(self.file, "rb") as file:
                return len(file.read().split())
        except FileNotFoundError:
            return 0


class Limited(Life):
    """A time limit, kept whoever died."""

    kind = "timeout"

    def run(self) -> None:
        """It ends by the limit, not before and not much later."""
        began_at = time.monotonic()
        self.spawn(program("tree", self.file), timeout_s=LIMIT_S)
        ended = self.wait()
        took_s = time.monotonic() - began_at
        self.judge_end(ended, End("timeout"))
        if not self.lost and not LIMIT_S <= took_s <= LIMIT_S + ON_TIME_S:
            self.find(f"a limit of {LIMIT_S} s was kept after {took_s:.1f} s")
        if not self.lost:
            self.kill()  # and nothing that it started is left


class Idle(Life):
    """It writes for a while, falls silent, and is ended for that."""

    kind = "idle"

    def run(self) -> None:
        """Not while it writes, and not before it was silent for as long as it may be."""
        self.spawn(program("mutter", self.file, str(self.dice.randint(3, 20))), idle_s=LIMIT_S)
        ended = self.wait()
        ended_at = time.monotonic()
        self.judge_end(ended, End("idle-timeout"))
        with open(self.file, encoding="ascii") as file:
            times = [float(line) for line in file.read().split("\n") if line]
        if not self.lost and not LIMIT_S <= ended_at - times[-1] <= LIMIT_S + ON_TIME_S:
            self.find(f"ended {ended_at - times[-1]:.1f} s after its last word; due was {LIMIT_S} s")
        if not self.lost:
            self.find(*oracle.stream(self.log(), b".\n" * len(times), whole=True))
            self.kill()


class Bound(Life):
    """It ends with a process of the user's."""

    kind = "bound"

    def run(self) -> None:
        """Not before that process, and soon after it."""
        with subprocess.Popen(["sleep", "1000"], start_new_session=True) as owner:
            try:
                self.spawn(program("tree", self.file), bind_pid=owner.pid)
                time.sleep(self.dice.uniform(1.0, 5.0))
                info = self.stage.ask(self.session, "info", lambda: self.client.info(self.session))
                if not info.is_alive and not self.lost:
                    self.find(f"it ended before the process that it is bound to: {info.end_reason}")
            finally:
                owner.send_signal(signal.SIGKILL)
        ended = self.wait()
        self.judge_end(ended, End("killed"))
        if not self.lost:
            self.kill()


class Agent(Life):
    """Turns of an agent on the scripted harness: each prompt is had once, each text told once."""

    kind = "agent"

    def run(self) -> None:
        """By the server's own file."""
        self.spawn([], profile=PROFILE, cwd=self.stage.world.folder)
        agent = self.stage.ask(self.session, "info", lambda: self.client.info(self.session)).agent
        if agent is not None and agent.server:
            self.stage.servers[self.slot] = self.stage.serves[self.session] = agent.server
        prompts = []
        for number in range(self.dice.randint(2, 4)):
            mark = f"{os.path.basename(self.file)}.{number}"
            prompt = f"say begin {mark}\ncount 10 60\nsay end {mark}"
            prompts.append(prompt)
            result = self.stage.ask(self.session, "exec", lambda prompt=prompt: self.client.exec(self.session, prompt))  # type: ignore[misc]
            due = [f"begin {mark}", *map(str, range(10)), f"end {mark}"]
            told = [line for line in result.output.decode().splitlines() if line]
            if told != due:
                self.find(f"turn {mark} told {told}")
            if result.exit_code not in (None, 0):
                self.find(f"turn {mark} ended with {result.exit_code}")
        had = [prompt for prompt in self._had() if prompt in prompts]
        if had != prompts:
            self.find(f"the server had {len(had)} prompts of {len(prompts)}: {had}")
        self.stage.ask(self.session, "kill", lambda: self.client.kill(self.session))

    def _had(self) -> list[str]:
        found = list[str]()
        for path in glob.glob(f"{self.stage.world.folder}/scripted/*.json"):
            with open(path, encoding="utf-8") as file:
                found += json.load(file)
        return found


KINDS: dict[str, type[Life]] = {
    one.kind: one for one in (Pour, Piped, Shell, Reader, Restarted, Limited, Idle, Bound, Tree, Agent)
}
__all__ = ["KINDS", "processes"]

"""A session whose program runs below a pair of processes: any command, a shell for `exec`, an agent's server."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import shlex
import signal
import termios
from collections.abc import Callable
from typing import Any

from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.log import journal
from orchctl.log.commands import CommandStore
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import Spec
from orchctl.pair import wire
from orchctl.procfs import descends_from
from orchctl.protocol import messages
from orchctl.session import environment, layout
from orchctl.session.agent import Pending
from orchctl.session.command import Command
from orchctl.session.lease_state import NAME_DIGITS, key_of
from orchctl.session.model import Waiting
from orchctl.session.tale import of_command
from orchctl.session.wait import HARNESS_CONDITIONS, Sight, decide
from orchctl.supervisor.context import House
from orchctl.supervisor.exec import answer
from orchctl.supervisor.exec.queue import Commands
from orchctl.supervisor.exec.running import Running
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.request import Call, close
from orchctl.supervisor.session import Duties, Launcher, SupervisedSession
from orchctl.supervisor.spawn import start_error

ANSWER_S = 2.0  # a pair of an older version does not know the question, one on a stalled machine is late
DONE_S = 10.0  # until a pair has done what it was told, and written that down
SHOWN_CHARACTERS = 60  # of a command line in a message
TRIES = 3  # a prompt that came or went under our eyes is looked at again


class TerminalSession(SupervisedSession):
    """A program in a terminal, or on pipes."""

    pair: PairLink
    second_journal, mixed = layout.COMMANDS, False

    def __init__(self, spec: Spec, house: House, *, over: bool = False) -> None:
        folder = house.store.folder(spec.id)
        pair = PairLink(folder, self.look, lambda: self.run.keeper, lambda: self.run.empty)
        super().__init__(spec, house, pair, over=over)
        self.commands: Commands | None = Commands(self, house.store.commands(spec.id)) if spec.shell else None
        self._typed: dict[str, int] = {}  # where the log ended before a manager's last input
        self._read()

    @property
    def prompts(self) -> bool:
        return self.spec.shell is not None

    def _duties(self) -> Duties:
        mine: Duties = {}
        if self.commands is not None:
            mine = {"commands": self.commands.tend, "first prompt": self.commands.prompt.first}
        return {**mine, **super()._duties()}

    # commands

    async def exec(self, call: Call, request: messages.ExecCommand) -> None:
        await answer.run(call, self, self._shell(call, request.session, request.exec_id), request)

    def spool(self, call: Call, request: messages.PutSpool) -> CommandStore:
        return self._shell(call, request.session, request.exec_id).store

    def _shell(self, call: Call, name: str, exec_id: str) -> Commands:
        """Its commands; of a session that has ended only for a command that was run in it."""
        if self.commands is not None and self.command(exec_id) is not None:
            return self.commands
        if self.closed:
            raise NoSuchSession(f"the session {name!r} has ended", code="session-ended")
        self.refuse_own(call, "a command cannot be run in the session that asks for it")
        if self.commands is None:
            raise Conflict(
                f"{self._no_shell(name)}; nothing was typed. 'orchctl send {name}' types into any program, "
                "'orchctl spawn bash' starts a shell",
                code="not-at-prompt",
            )
        return self.commands

    def _no_shell(self, name: str) -> str:
        """Why there is no prompt: what runs there."""
        words = shlex.join(self.spec.command)
        shown = words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
        reads = " on pipes" if self.spec.backend == "pipe" else ""
        reads = " with a stdin that was handed over" if self.spec.stdin == "handed" else reads
        return f"{name} runs a program ({shown}){reads}, not an interactive shell"

    def command(self, exec_id: str) -> Running | None:
        return self.commands.find(exec_id) if self.commands is not None else None

    async def interrupt_command(self, request: messages.InterruptCommand) -> str:
        return "over" if self.commands is None else await answer.interrupt(self.pair, self.commands, request)

    def history(self) -> list[Command]:
        return self.commands.told if self.commands is not None else []

    # input

    async def send(self, request: messages.SendInput, data: bytes) -> None:
        if request.answer:
            await self._answer(request, data)
            return
        if request.enter:
            data += b"\r" if self.spec.backend == "pty" else b"\n"
        end_once = _once(f"{request.once}/eof")
        self._check_input(request, end_once)
        if self.run.input_ended == end_once.hex():  # done when it was asked before
            return
        before = self.view().output.next_offset
        key = key_of(request.viewer) if request.viewer else ""
        epoch = await self.leases.admit(key, keys=True, wait_s=request.lease_wait_s)
        taken, outcome = 0, wire.TYPED_ALL
        if data or not request.eof:
            taken, outcome = await self.pair.type(_once(request.once), data, epoch)
        self._typed[request.own_manager] = max(before, self._typed.get(request.own_manager, 0))
        if outcome == wire.TYPED_TOO_LONG:
            raise Conflict(
                "nothing was typed: a line of over 4095 bytes, and the terminal would cut it; "
                "the program must leave line mode first",
                code="line-too-long",
            )
        if outcome == wire.TYPED_BLOCKED:
            raise Conflict(
                f"the program does not read its input; {taken} of {len(data)} bytes were typed",
                code="input-blocked",
            )
        if outcome == wire.TYPED_ALL and request.eof:
            outcome = await self._end_input(end_once, epoch)
        if outcome == wire.TYPED_STALE:
            raise self.leases.refusal()
        named = {"viewer": key[:NAME_DIGITS]} if key else {}
        self._house.teller.say(self, "input", who=request.own_manager, bytes=len(data), **named)

    async def _answer(self, request: messages.SendInput, data: bytes) -> None:
        """What a viewer's terminal says to what a program asked: typed by nobody, so no prompt counts as touched."""
        key = key_of(request.viewer)
        if not self.leases.may_answer(key):
            return
        once = wire.ANSWER + _once(request.once, wire.ONCE_BYTES - len(wire.ANSWER))
        await self.pair.type(once, data, await self.leases.admit(key))

    async def _end_input(self, once: bytes, epoch: int) -> int:
        """A program that has ended meanwhile, perhaps because its input did, reads no more either."""
        try:
            return await self.pair.end_input(once, epoch)
        except Conflict as error:
            if error.code != "session-ended":
                raise
            return wire.TYPED_ALL

    def _check_input(self, request: messages.SendInput, end_once: bytes) -> None:
        """Refuse what its program can never read."""
        name = request.session
        if self.spec.backend == "pty":
            if request.eof:
                raise Conflict(
                    f"session {name} has a terminal, whose input does not end; "
                    f"'orchctl send {name} --key C-d' presses the key that ends it for a program in line mode",
                    code="has-terminal",
                )
            return
        if self.stdin == "open" or self.run.input_ended == end_once.hex():
            return
        reads = {
            "null": f"session {name} reads /dev/null; 'spawn --stdin=open' leaves the input open for 'send'",
            "handed": f"session {name} reads the stdin that 'spawn --stdin' handed over; "
            "'spawn --stdin=open' leaves the input open for 'send'",
            "ended": f"the input of session {name} has ended already",
        }
        raise Conflict(reads[self.stdin], code="input-ended")

    async def interrupt(self, who: str) -> None:
        """By signal to the terminal's foreground group, never by typing: no output is thrown away.

        A shell that starts is left alone until its first prompt; what was to be interrupted is over then.
        """
        commands = self.commands
        if commands is None:
            self.pair.signal(signal.SIGINT)
        elif self.run.prompted_once or not await commands.prompt.comes_up():
            await commands.interrupt()

    async def first_prompt(self, text: str, *, once: str, who: str) -> None:
        """It has no agent."""

    def reply(self, request: messages.ReplyTo) -> Pending:
        raise Conflict("the session is a program, and no agent asks anything there; 'send' types", code="not-an-agent")

    def runs_in(self, peer: int) -> bool:
        return self.run.pid is not None and descends_from(peer, self.run.pid)

    # signals, sizes and pauses

    async def control(self, request: messages.ControlSession) -> None:
        run = self.run
        if request.action == "signal":
            if request.signal not in {int(one) for one in signal.valid_signals()}:
                raise BadInput(f"{request.signal} is no signal", code="bad-signal")
            self.pair.signal_program(request.signal)
        elif request.action == "resize":
            await self.leases.admit(key_of(request.viewer) if request.viewer else "")
            self._resize(size := (request.cols, request.rows))
            await self._until(lambda: (run.cols, run.rows) == size)
        elif request.action in ("pause", "unpause"):
            stop = request.action == "pause"
            self.pair.pause(stop=stop)
            await self._until(lambda: run.paused == stop)
        else:
            raise BadInput(f"nobody knows how to {request.action!r} a session", code="bad-action")

    def _resize(self, size: tuple[int, int]) -> None:
        if not all(0 < one < 1 << 16 for one in size):
            raise BadInput(f"a terminal of {size[0]}x{size[1]}; 1x1 to 65535x65535", code="bad-size")
        if self.spec.backend != "pty":
            raise Conflict("the session has no terminal", code="no-terminal")
        self.pair.resize(*size)

    async def _until(self, holds: Callable[[], bool]) -> None:
        if not await self.news.until(lambda: holds() or self.closed, DONE_S):
            raise OrchctlError("the session does not answer", code="no-answer")
        if not holds():
            raise NoSuchSession("the session ended meanwhile", code="session-ended")

    async def modes(self, echo: bool | None) -> int:
        """Said again to the next mover, should one have died with the word in its hands."""
        if self.spec.backend != "pty":
            return await super().modes(echo)
        for _ in range(2):
            if echo is not None:
                self.pair.echo(on=echo)
            local = int((await self.pair.look())["local"])
            if echo in (None, bool(local & termios.ECHO)):
                return local
        raise Conflict("whether the terminal shows what is typed cannot be set there", code="no-echo-control")

    # what is waited for

    async def _waits(self) -> Waiting:
        """The pair is asked, and never waited for longer than a moment: without its word it is `unknown`."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._look_if_waits()
        except (Conflict, TimeoutError):  # it has just ended, or does not answer
            return Waiting.UNKNOWN

    async def _look_if_waits(self) -> Waiting:
        """The pair's word on the kernel, and the shell's marks, put together."""
        if self.commands is None:
            return decide(await self._sight(), prompt=False)
        prompt = self.commands.prompt  # which remembers where the line was known to be empty
        before = await prompt.settled()
        for _ in range(TRIES):
            sight, after = await self._sight(), await prompt.settled()
            if (before.ready, before.prompts) == (after.ready, after.prompts):
                return decide(sight, prompt=after.ready)
            before = after
        return Waiting.UNKNOWN

    async def _sight(self) -> Sight:
        told = await self.pair.does_it_wait()
        return Sight(kernel=told["kernel"], own=told["own"], local=told["local"])

    def check_conditions(self, conditions: set[str], name: str) -> None:
        if conditions & set(HARNESS_CONDITIONS):
            raise BadInput("the session has no agent to wait for", code="bad-condition")
        if self.commands is None and conditions & {"command", "prompt"}:
            raise Conflict(self._no_shell(name), code="not-a-shell")

    async def holds(self, condition: str, *, quiet: bool) -> bool:
        if condition == "command":
            return self.commands is not None and self.commands.idle
        if condition != "prompt":
            return await super().holds(condition, quiet=quiet)
        try:
            return self.commands is not None and not self.closed and await self.commands.at_prompt()
        except Conflict:  # it ends just now
            return False

    async def last_input(self, manager: str | None) -> int:
        if manager is not None and manager in self._typed:
            return self._typed[manager]
        typed_at = 0
        if not self.pair.gone.is_set():
            with contextlib.suppress(Conflict, TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    typed_at = int((await self.pair.look())["typed_at"])
        return max(typed_at, await super().last_input(manager))

    # its beginning

    async def start(self, launcher: Launcher, stdin: int | None) -> bool:
        try:
            await launcher.fork(self, stdin)
        except Exception as error:  # not when the supervisor ends: its keeper may be on its way: the next one will see
            if not (isinstance(error, OrchctlError) and error.code == "unreadable"):
                launcher.drop(self)
            raise
        finally:
            close(stdin)
        if self.run.started_at is None:
            launcher.drop(self)
        if self.run.failure is not None:
            raise start_error(self.spec, *self.run.failure)
        return self.run.started_at is not None

    async def start_again(self, launcher: Launcher, before: SupervisedSession) -> None:
        number = self.run.number
        try:
            await launcher.fork(self, None)
        except OSError:  # before anybody was asked to fork
            launcher.put(before)
            raise
        if self.run.number == number:
            self.pair.greeted.set()
            self.pair.gone.set()
            raise start_error(self.spec, *(self.run.failure or ("exec", errno.EAGAIN)))

    async def open(self) -> None:
        """A program that was started takes what is typed."""

    def check_limits(self) -> None:
        """Its pair watches them."""

    async def environment(self, asker: dict[str, str]) -> dict[str, str]:
        await self.pair.keep_environment()
        spec = self.spec
        return self._store.read_environment(spec.id) or environment.compose(
            asker, {}, spec.id, spec.managed_by, spec.cwd, terminal=spec.backend == "pty"
        )

    # what it has written

    def read_commands(self, offset: int) -> journal.Decoded:
        return self._store.commands(self.spec.id).read(offset)

    def events_of(self, record: journal.Record) -> list[dict[str, Any]]:
        return of_command(record)

    def raw_log(self) -> tuple[SupervisedSession, OutputLog]:
        return self, self.open_log()


def _once(text: str, size: int = wire.ONCE_BYTES) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()

"""A session whose program runs below a pair of processes: any command, a shell for `exec`, an agent's server."""

from __future__ import annotations

import errno

from orchctl.errors import OrchctlError
from orchctl.log import journal
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import Spec
from orchctl.session import environment, layout
from orchctl.supervisor.context import House
from orchctl.supervisor.exec.queue import Commands
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.request import close
from orchctl.supervisor.session import Duties, Launcher, SupervisedSession
from orchctl.supervisor.spawn import start_error


class TerminalSession(SupervisedSession):
    """A program in a terminal, or on pipes."""

    pair: PairLink
    second_journal = layout.COMMANDS

    def __init__(self, spec: Spec, house: House, *, over: bool = False) -> None:
        folder = house.store.folder(spec.id)
        pair = PairLink(folder, self.look, lambda: self.run.keeper, lambda: self.run.empty)
        super().__init__(spec, house, pair, over=over)
        self.commands: Commands | None = Commands(self, house.store.commands(spec.id)) if spec.shell else None
        self._read()

    @property
    def prompts(self) -> bool:
        return self.spec.shell is not None

    def _duties(self) -> Duties:
        mine: Duties = {}
        if self.commands is not None:
            mine = {"commands": self.commands.tend, "first prompt": self.commands.prompt.first}
        return {**mine, **super()._duties()}

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

    def environment(self, asker: dict[str, str]) -> dict[str, str]:
        spec = self.spec
        return self._store.read_environment(spec.id) or environment.compose(
            asker, {}, spec.id, spec.managed_by, spec.cwd, terminal=spec.backend == "pty"
        )

    # what it has written

    def read_commands(self, offset: int) -> journal.Decoded:
        return self._store.commands(self.spec.id).read(offset)

    def raw_log(self) -> tuple[SupervisedSession, OutputLog]:
        return self, self.open_log()

"""From the zygote's exec to the last word: put the parts together and run them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import sys
import time

from orchctl.lazy_dataclass import dataclass
from orchctl.log.disk import REAL
from orchctl.log.event_journal import EventStore
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import SessionStore
from orchctl.pair import process
from orchctl.paths import Root
from orchctl.supervisor import failpoints, lifetime, restart
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.clock import Clock
from orchctl.supervisor.context import Configuration, House
from orchctl.supervisor.door import Door
from orchctl.supervisor.events import Teller
from orchctl.supervisor.maintenance import Upkeep
from orchctl.supervisor.registry import Registry
from orchctl.supervisor.server import Server
from orchctl.supervisor.zygote import ZygoteLink, adopt_fds

log = logging.getLogger(__name__)


def main() -> None:
    """ROOT LISTENER LOCK CHANNEL [READY | TRIAL trial], the numbers being open descriptors."""
    process.shut_out_others()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s supervisor %(process)d: %(message)s")
    root = Root(sys.argv[1])
    failpoints.pass_by(root.path, "start")
    on_trial = sys.argv[-1] == "trial"
    listener, lock, channel, ready = adopt_fds(sys.argv[2:-1] if on_trial else sys.argv[2:])
    zygote = ZygoteLink(root.path, listener, lock, channel)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _take_descriptors()
    if on_trial and ready is not None:
        restart.rehearse(root, ready)
        if not zygote.wait_for_go():
            os._exit(1)
        failpoints.pass_by(root.path, "succeed")
    lifetime.reopen(root)
    asyncio.run(_run(root, listener, zygote, Waiting(ready, b"up\n" if on_trial else b"ready\n")))
    os._exit(0)


def _take_descriptors() -> None:
    """As many as we may have, whatever whoever started us had; sessions have their asker's limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waits for us to serve, and for which word: the client that started us, or the zygote that we replace."""

    fd: int | None
    word: bytes

    def tell(self) -> None:
        """Once; it may be gone."""
        if self.fd is not None:
            with contextlib.suppress(OSError):
                os.write(self.fd, self.word)
            os.close(self.fd)


async def _run(root: Root, listener: socket.socket, zygote: ZygoteLink, waiting: Waiting) -> None:
    house = _house(root)
    house.clock.now()  # a jump from here on is seen, also by the supervisor after this one
    try:
        async with asyncio.TaskGroup() as tasks:
            app = Supervisor(root, house, Registry(house, zygote, tasks), zygote, time.time())
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, app.stop.set)
            app.registry.adopt()
            tasks.create_task(zygote.tend(app.stop.set))
            server = Server(app, listener, tasks)
            server.open()
            upkeep = Upkeep(app, Door(root, server, zygote))
            tasks.create_task(upkeep.watch())
            tasks.create_task(upkeep.run())
            tasks.create_task(lifetime.Idleness(app, server).run())
            tasks.create_task(lifetime.watch(app))
            zygote.say("ready")
            waiting.tell()
            log.info("ready with %d live sessions", len(app.registry.live()))
            await app.stop.wait()
            zygote.say("stop")
            server.say_goodbye()
            raise _Stopped
    except* _Stopped:
        log.info("stopped")


def _house(root: Root) -> House:
    configuration = Configuration(root)
    settings = configuration.now
    events = EventStore(REAL, root.events, keep_bytes=settings.events_bytes, keep_s=settings.events_s)
    return House(
        SessionStore(root.sessions), EndedStore(root.sessions), Teller(events), configuration, Clock(root.path)
    )


class _Stopped(Exception):
    """Ends the task group."""

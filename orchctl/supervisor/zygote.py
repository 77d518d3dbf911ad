"""The supervisor's end of the zygote's channel. A zygote that dies is replaced; sessions do not notice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable

log = logging.getLogger(__name__)
AGAIN_S = 0.5  # a machine without a process to give is asked again this often
FEATURES_S = 5.0  # one that is asked and says nothing for so long is of an older version


class ZygoteLink:
    """Asks for forks."""

    def __init__(self, root: str, listener: socket.socket, lock: int, channel: socket.socket) -> None:
        self._root = root
        self.listener = listener
        self.lock = lock
        self._channel = channel
        self._words = b""
        self.pid: int | None = None
        self.took_back = False  # whether we are here because another version did not come up
        self._replaced = asyncio.Event()
        self._features: frozenset[bytes] | None = None  # None until it was asked and has answered
        self._asked = False
        self._answered = asyncio.Event()

    async def can(self, feature: str) -> bool:
        """Whether the keepers that it forks know of something; the zygote may be of an older version than we are."""
        if self._features is None:
            if not self._asked:
                self._asked = True
                self.say("features")
            try:
                async with asyncio.timeout(FEATURES_S):
                    await self._answered.wait()
            except TimeoutError:
                self._features = frozenset()
        return feature.encode("ascii") in (self._features or ())

    def spawn(self, session: str, connection: socket.socket) -> None:
        """Fork a keeper for a session whose intent is on disk; it speaks first on `connection`."""
        socket.send_fds(self._channel, [b"spawn %s\n" % session.encode("ascii")], [connection.fileno()])

    def take_door(self, listener: socket.socket, lock: int) -> None:
        """From now on these are the socket that clients find, and the lifetime lock."""
        old, self.listener = self.listener, listener
        old.close()
        if lock != self.lock:
            os.close(self.lock)
        self.lock = lock

    async def hand_on_door(self) -> None:
        """Let the zygote hold them too. One of an older version cannot: then only a death of ours is noticed."""
        if await self.can("door"):
            with contextlib.suppress(OSError):  # that it is gone is heard, and the next one gets them at its start
                socket.send_fds(self._channel, [b"door\n"], [self.listener.fileno(), self.lock])

    async def replacement(self) -> None:
        """Wait for the zygote that follows one which did not take a request."""
        await self._replaced.wait()

    def say(self, word: str) -> None:
        """`ready` or `stop`."""
        try:
            self._channel.sendall(word.encode("ascii") + b"\n")
        except OSError:
            log.warning("the zygote is gone and could not be told: %s", word)

    def wait_for_go(self) -> bool:
        """Until the old supervisor is gone and all is ours; False when that will never be. Blocks."""
        while data := self._channel.recv(4096):
            if b"go" in self._hear(data):
                return True
        return False

    async def start_successor(self, executable: str, trial: socket.socket) -> Process:
        """A new zygote that is ready to take over, and tells so on `trial`."""
        return await self._start(executable, "--succeed", trial)

    def retire(self, trial: socket.socket) -> None:
        """Let the zygote on trial have everything as soon as we are gone."""
        socket.send_fds(self._channel, [b"retire\n"], [trial.fileno()])

    async def tend(self, stop: Callable[[], None]) -> None:
        """Listen to the zygote, and start another whenever it dies."""
        loop = asyncio.get_running_loop()
        while True:
            self._channel.setblocking(False)
            while data := await self._received(loop):
                if b"stop" in self._hear(data):
                    stop()
            await self._replace()

    def _hear(self, data: bytes) -> list[bytes]:
        """The words in what came; its own name is noted."""
        *lines, self._words = (self._words + data).split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"zygote":
                self.pid = int(rest)
            elif word == b"back":
                self.took_back = True
            elif word == b"features":
                self._features = frozenset(rest.split())
                self._answered.set()
        return lines

    async def _received(self, loop: asyncio.AbstractEventLoop) -> bytes:
        try:
            return await loop.sock_recv(self._channel, 4096)
        except OSError:
            return b""

    async def _replace(self) -> None:
        log.warning("the zygote has died; starting another")
        self._channel.close()
        self.pid = None
        self._words = b""
        while not await self._adopted():
            await asyncio.sleep(AGAIN_S)
        self.say("ready")
        self._features = None
        self._answered.clear()
        if self._asked:
            self.say("features")
        self._replaced.set()
        self._replaced = asyncio.Event()

    async def _adopted(self) -> bool:
        """Start a zygote for what runs already; False where the machine has no process or descriptor to give."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            log.warning("no zygote can be started, and it is tried again: %s", error.strerror)
            return False
        with theirs:
            try:
                process = await self._start(sys.executable, "--adopt", theirs)
            except OSError as error:
                log.warning("no zygote can be started, and it is tried again: %s", error.strerror)
                ours.close()
                return False
        self._channel = ours
        return await process.wait() == 0

    async def _start(self, executable: str, option: str, channel: socket.socket) -> Process:
        fds = [self.listener.fileno(), self.lock, channel.fileno()]
        argv = [executable, "-P", "-m", "orchctl.pair", self._root, option, *map(str, fds)]
        return await asyncio.create_subprocess_exec(*argv, pass_fds=fds, start_new_session=True, cwd="/")


def adopt_fds(words: list[str]) -> tuple[socket.socket, int, socket.socket, int | None]:
    """Listener, lock, channel and perhaps a ready-pipe, as handed over on the command line."""
    fds = [int(word) for word in words]
    for fd in fds:
        os.set_inheritable(fd, False)
    listener, lock, channel = fds[:3]
    return (
        socket.socket(fileno=listener),
        lock,
        socket.socket(fileno=channel),
        fds[3] if len(fds) > 3 else None,
    )

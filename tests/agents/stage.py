"""A world with a harness in it, and what tests do there again and again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

from orchctl.pair import wire
from tests.agents.kits import Kit
from tests.world import DEADLINE_S, World, until

Event = dict[str, Any]


class Stage:
    """A world with a harness in it, and what tests do there again and again."""

    def __init__(self, world: World, kit: Kit) -> None:
        self.world = world
        self.kit = kit

    def spawn(self, name: str = "it", *words: str) -> str:
        """A session in a directory of its own; its id."""
        os.makedirs(self.folder(name), exist_ok=True)
        place = ("-w", self.folder(name), "--name", name)
        return self.world.ok("spawn", "--profile", self.kit.profile, *place, *words)

    def folder(self, name: str = "it") -> str:
        """Where that session works."""
        return f"{self.world.folder}/work-{name}"

    def exec(self, prompt: str, *words: str, name: str = "it") -> subprocess.CompletedProcess[bytes]:
        """One turn to its end."""
        return self.world.run("exec", *words, name, prompt)

    def says(self, prompt: str, name: str = "it") -> str:
        """What the agent said in a turn that completed."""
        done = self.exec(prompt, name=name)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def agent(self, name: str = "it") -> dict[str, Any]:
        """How the conversation stands."""
        found: dict[str, Any] = self.world.json("info", name)["agent"]
        return found

    def pending(self) -> list[dict[str, Any]]:
        """What is asked."""
        found: list[dict[str, Any]] = self.world.json("pending")
        return found

    def events(self, kind: str, name: str = "it") -> list[Event]:
        """Of one type."""
        lines = self.world.ok("events", "--type", kind, name).splitlines()
        return [json.loads(line) for line in lines]

    def tells(self, name: str = "it") -> str:
        """All of the transcript but the prompts in it."""
        lines = self.world.ok("tail", "-n", "all", name).splitlines()
        return "\n".join(line for line in lines if not line.startswith("> "))

    def touched(self, file: str, name: str = "it") -> int:
        """How often the agent has added its line to a file."""
        try:
            with open(f"{self.folder(name)}/{file}", encoding="ascii") as found:
                return found.read().count("touched\n")
        except FileNotFoundError:
            return 0

    def server(self) -> int:
        """The process of the one server."""
        (pid,) = server_pids(self.world)
        return pid

    def kill_server(self, name: str = "it") -> None:
        """Return when the session has the event: a prompt sent before that may be lost with the server."""
        before = self._server_ends(name)
        os.kill(self.server(), signal.SIGKILL)
        until(lambda: self._server_ends(name) > before, "the end of the server is not reported")

    def _server_ends(self, name: str) -> int:
        return sum(event["code"] == "server-ended" for event in self.events("error", name))

    def kill_supervisor(self) -> None:
        """Without a word."""
        os.kill(self.world.supervisor(), signal.SIGKILL)

    @contextlib.contextmanager
    def working(self, prompt: str, name: str = "it") -> Iterator[subprocess.Popen[bytes]]:
        """A turn under way, in which the agent has said or asked something."""
        before = len(self.tells(name))
        running = self.world.start("exec", name, prompt, stderr=subprocess.PIPE)
        until(lambda: len(self.tells(name)) > before + 2, "the agent says nothing")
        try:
            yield running
        finally:
            running.kill()
            running.communicate()


def server_pids(world: World) -> list[int]:
    """The processes of agent servers, as their journals tell."""
    found = []
    for session in os.listdir(f"{world.state}/sessions"):
        with contextlib.suppress(FileNotFoundError), open(f"{world.state}/sessions/{session}/spec.json") as file:
            if json.load(file)["backend"] == "server" and not _ended(world, session):
                records = [line.partition(" ")[2] for line in world.journal(session).decode().splitlines()]
                found += [record["pid"] for record in map(json.loads, records) if record["type"] == "started"]
    return found


def _ended(world: World, session: str) -> bool:
    return b'"type":"exit"' in world.journal(session).replace(b" ", b"") or b'"lost"' in world.journal(session)


def pair_of(world: World, session: str) -> tuple[int, int]:
    """The keeper and the mover of a session, as its pair tells them."""
    folder = os.open(f"{world.state}/sessions/{session}", os.O_PATH)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"/proc/self/fd/{folder}/pair.sock")
        connection.settimeout(DEADLINE_S)
        decoder = wire.Decoder()
        while True:
            for kind, payload in decoder.feed(connection.recv(1 << 16)):
                if kind == wire.HELLO:
                    words = json.loads(payload)
                    return int(words["keeper"]), int(words["mover"])
    finally:
        connection.close()
        os.close(folder)

"""Versions that differ: an older client can still list and kill, and an older pair is served by a newer supervisor."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

from orchctl.protocol import frames
from tests.world import World, until


class OldClient:
    """Speaks the socket as the first version did: only fields that it knew, and an older protocol number."""

    def __init__(self, world: World) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(f"{world.state}/supervisor.sock")
        self._decoder = frames.Decoder()
        self._frames: list[Any] = []
        self.greeting = self._next()
        self._say({"protocol": 0, "version": "0.0.1", "pid": os.getpid()})

    def ask(self, **words: Any) -> dict[str, Any]:
        """One request, one answer."""
        self._say({"id": 1, **words})
        return self._next()

    def close(self) -> None:
        self._socket.close()

    def _say(self, words: dict[str, Any]) -> None:
        self._socket.sendall(frames.control_frame(json.dumps(words).encode()))

    def _next(self) -> dict[str, Any]:
        while not self._frames:
            self._frames += self._decoder.feed(self._socket.recv(65536))
        found: dict[str, Any] = json.loads(self._frames.pop(0).payload)
        return found


def test_a_client_of_an_older_protocol_lists_and_kills(world: World) -> None:
    session = world.ok("spawn", "--", "sleep", "1000")
    client = OldClient(world)
    try:
        assert client.greeting["protocol"] >= 1
        listed = client.ask(kind="session.list")
        assert [one["id"] for one in listed["sessions"]] == [session]
        unknown = client.ask(kind="session.levitate", session=session)
        assert (unknown["kind"], unknown["code"]) == ("failed", "unknown-verb")
        killed = client.ask(kind="session.kill", sessions=[session])
        assert killed["report"]["ended"] == [session]
    finally:
        client.close()


OLD_PAIR = """
import json, os, socket, struct, sys
folder, pid = sys.argv[1], int(sys.argv[2])
listener = socket.socket(socket.AF_UNIX)
os.chdir(folder)
listener.bind("pair.sock")
listener.listen(4)
print("up", flush=True)
head = struct.Struct(">BI")
while True:
    connection, _ = listener.accept()
    words = json.dumps({"protocol": 1, "keeper": os.getpid(), "mover": os.getpid(), "child": pid}).encode()
    connection.sendall(head.pack(ord("h"), len(words)) + words)
    data = b""
    while True:
        got = connection.recv(65536)
        if not got:
            break
        data += got
        while len(data) >= head.size:
            kind, length = head.unpack_from(data)
            if len(data) < head.size + length:
                break
            payload, data = data[head.size:head.size + length], data[head.size + length:]
            if kind == ord("K"):
                os.kill(pid, 9)
                with open("run.jnl", "ab") as file:
                    file.write(sys.argv[3].encode() + b"\\n")
                os.unlink("pair.sock")
                connection.sendall(head.pack(ord("j"), 0))
                sys.exit(0)
"""


def test_a_pair_of_an_older_version_is_adopted_followed_and_killed(world: World) -> None:
    """It knows the first words of the frozen protocol only, and answers nothing else."""
    from orchctl.log import journal

    with subprocess.Popen(["sleep", "1000"]) as program:
        session = "01234567-0000-4000-8000-000000000000"
        folder = f"{world.state}/sessions/{session}"
        for part in ("out", "shell"):
            os.makedirs(f"{folder}/{part}", mode=0o700)
        for path, _, _ in os.walk(world.state):
            os.chmod(path, 0o700)
        spec = {"id": session, "command": ["sleep", "1000"], "cwd": "/", "cols": 80, "rows": 24, "created_at": 1.0}
        with open(f"{folder}/spec.json", "w", encoding="ascii") as file:
            json.dump(spec, file)
        with open(f"{folder}/out/{0:020d}.seg", "wb") as file:
            file.write(b"old bytes\r\n")
        with open(f"{folder}/run.jnl", "wb") as file:
            file.write(journal.encode({"type": "started", "time": 2.0, "pid": program.pid, "keeper": 1, "run": 1}))
        end = journal.encode({"type": "exit", "time": 3.0, "status": -9, "offset": 11, "open": False}).decode().strip()
        words = [sys.executable, "-c", OLD_PAIR, folder, str(program.pid), end]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as pair:
            assert pair.stdout is not None
            assert pair.stdout.readline() == b"up\n"
            (listed,) = world.json("list")
            assert (listed["id"], listed["state"], listed["stalled"]) == (session, "live", None)
            assert world.ok("tail", session) == "old bytes"
            refused = world.run("kill", "--grace", "0s", session)
            assert refused.returncode == 0, refused
            assert pair.wait(60) == 0
        program.wait()
    until(lambda: os.path.exists(f"{folder}/ended.json"))
    ended = world.json("info", session)
    assert (ended["state"], ended["signal"]) == ("closed", 9)

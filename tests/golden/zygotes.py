"""Stand where a supervisor stands, or a zygote, and speak with the real other one in the words of the recorded version.

Each act gives what was said, a line for each word: `>` by us, `<` by the process under test; `+` a descriptor came or
went with it. Numbers of processes and names of sessions are left out: they are another's every time.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.golden import frames
from tests.world import DEADLINE_S, until

LEFT = Path(__file__).parent / "v2" / "state" / "sessions"


@dataclass(slots=True)
class Wire:
    """One end of a channel or of the line that a successor is tried on."""

    socket: socket.socket
    lines: list[str]
    fds: list[int] = field(default_factory=list)
    heard: bytes = b""

    def say(self, word: str, *fds: int) -> None:
        """One word, with descriptors if it needs them."""
        self.lines.append(f"> {_shown(word)}{' +' * len(fds)}")
        if fds:
            socket.send_fds(self.socket, [word.encode() + b"\n"], list(fds))
        else:
            self.socket.sendall(word.encode() + b"\n")

    def hear(self) -> str:
        """The next word; an empty one at the end."""
        while b"\n" not in self.heard:
            data, fds, _, _ = socket.recv_fds(self.socket, 65536, 16)
            self.fds += fds
            if not data:
                self.lines.append("< end")
                return ""
            self.heard += data
        word, _, self.heard = self.heard.partition(b"\n")
        self.lines.append(f"< {_shown(word.decode())}{' +' * (word.startswith((b'spawn', b'retire')))}")
        return word.decode()


def _shown(word: str) -> str:
    return re.sub(r"[0-9a-f-]{36}", "ID", re.sub(r"(?<=^zygote )\d+", "PID", word))


class Ground:
    """A state directory with a listening socket and a lifetime lock, as a zygote and a supervisor share them."""

    def __init__(self, state: str, env: dict[str, str]) -> None:
        self.state, self.env = state, env
        os.makedirs(f"{state}/sessions", mode=0o700, exist_ok=True)
        os.chmod(state, 0o700)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(f"{state}/supervisor.sock")
        self.listener.listen(64)
        self.lock = os.open(f"{state}/supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Our copies of both."""
        self.listener.close()
        os.close(self.lock)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.state}/supervisor.sock")

    def start(self, module: str, *words: str, fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
        """A process of the tree under test, with listener, lock and these descriptors."""
        every = (self.listener.fileno(), self.lock, *fds)
        argv = [sys.executable, "-P", "-m", module, self.state, *words, *map(str, every)]
        log = subprocess.DEVNULL
        return subprocess.Popen(argv, pass_fds=every, env=self.env, stdin=log, stdout=log, stderr=log, cwd="/")


def with_zygote(ground: Ground) -> list[str]:
    """As a supervisor: a zygote says who it is, forks a pair, passes a stop on, and hands everything over."""
    lines: list[str] = []
    ours, theirs = _channel()
    started = ground.start("orchctl.pair", "--adopt", fds=(theirs.fileno(),))
    theirs.close()
    wire = Wire(ours, lines)
    pid = int(wire.hear().split()[1])
    started.wait(DEADLINE_S)
    wire.say("ready")
    _spawn(ground, wire)
    os.kill(pid, signal.SIGTERM)
    assert wire.hear() == "stop"
    wire.say("stop")
    ours.close()
    until(lambda: _gone(pid))
    return lines


def with_retiring_zygote(ground: Ground) -> list[str]:
    """As a supervisor that is replaced: its zygote tells the next one to go on, and retires when that one serves."""
    lines: list[str] = []
    ours, theirs = _channel()
    ground.start("orchctl.pair", "--adopt", fds=(theirs.fileno(),)).wait(DEADLINE_S)
    theirs.close()
    wire = Wire(ours, lines)
    pid = int(wire.hear().split()[1])
    wire.say("ready")
    trial, successor = _channel()
    wire.say("retire", successor.fileno())
    successor.close()
    ours.close()
    next_one = Wire(trial, lines)
    assert next_one.hear() == "go"
    next_one.say("up")
    next_one.say("serving")
    until(lambda: _gone(pid))
    trial.close()
    return lines


def with_supervisor(ground: Ground) -> list[str]:
    """As a zygote: a supervisor says that it is ready, asks for a fork, and says that it stops."""
    lines: list[str] = []
    ours, theirs = _channel()
    read, write = os.pipe()
    started = ground.start("orchctl.supervisor", fds=(theirs.fileno(), write))
    theirs.close()
    os.close(write)
    wire = Wire(ours, lines)
    wire.say(f"zygote {os.getpid()}")
    wire.say("back")
    assert wire.hear() == "ready"
    assert os.read(read, 64) == b"ready\n"
    os.close(read)
    with frames.Line(f"{ground.state}/supervisor.sock") as line:
        asked = {"session_id": "9f0c2a52-5f0e-4a41-9a3c-0d6c9d1f7a10", "command": ["cat"], "cwd": "/", "env": {}}
        line.say(id=1, kind="session.spawn", **asked)
        assert wire.hear().startswith("spawn ")
        for fd in wire.fds:
            os.close(fd)  # nobody is forked
    wire.say("stop")
    while wire.hear() != "stop":
        pass
    ours.close()
    started.wait(DEADLINE_S)
    return lines


def with_successor(ground: Ground, verdict: str) -> list[str]:
    """As those who are replaced: a successor says which sessions it knows, and goes on or gives up as it is told."""
    lines: list[str] = []
    ours, theirs = _channel()
    _old_session(ground, begun=True)
    started = ground.start("orchctl.pair", "--succeed", fds=(theirs.fileno(),))
    theirs.close()
    wire = Wire(ours, lines)
    assert wire.hear().startswith("able ")
    wire.say(verdict)
    heard = {wire.hear()} if verdict == "back" else {wire.hear(), wire.hear()}
    assert heard == ({"gone"} if verdict == "back" else {"up", "serving"})
    if verdict == "go":
        with frames.Line(f"{ground.state}/supervisor.sock") as line:
            line.answer(id=1, kind="supervisor.stop", kill=True)
    started.wait(DEADLINE_S)
    ours.close()
    return sorted(lines)  # the supervisor and its zygote speak at the same time


ACTS: dict[str, Callable[[Ground], list[str]]] = {
    "zygote": with_zygote,
    "retiring zygote": with_retiring_zygote,
    "supervisor": with_supervisor,
    "successor": lambda ground: with_successor(ground, "go"),
    "refused successor": lambda ground: with_successor(ground, "back"),
}


def _channel() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.settimeout(DEADLINE_S)
    return ours, theirs


def _old_session(ground: Ground, *, begun: bool) -> str:
    """A recorded session as its machine left it, or only the intent, which the tree under test is to start."""
    (found,) = [
        path.parent for path in LEFT.glob("*/spec.json") if json.loads(path.read_text())["name"] == "left-always"
    ]
    folder = f"{ground.state}/sessions/{found.name}"
    if begun:
        shutil.copytree(found, folder)
    else:
        os.makedirs(f"{folder}/out", mode=0o700)
        for name in ("spec.json", "env.json"):
            shutil.copy(found / name, folder)
    return found.name


def _spawn(ground: Ground, wire: Wire) -> None:
    """A keeper is forked for it, greets us, and ends when it is told to."""
    session = _old_session(ground, begun=False)
    ours, theirs = _channel()
    wire.say(f"spawn {session}", theirs.fileno())
    theirs.close()
    heard = _pair_frames(ours)
    assert next(heard)[0] == "h"
    until(lambda: b'"started"' in Path(f"{ground.state}/sessions/{session}/run.jnl").read_bytes())
    ours.sendall(frames.pair_frame("K", struct.pack(">d", 0.0)))
    for _ in heard:
        pass
    assert b'"exit"' in Path(f"{ground.state}/sessions/{session}/run.jnl").read_bytes()
    ours.close()


def _pair_frames(connection: socket.socket) -> Iterator[tuple[str, bytes]]:
    buffer = bytearray()
    while data := connection.recv(1 << 16):
        buffer += data
        yield from frames.split_pair(buffer)


def _gone(pid: int) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], 0)[0])
    finally:
        os.close(pidfd)

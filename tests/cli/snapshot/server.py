"""A process that has every module of the command line imported, and forks one child per command line.

Run as a script with the number of a socket; it imports nothing of the tests. A request is one packet with a JSON
object (`words`, `env`, `cwd`) and three descriptors: stdin, stdout and stderr. Answers are two packets: the pid of
the child, then its status as `waitpid` gives it. The child has an address space, an environment and signal
handlers of its own; it ends without the clean-up of the interpreter, which would copy all of its memory.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import socket
import sys
from importlib import import_module

import orchctl.cli
import orchctl.client
from orchctl.cli.main import main

NOT_NEEDED = ("orchctl.cli.pages.__main__", "orchctl.client.aio", "orchctl.client.pexpect_spawn")


def preload() -> None:
    """Import what commands import when they run."""
    for package in (orchctl.cli, orchctl.client):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(NOT_NEEDED):
                import_module(module.name)


def serve(channel: socket.socket) -> list[str] | None:
    """In a child, the words of its command; in the server, None when nobody asks any more."""
    while True:
        packet, fds, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not packet:
            return None
        child = os.fork()
        if child == 0:
            return become(channel, json.loads(packet), fds)
        for fd in fds:
            os.close(fd)
        channel.send(str(child).encode())
        channel.send(str(os.waitpid(child, 0)[1]).encode())


def become(channel: socket.socket, request: dict[str, object], fds: list[int]) -> list[str]:
    """Take over the streams, the environment and the directory."""
    channel.close()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    words, env, cwd = request["words"], request["env"], request["cwd"]
    assert isinstance(words, list)
    assert isinstance(env, dict)
    assert isinstance(cwd, str)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["orchctl", *words]
    return words


if __name__ == "__main__":
    preload()
    gc.collect()
    gc.freeze()
    if (asked := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        status: object = 1
        try:
            main(asked)
        except SystemExit as end:
            status = end.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status if isinstance(status, int) else 1)

"""A process that has every module of the command line imported, and forks one child per command line.

Run as a script with the number of a socket; it imports nothing of the tests. A request is one packet with five
descriptors: a file with a JSON object (`words`, `env`, `cwd`), stdin, stdout, stderr, and a pipe that gets the child's
pid on a line and, when it has ended, its status as `waitpid` gives it. Each child has an address space, an environment
and signal handlers of its own, and a parent that does nothing but wait for it, so that any number run side by side.
The server is no child of whoever starts it: tests look at their children, and end them. It ends when nobody can ask it.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import socket
import sys
from importlib import import_module
from typing import Any

import orchctl.cli
import orchctl.client
from orchctl.cli.main import main

NOT_NEEDED = ("orchctl.client.aio", "orchctl.client.pexpect")


def preload() -> None:
    """Import what commands import when they run."""
    for package in (orchctl.cli, orchctl.client):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(NOT_NEEDED):
                import_module(module.name)


def serve(channel: socket.socket) -> list[str] | None:
    """In a child, the words of its command; in the server, None when nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait for commands are not waited for
    while True:
        packet, fds, _, _ = socket.recv_fds(channel, 16, 5)
        if not packet:
            return None
        if os.fork() == 0:
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _attend(*fds)
        for fd in fds:
            os.close(fd)


def _attend(request: int, *fds: int) -> list[str]:
    """Fork the command and wait for it; in the command, its words."""
    *streams, report = fds
    child = os.fork()
    if child == 0:
        os.close(report)
        return _become(json.loads(os.pread(request, os.fstat(request).st_size, 0)), streams, request)
    for fd in streams:
        os.close(fd)
    os.write(report, b"%d\n" % child)
    os.write(report, b"%d\n" % os.waitpid(child, 0)[1])
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int], file: int) -> list[str]:
    """Take over the streams, the environment and the directory."""
    os.close(file)
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = ["orchctl", *request["words"]]
    return sys.argv[1:]


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    os.setsid()
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
            os._exit(status if isinstance(status, int) else 1)  # the interpreter's own end would copy all memory

"""The session's program: a terminal for it, and its start.

Nothing of ours reaches it: default signals, descriptors 0 to 2, and the directory, mask, limits
and environment of the client that asked.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import struct
import termios
from collections.abc import Iterator
from typing import Any

from orchctl.pair.spec import Plan

_SIGNALS = [int(number) for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
_LIMITS = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}


class StartFailed(Exception):
    """The program could not be started; `step` says where: `cwd` or `exec`."""

    def __init__(self, step: str, error: int) -> None:
        super().__init__(f"{step}: {os.strerror(error)}")
        self.step = step
        self.error = error


def open_terminal(cols: int, rows: int, *, echo: bool = True) -> tuple[int, int]:
    """A PTY of that size: master (non-blocking, for ever) and slave, to be closed once the program has it."""
    master, slave = os.openpty()
    resize(master, cols, rows)
    modes = termios.tcgetattr(slave)
    modes[3] |= termios.NOFLSH  # an interrupt must not throw away output that nobody has read yet
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    if not echo:
        set_echo(slave, on=False)
    os.set_blocking(master, False)
    return master, slave


def set_echo(terminal: int, *, on: bool) -> None:
    """Whether the terminal shows what is typed; a terminal that is gone stays as it is."""
    with contextlib.suppress(OSError, termios.error):
        modes = termios.tcgetattr(terminal)
        modes[3] = modes[3] | termios.ECHO if on else modes[3] & ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, modes)


def resize(master: int, cols: int, rows: int) -> None:
    """Set the terminal's size; the kernel tells the program."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def open_pipes(stdin: int | None = None) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Without a terminal: our ends (non-blocking, for ever) and the program's, of its stdin, stdout and stderr.

    Where it has a `stdin` of its own, what is typed goes to /dev/null.
    """
    their_in, our_in = os.pipe2(os.O_CLOEXEC) if stdin is None else (stdin, open_null(os.O_WRONLY))
    (our_out, their_out), (our_err, their_err) = (os.pipe2(os.O_CLOEXEC) for _ in range(2))
    ours = (our_in, our_out, our_err)
    for fd in ours:
        os.set_blocking(fd, False)
    return ours, (their_in, their_out, their_err)


def open_null(flags: int) -> int:
    """/dev/null, for this process alone."""
    return os.open(os.devnull, flags | os.O_CLOEXEC)


def start(plan: Plan, terminal: str | tuple[int, int, int], stdin: int | None = None) -> int:
    """Start the program with `terminal` as its controlling one, or on three pipes; its pid.

    On a terminal too it may have a `stdin` of its own, as `program <file` has in a shell.

    By posix_spawn: it runs no Python between fork and exec, which is several times faster, and
    tells an exec that failed. What it cannot set, this process sets for itself and takes back.
    """
    actions: list[Any]
    if isinstance(terminal, str):
        opened = (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0)  # the first terminal a new session opens is its own
        actions = [opened, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, stdin, 0)] if stdin is not None else []
    else:
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(terminal)]
    try:
        with _surroundings(plan):
            return _spawn(plan, actions)
    except (ValueError, UnicodeError):  # a NUL byte somewhere
        raise StartFailed("exec", errno.EINVAL) from None


def _spawn(plan: Plan, actions: list[Any]) -> int:
    """Look for the command where the client would, and tell the error that matters."""
    name = plan.executable
    folders = plan.env.get("PATH", os.defpath).split(":")
    failure = errno.ENOENT
    for file in [name] if "/" in name else [f"{folder or '.'}/{name}" for folder in folders]:
        try:
            return _exec(file, plan.command, plan.env, actions)
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # a script that does not say what runs it: sh does, as everywhere
                return _exec("/bin/sh", ["/bin/sh", file, *plan.command[1:]], plan.env, actions)
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                failure = error.errno or errno.EIO
    raise StartFailed("exec", failure)


def _exec(file: str, argv: list[str], env: dict[str, str], actions: list[Any]) -> int:
    return os.posix_spawn(file, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_SIGNALS)


@contextlib.contextmanager
def _surroundings(plan: Plan) -> Iterator[None]:
    """Directory, mask and soft limits of the asking client, for as long as a start takes."""
    mask = os.umask(plan.umask)
    limits = {name: resource.getrlimit(_LIMITS[name]) for name in plan.limits if name in _LIMITS}
    try:
        try:
            os.chdir(plan.cwd)
        except OSError as error:
            raise StartFailed("cwd", error.errno or errno.EIO) from None
        for name, (_, hard) in limits.items():
            soft = plan.limits[name]
            too_much = hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard)
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(_LIMITS[name], (hard if too_much else soft, hard))
        yield
    finally:
        for name, pair in limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(_LIMITS[name], pair)
        os.umask(mask)
        os.chdir("/")

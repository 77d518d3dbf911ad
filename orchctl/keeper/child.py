"""The session's program: a terminal for it, and the last steps between fork and exec.

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

from orchctl.keeper.plan import Plan

_PAST_OUR_FDS = 1 << 16  # a keeper holds a dozen
_LIMITS = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}


class StartFailed(Exception):
    """The program could not be started; `step` says where: `cwd` or `exec`."""

    def __init__(self, step: str, error: int) -> None:
        super().__init__(f"{step}: {os.strerror(error)}")
        self.step = step
        self.error = error


def open_terminal(cols: int, rows: int) -> tuple[int, int]:
    """A PTY of that size: master (non-blocking, for ever) and slave."""
    master, slave = os.openpty()
    resize(master, cols, rows)
    modes = termios.tcgetattr(slave)
    modes[3] |= termios.NOFLSH  # an interrupt must not throw away output that nobody has read yet
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    os.set_blocking(master, False)
    return master, slave


def resize(master: int, cols: int, rows: int) -> None:
    """Set the terminal's size; the kernel tells the program."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def start(plan: Plan, slave: int) -> int:
    """Fork and exec the program on `slave`; its pid, once the exec is known to have worked."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(plan, slave, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        word = pipe.read()
    if not word:
        return pid
    os.waitpid(pid, 0)
    step, _, number = word.decode("ascii").partition(" ")
    raise StartFailed(step, int(number or errno.EIO))


def _become(plan: Plan, slave: int, tell: int) -> None:
    """In the child: never returns. Descriptor 3 carries the bad news and closes by itself on exec."""
    step = "exec"
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        os.dup2(tell, 3, inheritable=False)
        os.closerange(4, _PAST_OUR_FDS)
        _default_signals()
        _set_limits(plan.limits)
        os.umask(plan.umask)
        step = "cwd"
        os.chdir(plan.cwd)
        step = "exec"
        os.execvpe(plan.command[0], plan.command, plan.env)
    except OSError as error:
        os.write(3, b"%s %d" % (step.encode(), error.errno or errno.EIO))
    except (ValueError, UnicodeError):  # a NUL byte somewhere
        os.write(3, b"%s %d" % (step.encode(), errno.EINVAL))
    finally:
        os._exit(127)


def _default_signals() -> None:
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError, ValueError):  # a few belong to the C library
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _set_limits(limits: dict[str, int]) -> None:
    """Soft limits of the asking client, as far as our own hard limits reach."""
    for name, soft in limits.items():
        if name in _LIMITS:
            _, hard = resource.getrlimit(_LIMITS[name])
            too_much = hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard)
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(_LIMITS[name], (hard if too_much else soft, hard))

"""Reaching the supervisor, and starting one where there is none: exactly one, however many ask at once.

Connect; else take the start lock and connect again; else start it and wait for its word. A client
never removes a socket, and the new daemon keeps nothing of the client's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

from orchctl import procfs
from orchctl.errors import NotPermitted, SupervisorUnreachable
from orchctl.paths import Root, check, prepare, socket_address
from orchctl.session import environment
from orchctl.session.model import SupervisorStatus

SWITCH = "ORCHCTL_SCOPE"  # `no` turns it off
BEGIN_S = 3.0  # a manager that does not answer by then is not waited for
_BOOTED = "/run/systemd/system"
_RUNTIME, _ADDRESS = "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"
_ASK = ["systemd-run", "--user", "--scope", "--quiet", "--collect", "--description=orchctl supervisor", "--"]
_FORGET = ["env", "-u", _RUNTIME, "-u", _ADDRESS]  # these are for systemd-run, and the daemon has no use for them


def before(environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words to put before the daemon's own, and what they need of the environment; nothing where it is no use."""
    if environment.runs_in(environ):  # what ends a job must reach it
        return [], {}
    if environ.get(SWITCH, "").lower() in ("no", "off", "false", "0") or not os.path.isdir(_BOOTED):
        return [], {}
    runtime = next((one for one in (environ.get(_RUNTIME), f"/run/user/{os.geteuid()}") if one and _has_bus(one)), None)
    if runtime is None or not (_below_manager() or _lingers()):
        return [], {}
    return [*_ASK, *_FORGET], {_RUNTIME: runtime, _ADDRESS: f"unix:path={runtime}/bus"}


def _has_bus(runtime: str) -> bool:
    """Ours, that is: `su` may leave another user's in the environment."""
    try:
        found = os.stat(f"{runtime}/bus")
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()


def _below_manager() -> bool:
    return f"/user@{os.geteuid()}.service/".encode() in procfs.read("self/cgroup")


def _lingers() -> bool:
    import pwd

    try:
        return os.path.exists(f"/var/lib/systemd/linger/{pwd.getpwuid(os.geteuid()).pw_name}")
    except KeyError:
        return False


STRANDED_S, STRANDED_LOOK_S = 5.0, 0.05  # a supervisor looks for its socket every second
UNLOCKED_S = 10.0  # and for its lock: one that has just been started, on a busy machine, takes a moment longer
READY_S = 30.0  # two interpreters start one after the other, on a machine that may be busy with fifty others
_KEPT = ("PATH", "LANG", "TZ", "TMPDIR", "CI")
_KEPT_PREFIXES = ("ORCHCTL_", "LC_")


class NotRunning(SupervisorUnreachable):
    """Nobody listens."""


def reach(root: Root) -> socket.socket:
    """A connection to the supervisor, started if need be."""
    prepare(root)
    try:
        return connect(root)
    except NotRunning:
        pass
    with _locked(root.start_lock):
        try:
            return connect(root)
        except NotRunning:
            pass
        try:
            _start(root)
        except SupervisorUnreachable as error:
            return _connect_to_other(root, error)
        return connect(root)


def _connect_to_stranded(root: Root) -> socket.socket | None:
    """A supervisor whose socket was removed binds it again, and so does one whose whole directory was deleted.

    Beside it none may be started, also where its lock was replaced: nobody holds the file that is there, and it lives.
    One that is about to end lets go of its lock instead.
    """
    began_at = time.monotonic()
    while (locked := _is_locked(root.lifetime_lock)) or supervisor_of(root) is not None:
        with suppress(NotRunning):
            return _connect(root)
        if time.monotonic() < began_at + (UNLOCKED_S if locked is False else STRANDED_S):
            time.sleep(STRANDED_LOOK_S)
        elif locked:  # nobody starts a second one while it is
            break
        elif locked is False:
            pid = supervisor_of(root)
            raise SupervisorUnreachable(
                f"supervisor {pid} of {root.path} does not listen, and its socket and its lock were replaced; "
                f"'kill {pid}' ends it, but not its sessions"
            )
        else:
            pid = supervisor_of(root)
            raise SupervisorUnreachable(
                f"the directory {root.path} was deleted while supervisor {pid} was using it, and its sessions may "
                f"still run; 'orchctl doctor' tells more, and 'kill {pid}' ends it, but not its sessions",
                code="state-dir-deleted",
            )
    return None


def _is_locked(path: str) -> bool | None:
    """Whether somebody holds a lock; None where there is none."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(fd)
    return False


def supervisor_of(root: Root) -> int | None:
    """The supervisor that was started for this directory, as its command line tells."""
    words = os.fsencode(f"\0orchctl.supervisor\0{root.path}\0")
    for pid in procfs.pids() if os.path.isdir("/proc") else ():
        with suppress(OSError):
            if words in procfs.read(f"{pid}/cmdline") and os.stat(f"/proc/{pid}").st_uid in (os.geteuid(), 0):
                return pid
    return None


def _connect_to_other(root: Root, error: SupervisorUnreachable) -> socket.socket:
    """One could not be started; perhaps because another was about to be ready whose starter was killed."""
    try:
        return connect(root)
    except NotRunning:
        raise error from None


def connect(root: Root) -> socket.socket:
    """A connection to a supervisor that is there, and is this user's."""
    try:
        return _connect(root)
    except NotRunning:
        connection = _connect_to_stranded(root)
        if connection is None:
            raise
        return connection


def _connect(root: Root) -> socket.socket:
    check(root)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket_address(root.socket) as address:
            connection.connect(address)
        uid = procfs.peer(connection)[1]
        if uid != os.geteuid():
            raise NotPermitted(f"the supervisor at {root.socket} belongs to uid {uid}")
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise NotRunning(f"no supervisor is running in {root.path}") from None
    except OSError as error:
        connection.close()
        raise SupervisorUnreachable(f"cannot connect to {root.socket}: {error.strerror}") from None
    except NotPermitted:
        connection.close()
        raise
    return connection


def not_running(root: Root, *, degraded: str | None = None) -> SupervisorStatus:
    """What is to be said where no supervisor answers."""
    return SupervisorStatus(
        running=False, socket=root.socket, state_dir=root.path, config=root.config_if_known, degraded=degraded
    )


def with_config(status: SupervisorStatus) -> SupervisorStatus:
    """Those of versions before config-path do not say where their settings are: always in the state directory."""
    if status.config is not None or any(problem.startswith("config-path: ") for problem in status.problems):
        return status
    return replace(status, config=f"{status.state_dir}/config.toml")


def wait_until_gone(root: Root) -> None:
    """Until neither supervisor nor zygote lives: they hold the lifetime lock to the last."""
    with _locked(root.lifetime_lock):
        pass


@contextmanager
def _locked(path: str) -> Iterator[None]:
    fd = _private(path)
    try:
        _lock(fd, path)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, path: str) -> None:
    """Without locks nothing proves that a second supervisor does not start: none may run then."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError as error:
        raise SupervisorUnreachable(
            f"cannot lock {path}: {error.strerror}; set ORCHCTL_STATE_DIR to a directory on a file system with locks",
            code="no-locks",
        ) from None


def _private(path: str) -> int:
    """A file of ours, open, made if need be; its mode is ours too, whatever the mask takes away."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def command_line(root: Root, *words: str) -> list[str]:
    """How the daemon is started; -P, so that nothing in the current directory can take a module's place."""
    return [sys.executable, "-P", "-m", "orchctl.pair", root.path, *words]


def daemon_environment() -> dict[str, str]:
    """What of ours the daemon may see."""
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def _start(root: Root) -> None:
    """In a scope of its own where that helps and works, else as our child's child."""

    if not os.path.exists("/proc/self/stat"):  # without it no process of a session can be found, or proven gone
        raise SupervisorUnreachable(
            "the supervisor needs /proc, which is not mounted here; mount it with: mount -t proc proc /proc",
            code="no-proc",
        )
    os.close(_private(root.log))
    words, needed = before(os.environ)
    word = _started(root, words, daemon_environment() | needed, BEGIN_S) if words else None
    if word is None:
        word = _started(root, [], daemon_environment(), None)
    if word != "ready":
        raise SupervisorUnreachable(f"the supervisor did not start: {word or 'it ended at once'}; see {root.log}")


def _started(root: Root, before: list[str], env: dict[str, str], begin_s: float | None) -> str | None:
    """`ready`, or why not; None when the daemon never began. What does not begin in time is ended."""
    told, tell = os.pipe()
    os.set_inheritable(tell, True)
    with os.fdopen(told, "rb", buffering=0) as pipe:
        try:
            pid = _spawn(root, [*before, *command_line(root, "--ready", str(tell))], env)
        except OSError as error:
            if before:
                return None
            raise SupervisorUnreachable(f"cannot start the supervisor: {error.strerror}") from None
        finally:
            os.close(tell)
        late = begin_s is not None and not select.select([pipe], [], [], begin_s)[0]
        if late:  # a daemon that began this very moment ends too, or has left the group and will be ready
            os.killpg(pid, signal.SIGKILL)
        word = _word(pipe.fileno())
    with suppress(ChildProcessError):  # somebody ignores SIGCHLD here
        os.waitpid(pid, 0)  # the process that stays is its child
    return None if late and word != "ready" else word


def _spawn(root: Root, argv: list[str], env: dict[str, str]) -> int:
    log = (os.POSIX_SPAWN_OPEN, 2, root.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
    return os.posix_spawnp(
        argv[0],
        argv,
        env,
        file_actions=[*quiet, log],
        setsid=True,
        setsigmask=[],
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


def _word(pipe: int) -> str | None:
    """`ready`, or why not; None when not even `begun` was said."""
    said = b""
    while select.select([pipe], [], [], READY_S)[0]:
        data = os.read(pipe, 4096)
        said += data
        begun, _, word = said.partition(b"\n")
        if not data or b"\n" in word:
            text = word.decode(errors="replace").strip()
            return text.removeprefix("error ") or "it ended before it was ready" if begun else None
    return f"no word from it in {READY_S:.0f} s"

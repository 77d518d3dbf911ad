"""The supervisor: does it answer, is it of this version, what have earlier ones left. Nothing here waits for long."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator

from orchctl import procfs
from orchctl.client.doctor.check import Case, Finding, command, note, ok, problem, warning
from orchctl.client.start import supervisor_of
from orchctl.errors import OrchctlError, PeerBroke
from orchctl.paths import Root, socket_address
from orchctl.protocol import codec, messages
from orchctl.protocol.frames import Decoder, Frame
from orchctl.session.model import SupervisorStatus
from orchctl.version import VERSION

NAME, LOCK, ZYGOTES = "supervisor", "start-lock", "zygotes"
ANSWER_S = 3.0
AGAIN_S = 0.5  # one that is about to end, or to begin, has done so by then
ZYGOTE = "orchctl-zygote"


def check_supervisor(case: Case, root: Root) -> Iterator[Finding]:
    """Connect and greet; never start one."""
    if not os.path.isdir(root.path):
        yield from _stranded(root)
        return
    try:
        there = os.lstat(root.socket)
        if not stat.S_ISSOCK(there.st_mode):
            yield problem(NAME, f"{root.socket} is not a socket", command("rm", root.socket))
            return
    except FileNotFoundError:
        there = None
    except OSError as error:
        yield problem(NAME, f"cannot look at {root.socket}: {error.strerror}", command("chmod", "700", root.path))
        return
    try:
        connection = _connected(root)
    except (FileNotFoundError, ConnectionRefusedError):
        yield from _nobody(root, stale=there is not None)
        return
    except OSError as error:
        reason = "nobody takes the call" if isinstance(error, TimeoutError) else error.strerror
        yield problem(NAME, f"cannot connect to {root.socket}: {reason}", _kill(_holders(root.lifetime_lock)))
        return
    with connection:
        yield from _talk(case, root, connection)


def check_start_lock(_: Case, root: Root) -> Iterator[Finding]:
    """Held for a moment by who starts a supervisor; for longer, everybody who wants one waits."""
    if not _held(root.start_lock):
        return
    time.sleep(AGAIN_S)
    if _held(root.start_lock):
        pids = _holders(root.start_lock)
        what = f"{root.start_lock} is held{_by(pids)}: nobody else can start a supervisor"
        yield warning(LOCK, what, _kill(pids))


def check_zygotes(case: Case, root: Root) -> Iterator[Finding]:
    """Those of earlier supervisors stay for the sessions that they started."""
    current = case.status.zygote if case.status is not None else None
    for pid in _zygotes(root.path):
        if pid != current and case.status is not None:
            gone = procfs.link(f"/proc/{pid}/exe").endswith(" (deleted)")
            which = "an earlier version's, whose Python is gone from the disk" if gone else "an earlier supervisor's"
            yield note(ZYGOTES, f"zygote {pid} is {which}; it ends with the last session that it started")


def _talk(case: Case, root: Root, connection: socket.socket) -> Iterator[Finding]:
    pid, uid = procfs.peer(connection)
    if uid != os.geteuid():
        yield problem(NAME, f"uid {uid} listens at {root.socket}", command("rm", root.socket))
        return
    try:
        greeting, status = _asked(connection)
    except TimeoutError:
        yield from _silent(root, pid)
        return
    except (OrchctlError, OSError) as error:
        said = error.message if isinstance(error, OrchctlError) else str(error)
        yield problem(NAME, f"it answers: {said}", "orchctl supervisor logs")
        return
    if greeting.protocol != codec.PROTOCOL:
        what = f"pid {greeting.pid} speaks protocol {greeting.protocol}, this orchctl speaks {codec.PROTOCOL}"
        yield problem(NAME, what, "orchctl supervisor stop --leave")
        return
    case.status = status
    sessions = f", {status.sessions} live sessions" if status is not None else ""
    if greeting.version != VERSION:
        what = f"pid {greeting.pid} is version {greeting.version or 'unknown'}, this orchctl is {VERSION}{sessions}"
        yield warning(NAME, what, "orchctl supervisor restart")
    else:
        yield ok(NAME, f"pid {greeting.pid}, version {greeting.version}{sessions}")


def _asked(connection: socket.socket) -> tuple[codec.Hello, SupervisorStatus | None]:
    """Its greeting, and what it says of itself; an error that it sends instead is raised."""
    decoder, frames = Decoder(), list[Frame]()
    end = time.monotonic() + ANSWER_S

    def following() -> Frame:
        while not frames:
            connection.settimeout(max(0.001, end - time.monotonic()))
            data = connection.recv(1 << 16)
            if not data:
                raise PeerBroke("it hangs up")
            frames.extend(decoder.feed(data))
        return frames.pop(0)

    connection.sendall(codec.encode_hello(codec.Hello(protocol=codec.PROTOCOL, version=VERSION, pid=os.getpid())))
    first = following()
    try:
        greeting = codec.decode_hello(first)
    except PeerBroke:
        message = codec.decode(first)[1]
        raise (codec.error_of(message) if isinstance(message, messages.Failed) else PeerBroke("no greeting")) from None
    if greeting.protocol != codec.PROTOCOL:
        return greeting, None
    connection.sendall(codec.encode(1, messages.GetStatus()))
    answer = codec.decode(following())[1]
    return greeting, answer.status if isinstance(answer, messages.Status) else None


def _silent(root: Root, peer: int) -> Iterator[Finding]:
    known = _supervisors(root.path) or [peer]  # the peer of a socket is who made it, and that may be the zygote
    stopped = [pid for pid in [*known, peer, *_holders(root.lifetime_lock)] if _state(pid) == "T"]
    if stopped:
        yield problem(
            NAME, f"process {stopped[0]} is stopped and does not answer", command("kill", "-CONT", str(stopped[0]))
        )
    else:
        what = f"pid {known[0]} does not answer in {ANSWER_S:.0f} s; its sessions go on, and its zygote starts another"
        yield problem(NAME, what, command("kill", "-KILL", str(known[0])))


def _stranded(root: Root) -> Iterator[Finding]:
    """One whose directory was deleted makes it anew within seconds, unless it is stopped or may not."""
    if not os.path.exists(root.lifetime_lock) and (pid := supervisor_of(root)) is not None:
        what = f"supervisor {pid} runs, but {root.path} was deleted under it: its sessions run on, and none can start"
        yield problem(NAME, what, _kill([pid]))


def _nobody(root: Root, *, stale: bool) -> Iterator[Finding]:
    if _held(root.lifetime_lock):
        time.sleep(AGAIN_S)
    if _held(root.lifetime_lock) and not _listens(root):
        pids = _holders(root.lifetime_lock)
        what = f"nobody listens, but {root.lifetime_lock} is held{_by(pids)}: none can start"
        yield problem(NAME, what, _kill(pids))
    elif stranded := list(_stranded(root)):
        yield from stranded
    elif stale:
        yield note(
            NAME, "none runs; a dead one's socket is left, and goes with the next start", "orchctl supervisor start"
        )
    else:
        yield ok(NAME, "none runs; the first session starts one")


def _connected(root: Root) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(ANSWER_S)
        with socket_address(root.socket) as address:
            connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _listens(root: Root) -> bool:
    try:
        _connected(root).close()
    except OSError:
        return False
    return True


def _held(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _holders(path: str) -> list[int]:
    """Who has the file open."""
    found = []
    for pid in procfs.pids():
        try:
            fds = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        if pid != os.getpid() and any(procfs.link(f"/proc/{pid}/fd/{fd}") == path for fd in fds):
            found.append(pid)
    return found


def _zygotes(root: str) -> list[int]:
    return [pid for pid, name, _ in _ours(root) if name == ZYGOTE]


def _supervisors(root: str) -> list[int]:
    """By what may be seen of them by their own user too, who may not look at what they have open."""
    return [pid for pid, _, words in _ours(root) if b"orchctl.supervisor" in words]


def _ours(root: str) -> Iterator[tuple[int, str, list[bytes]]]:
    for pid in procfs.pids():
        words = procfs.command_line(pid)
        if os.fsencode(root) in words:
            yield pid, procfs.name(pid), words


def _state(pid: int) -> str:
    fields = procfs.stat(pid)
    return fields[procfs.STATE].decode() if fields else ""


def _by(pids: list[int]) -> str:
    return f" by process {', '.join(map(str, pids))}" if pids else ""


def _kill(pids: list[int]) -> str | None:
    return command("kill", *map(str, pids)) if pids else None

"""The life of a pair: a keeper that starts a program and forks a mover, a mover that takes its keeper's place.

Both are this one process image, forked and never exec'd; which of the two a process is may change.

    who is killed        who notices, and how       what follows
    mover                keeper, by reaping it      forks another mover: the PTY master, the sockets and what is queued
                                                    as input are in memory and descriptors that both share (`Pair`)
    keeper               mover, by the end of the   PROMOTION: the mover becomes a keeper and a subreaper, and forks a
                         link (`Orphaned`)          mover of its own; `degraded` is recorded
    mover, then keeper   as above, one by one       as above; the session lives on as long as one of the two does
    both at once         supervisor, by both pids   the terminal is closed by the kernel; the session is `lost`

After a promotion the program is no child of ours: the zygote inherits and reaps it, and records the status
(`reaper.py`); our pidfd tells the moment of the end. What escaped from the tree before is found by its environment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import time
from dataclasses import replace

from orchctl.log import journal, segments
from orchctl.pair import child, feed, kill, process, spec, tree
from orchctl.pair import shared as pair
from orchctl.pair.connections import hello
from orchctl.pair.daemon_io import follow_log, identity
from orchctl.pair.keeper import AGAIN_S, BecomeMover, Keeper, Limits
from orchctl.pair.mover import Mover, Orphaned
from orchctl.pair.shared import Pair
from orchctl.session import layout

_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGTSTP)


def begin(folder: str, listener: socket.socket, first: socket.socket) -> None:
    """In the keeper's process, just forked by the zygote: never returns."""
    try:
        os.setsid()
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        process.set_name("orchctl-keeper")
        process.become_subreaper()
        what = spec.read(folder)
        shared = _start(folder, listener, first, what)
        if shared is not None:
            limits = Limits(what)
            del what  # a pair lives long, and nobody needs the words of its intent again
            _live(shared, limits, first)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/{layout.SOCKET}")
        os._exit(0)
    finally:
        complain()
        os._exit(1)


def _start(folder: str, listener: socket.socket, first: socket.socket, what: spec.Plan) -> Pair | None:
    made = os.O_CREAT | os.O_CLOEXEC
    log = os.open(f"{folder}/{layout.JOURNAL}", os.O_RDWR | os.O_APPEND | made, 0o600)
    pair.reserve(log)
    run, offset, size = _next_run(folder)
    if size is not None:
        what = replace(what, cols=size[0], rows=size[1])
    os.close(os.open(f"{folder}/{layout.segment(offset)}", os.O_WRONLY | made, 0o600))
    stdin = _own_stdin(what, first, run)
    try:
        master, sources, complaints, theirs = _ends(what, stdin)
        pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)  # for ever, and of the default size
    except OSError as error:
        journal.append(f"{folder}/{layout.JOURNAL}", _failed("terminal" if what.terminal else "pipes", error.errno))
        return None
    shared = Pair(folder, listener, master, sources, pipe, log, what.ring_bytes, what.idle_s, 0, os.getpid())
    shared.terminal, shared.env, shared.complaints = what.terminal, what.env, complaints
    shared.input_open = what.terminal or stdin is None
    shared.feed = feed.open_pipe() if what.terminal else -1
    shared.door = identity(f"{folder}/{layout.SOCKET}")
    try:
        shared.child = child.start(what, os.ttyname(theirs[0]) if what.terminal else theirs, stdin)
    except child.StartFailed as error:
        shared.record("failed", step=error.step, errno=error.error)
        first.sendall(hello(shared, 0))
        return None
    for fd in {*theirs} | ({stdin} if stdin is not None else set()):
        os.close(fd)
    shared.pidfd = kill.open_process(shared.child, 0)
    shared.ticks = tree.start_ticks(shared.child)
    name = os.path.basename(folder)
    told = {"pid": shared.child, "ticks": shared.ticks, "keeper": shared.keeper, "run": run, "session": name}
    shared.record("started", **told, offset=offset, spec=what.intent)
    return shared


def _failed(step: str, number: int | None) -> journal.Record:
    return {"type": "failed", "time": time.time(), "step": step, "errno": number or errno.EIO}


def _next_run(folder: str) -> tuple[int, int, tuple[int, int] | None]:
    """Which run this is, where its output begins, and the size that its terminal was given last.

    Its output begins in a segment of its own, because the last one may be sealed.
    """
    with open(f"{folder}/{layout.JOURNAL}", "rb") as file:
        records = journal.decode(file.read()).records
    starts = segments.starts(os.listdir(f"{folder}/{layout.OUTPUT}"))
    end = starts[-1] + os.stat(f"{folder}/{layout.segment(starts[-1])}").st_size if starts else 0
    sizes = [(record["cols"], record["rows"]) for record in records if record["type"] == "resized"]
    return 1 + sum(record["type"] == "started" for record in records), end, sizes[-1] if sizes else None


def _own_stdin(what: spec.Plan, first: socket.socket, run: int) -> int | None:
    """The program's stdin, where that is neither its terminal nor a pipe of ours.

    One that was handed over lies on the first connection since before this process was forked, and is of use to
    the first run alone: later ones would find what the first one left of it.
    """
    if what.stdin == spec.HANDED and run == 1:
        _, handed, _, _ = socket.recv_fds(first, 1, 1)
        for fd in handed:
            os.set_inheritable(fd, False)  # the program gets a copy, and nothing besides
        return handed[0] if handed else child.open_null(os.O_RDONLY)
    return None if what.stdin == spec.OPEN else child.open_null(os.O_RDONLY)


def _ends(what: spec.Plan, own_stdin: int | None) -> tuple[int, dict[int, int], int, tuple[int, int, int]]:
    """Where to type, what to read as which stream, what to read apart, and the program's own ends."""
    if what.terminal:
        master, slave = child.open_terminal(what.cols, what.rows, echo=what.echo)
        return master, {master: 0}, -1, (slave, slave, slave)
    (stdin, stdout, stderr), theirs = child.open_pipes(own_stdin)
    if what.apart:
        return stdin, {stdout: 1}, stderr, theirs
    return stdin, {stdout: 1, stderr: 2}, -1, theirs


def _live(shared: Pair, limits: Limits, first: socket.socket | None) -> None:
    """As a keeper to the session's end; in the processes forked on the way as a mover, and perhaps a keeper again."""
    while True:
        try:
            Keeper(shared, limits, first).run()
            return
        except BecomeMover as new:
            link, first = new.link, new.first
        process.set_name("orchctl-mover")
        process.take_limits()
        process.take_descriptors()
        mover = _mover(shared, link, first)
        try:
            mover.run()
        except Orphaned:
            mover.leave()
        first = None
        shared.keeper, shared.parent = os.getpid(), False
        process.set_name("orchctl-keeper")
        process.become_subreaper()


def _mover(shared: Pair, link: socket.socket, first: socket.socket | None) -> Mover:
    """A log that cannot be opened is tried again; the program waits."""
    while True:
        with contextlib.suppress(OSError):
            return Mover(shared, link, first)
        time.sleep(AGAIN_S)


def complain() -> None:
    """The error under way, if any, in one line of the log."""
    error = sys.exc_info()[1]
    if error is not None and not isinstance(error, SystemExit):
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
        follow_log()
        os.write(2, f"pid {os.getpid()}: {type(error).__name__}: {error} at {where}\n".encode(errors="replace"))

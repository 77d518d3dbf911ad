"""Upgrade in place: a new zygote and supervisor, of whatever version is installed now, take over from this one.

The new ones start beside us, holding the same listening socket and lock. They read every session and say which they
know; only if none is missing do we end, at once, as if killed. That is safe at any moment, so nothing is handed
over but the door: our zygote tells the new one to go on when we are gone. Until then we serve, and may change our mind.
If the new supervisor ends before it serves, our zygote starts this version again, and that one tells why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from asyncio.subprocess import Process
from typing import NoReturn

from orchctl.errors import OrchctlError
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import SessionStore
from orchctl.paths import Root
from orchctl.supervisor import failpoints
from orchctl.supervisor.app import Supervisor

log = logging.getLogger(__name__)
READY_S = 20.0
END_S = 2.0
LINE_LIMIT_BYTES = 1 << 24  # the ids of four hundred thousand sessions


class _Unfit(Exception):
    """Why there is no successor."""


async def hand_over(app: Supervisor, executable: str, asked_of: int) -> NoReturn:
    """End, once a successor is proven; else raise, and everything is as it was."""
    if app.zygote.took_back and asked_of != os.getpid():  # of the one before us, which has tried it
        message = (
            f"not restarted: the new supervisor ended before it served; the old version goes on; see {app.root.log}"
        )
        raise OrchctlError(message, code="restart-failed")
    live = {one.spec.id for one in app.registry.held() if not one.closed and one.run.started_at is not None}
    trial, theirs = socket.socketpair()
    process: Process | None = None
    try:
        with theirs:
            process = await app.zygote.start_successor(executable, theirs)
        known = await _known(trial)
        if missing := (live & {one.spec.id for one in app.registry.held() if not one.closed}) - known:
            raise _Unfit(f"the new supervisor does not know {len(missing)} live sessions, such as {min(missing)}")
        if process.returncode is not None:
            raise _Unfit("the new zygote has ended")
        app.zygote.retire(trial)
        log.info("replaced by zygote %d", process.pid)
        os._exit(0)
    except (_Unfit, OSError, ValueError) as error:
        log.warning("not replaced: %s", error)
        message = f"not restarted: {error}; the old supervisor goes on; see {app.root.log}"
        raise OrchctlError(message, code="restart-failed") from None
    finally:
        trial.close()
        if process is not None:
            await _end(process)


async def _known(trial: socket.socket) -> set[str]:
    """The sessions that the new supervisor would adopt."""
    trial.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=trial.dup(), limit=LINE_LIMIT_BYTES)
    try:
        async with asyncio.timeout(READY_S):
            word, *ids = (await reader.readline()).decode("ascii", "replace").split() or [""]
    except TimeoutError:
        raise _Unfit(f"the new supervisor was not ready in {READY_S:.0f} s") from None
    finally:
        writer.close()
    if word != "able":
        raise _Unfit("the new supervisor ended before it was ready")
    return set(ids)


async def _end(process: Process) -> None:
    """It ends by itself when nobody wants it any more."""
    with contextlib.suppress(ProcessLookupError):
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def rehearse(root: Root, trial: int) -> None:
    """On trial: read what would be adopted, and change nothing."""
    store, ended = SessionStore(root.sessions), EndedStore(root.sessions)
    ids = [one for one in store.ids() if not ended.has(one) and store.was_forked(one) and store.read_spec(one)]
    if failpoints.chosen(root.path, "rehearse") == "forget":
        ids = []
    connection = socket.socket(fileno=trial)
    connection.sendall(" ".join(["able", *ids]).encode("ascii") + b"\n")
    connection.detach()  # open until we serve: as long as it is, nobody takes our place

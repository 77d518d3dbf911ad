"""A supervisor of one's own, in a temporary directory, which ends with the process that made it.

The owner is written down before the supervisor starts. Whichever supervisor runs there watches that process, so that
nothing outlives it even when it is killed; the zygote removes the directory then. Here it is done on `close`.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from orchctl.client.inherited import environment, start_ticks
from orchctl.errors import NotPermitted, SupervisorUnreachable
from orchctl.session import layout


def make_home() -> str:
    """A new state directory whose owner is this process."""
    try:
        path = tempfile.mkdtemp(prefix="orchctl-")
        with open(f"{path}/{layout.OWNER}", "wb") as file:
            file.write(layout.encode(layout.Owner(os.getpid(), start_ticks(os.getpid()))))
    except OSError as error:
        raise NotPermitted(
            f"cannot make a temporary directory: {error.strerror}; set TMPDIR to one of your own", code="bad-state-dir"
        ) from None
    return path


def remove_home(path: str) -> None:
    """Nobody uses it any more; what cannot be removed stays."""
    shutil.rmtree(path, ignore_errors=True)


def session_environment(path: str) -> dict[str, str]:
    """What a session there inherits: tools in it reach the supervisor that holds it."""
    env = environment() | {"ORCHCTL_STATE_DIR": path}
    env.pop("ORCHCTL_HOST", None)
    return env


def closed() -> SupervisorUnreachable:
    """For whoever asks a client that is over."""
    return SupervisorUnreachable("the client was closed", code="client-closed")

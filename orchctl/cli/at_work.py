"""A person's terminal given to a session, and what is said when it is back."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from orchctl.cli.follow import exit_code
from orchctl.cli.interrupts import end_by_signal
from orchctl.cli.output import Form
from orchctl.errors import BadInput

if TYPE_CHECKING:
    from orchctl.client.client import Client


def own_size() -> tuple[int, int]:
    """Of the terminal that a session is to be given; without one nothing is started."""
    if not (os.isatty(0) and os.isatty(1)):
        raise BadInput("stdin and stdout are not a terminal, which --attach needs", code="not-a-terminal")
    size = os.get_terminal_size(1)
    return size.columns or 80, size.lines or 24


def work_in(
    client: Client,
    session: str,
    form: Form,
    *,
    read_only: bool = False,
    take: bool = False,
    detach_keys: str | None = None,
) -> int:
    """Until it is left: the session's own exit code, 0 when it goes on."""
    left = client.attach(session, read_only=read_only, take=take, detach_keys=detach_keys)
    if left.signal is not None:
        end_by_signal(left.signal)
    if left.unsent_bytes:
        sys.stderr.write(f"orchctl: {left.unsent_bytes} bytes that were typed last did not arrive\n")
    if left.ended is not None:
        if not form.words:
            form.one(left.ended)
        return exit_code(left.ended)
    name = left.session.name or left.session.id
    form.one(
        left.session, lambda: sys.stderr.write(f"orchctl: detached from {name}; 'orchctl attach {name}' goes back\n")
    )
    return 0

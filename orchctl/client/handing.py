"""The stdin of a new session: what a caller may give for it, and the descriptor that is handed over for that.

What is handed over is the descriptor itself. Nobody of ours reads it, so that nothing is read too much, lost or written
twice, whatever its size and whoever is killed; its end is the end that the program sees.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Literal, Protocol

from orchctl.errors import BadInput


class HasDescriptor(Protocol):
    """An open file, a socket, a pipe's end of a subprocess."""

    def fileno(self) -> int:
        """Its descriptor."""


Stdin = Literal["open", "null"] | bytes | int | HasDescriptor


@contextlib.contextmanager
def stdin_of(given: Stdin | None, *, pipes: bool) -> Iterator[tuple[str, int | None]]:
    """How it is called on the wire, and the descriptor to hand over if there is one.

    Nothing given is `null` for a session on pipes, and its terminal for another.
    """
    if given is None:
        yield ("null" if pipes else "open"), None
    elif isinstance(given, str):
        if given not in ("open", "null"):
            raise BadInput(
                f"{given!r} as stdin; 'open', 'null', bytes, or something with a descriptor", code="bad-stdin"
            )
        yield given, None
    elif isinstance(given, bytes):
        with os.fdopen(os.memfd_create("orchctl-stdin"), "w+b") as file:
            file.write(given)
            file.seek(0)
            yield "handed", file.fileno()
    else:
        fd = given if isinstance(given, int) else given.fileno()
        if os.isatty(fd):
            raise BadInput(
                "stdin is a terminal, which a session cannot share with its caller; "
                "attach to the session to type, or leave its input open for 'send'",
                code="bad-stdin",
            )
        yield "handed", fd

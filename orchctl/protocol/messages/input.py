"""Messages about what goes into a session: keys, an interrupt, a signal, another size."""

from __future__ import annotations

from typing import ClassVar

from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SendInput:
    """Type bytes into a session. `once` names this input: repeated with the same name it is typed once.

    An `answer` is what a viewer's terminal says by itself. It takes no lease and is nobody's input; of several viewers
    the supervisor lets one answer, and passes over the others.
    """

    kind: ClassVar[str] = "input.send"

    session: str
    data_b64: str
    once: str
    enter: bool = False  # and then what Enter is there
    own_manager: str = "user"
    viewer: str = ""  # the secret of whoever types, where it may hold the lease
    lease_wait_s: float = 0.0  # for another who holds it
    answer: bool = False
    eof: bool = False  # and then the program reads the end of its input; of a session on pipes alone


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptSession:
    """What Ctrl-C does, by signal and not by typing."""

    kind: ClassVar[str] = "session.interrupt"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSession:
    """`signal` to its program, `resize` to columns and rows, `pause` or `unpause`; answered when it is done."""

    kind: ClassVar[str] = "session.control"

    session: str
    action: str
    own_manager: str = "user"
    signal: int = 0
    cols: int = 0
    rows: int = 0
    viewer: str = ""  # resizing goes with the lease

"""Messages about waiting: for a condition, for input, and on the modes of a terminal."""

from __future__ import annotations

from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    """Answered when one of the conditions holds.

    They are `exit`, `command`, `prompt`, `input`, `state=STATE`, and `quiet` for so long.
    """

    kind: ClassVar[str] = "session.wait-for"

    session: str
    conditions: tuple[str, ...]
    own_manager: str = "user"
    quiet_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The condition that holds now."""

    kind: ClassVar[str] = "fired"

    condition: str
    session: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTerminal:
    """What a session's terminal is like now; with `echo`, after it was made to show what is typed, or not to."""

    kind: ClassVar[str] = "session.terminal"

    session: str
    own_manager: str = "user"
    echo: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalModes:
    """Whether it shows what is typed, and whether it hands over whole lines."""

    kind: ClassVar[str] = "terminal"

    echo: bool
    canonical: bool

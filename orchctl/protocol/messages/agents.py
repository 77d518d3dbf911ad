"""Messages about agents: what they ask, the replies, and which harnesses there are."""

from __future__ import annotations

from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.agent import HarnessStatus, Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class GetPending:
    """What agents ask: of these sessions, or of all."""

    kind: ClassVar[str] = "agent.pending"

    sessions: tuple[str, ...] = ()
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTo:
    """`approve`, `deny` or `answer` what an agent asks; without `request`, the one thing it asks."""

    kind: ClassVar[str] = "agent.reply"

    session: str
    action: str
    request: str | None = None
    always: bool = False
    text: str | None = None
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListHarnesses:
    """Which there are, whether they are installed in this PATH, and what runs."""

    kind: ClassVar[str] = "harness.list"

    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SomePending:
    """All that is asked; oldest first."""

    kind: ClassVar[str] = "pending"

    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeHarnesses:
    """Each of them, and its servers."""

    kind: ClassVar[str] = "harnesses"

    harnesses: tuple[HarnessStatus, ...]

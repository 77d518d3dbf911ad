"""Messages about the supervisor itself."""

from __future__ import annotations

from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import SupervisorStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class GetStatus:
    """Who and where the supervisor is."""

    kind: ClassVar[str] = "supervisor.status"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSupervisor:
    """End the supervisor: refused while sessions live, unless they are to be killed or left running."""

    kind: ClassVar[str] = "supervisor.stop"

    kill: bool = False
    leave: bool = False
    grace_s: float = 5.0
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartSupervisor:
    """Have this supervisor and this zygote replaced by new ones, which `executable`, a Python, starts.

    The connection is lost on the way; asked again, whoever is neither of the two answers that it is done.
    """

    kind: ClassVar[str] = "supervisor.restart"

    pid: int
    zygote: int
    executable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The supervisor's answer about itself."""

    kind: ClassVar[str] = "status"

    status: SupervisorStatus

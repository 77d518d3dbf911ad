"""The frozen first words. Both ends send one hello before anything else, and it never changes shape:
fields may be added, none renamed, so that any two builds can at least tell each other who they are.
"""

from __future__ import annotations

from orchctl.errors import ProtocolMismatch
from orchctl.model.lazily import dataclass

PROTOCOL = 1
FEATURES = ("credit", "snapshot", "leases")  # what was added since the first release, and a client may have to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who speaks: the protocol number, the build's version, its features and its process."""

    protocol: int
    version: str = ""
    features: tuple[str, ...] = ()
    pid: int = 0


def check(theirs: Hello) -> None:
    """Refuse a supervisor whose protocol is not ours; features, not versions, say what it can do."""
    if theirs.protocol != PROTOCOL:
        raise ProtocolMismatch(
            f"the supervisor (pid {theirs.pid}, version {theirs.version or 'unknown'}) speaks protocol "
            f"{theirs.protocol}, this orchctl speaks {PROTOCOL}; 'orchctl supervisor stop' still works"
        )

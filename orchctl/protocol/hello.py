"""The frozen first words. Both ends send one hello before anything else, and it never changes shape:
fields may be added, none renamed, so that any two builds can at least tell each other who they are.
"""

from __future__ import annotations

from orchctl.errors import Conflict, ProtocolMismatch
from orchctl.lazy_dataclass import dataclass

PROTOCOL = 1
# What was added since the first release, and a client may have to know.
FEATURES = ("credit", "snapshot", "leases", "stdin", "commands")


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


def require(theirs: Hello, feature: str) -> None:
    """Refuse to ask for what a supervisor of an older version would pass over without a word."""
    if feature and feature not in theirs.features:
        raise Conflict(
            f"the running supervisor is of version {theirs.version or 'unknown'}, which cannot do this ({feature}); "
            "'orchctl supervisor restart' replaces it and ends no session",
            code="older-version",
        )

"""Every way orchctl can fail, as one tree.

OrchctlError                      1  failed
├── BadInput                      2  usage, bad-name, bad-size …
├── NoSuchSession                 3  no-such-session
├── NotPermitted                  4  not-permitted
├── Conflict                      5  name-taken, sessions-live …
├── LimitReached                  6  limit-reached
├── SupervisorUnreachable         8  supervisor-unreachable
│   └── ProtocolMismatch          8  protocol-mismatch
├── TimedOut                    124  timed-out
├── CannotExecute               126  not-executable
├── CommandNotFound             127  command-not-found
├── PeerBroke                     1  bad-frame, bad-message: the other end broke the protocol
└── Internal                      1  internal: we did

People read the message, programs read `code`. `exit_status` is what a command ends with unless
it passes a program's own exit code through; there every trouble of ours is 125.
"""

from __future__ import annotations

from typing import ClassVar


class OrchctlError(Exception):
    """The root of the tree. `code` is stable; the message may change."""

    code: str = "failed"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class BadInput(OrchctlError):
    """What was asked for makes no sense; nothing was done."""

    code = "usage"
    exit_status = 2


class NoSuchSession(OrchctlError):
    """No session goes by this id, name or prefix."""

    code = "no-such-session"
    exit_status = 3


class NotPermitted(OrchctlError):
    """The asker may not do this, or a path belongs to somebody else."""

    code = "not-permitted"
    exit_status = 4


class Conflict(OrchctlError):
    """It would clash with what is already there."""

    code = "conflict"
    exit_status = 5


class LimitReached(OrchctlError):
    """A configured limit stands in the way; the message names it."""

    code = "limit-reached"
    exit_status = 6


class SupervisorUnreachable(OrchctlError):
    """No supervisor answers, and none could be started."""

    code = "supervisor-unreachable"
    exit_status = 8


class ProtocolMismatch(SupervisorUnreachable):
    """The supervisor speaks another version of the protocol."""

    code = "protocol-mismatch"


class TimedOut(OrchctlError):
    """It did not happen in the time given."""

    code = "timed-out"
    exit_status = 124


class CannotExecute(OrchctlError):
    """The command to start exists but may not be executed."""

    code = "not-executable"
    exit_status = 126


class CommandNotFound(OrchctlError):
    """The command to start does not exist."""

    code = "command-not-found"
    exit_status = 127


class PeerBroke(OrchctlError):
    """The other end of the socket broke the protocol."""

    code = "bad-message"


class Internal(OrchctlError):
    """We broke our own rules: a bug in orchctl."""

    code = "internal"


def _tree(root: type[OrchctlError]) -> list[type[OrchctlError]]:
    return [root] + [found for kind in root.__subclasses__() for found in _tree(kind)]


def from_wire(kind: str, code: str, message: str) -> OrchctlError:
    """The exception that travelled as its class name, code and message."""
    known = {found.__name__: found for found in _tree(OrchctlError)}
    return known.get(kind, OrchctlError)(message, code=code)

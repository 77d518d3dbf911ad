"""Every shape that orchctl prints with `--json` or streams; `schemas.py` makes JSON Schema of them.

A shape that is a dataclass of the model comes from there. What a command makes itself is written down here as a
dataclass too, and events in `event_shapes.py`. In these a field that has a default may be missing; in all others every
field is there.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Literal

from orchctl.cli import upkeep_shapes as look
from orchctl.cli import upkeep_shapes as upkeep
from orchctl.cli.event_shapes import Event
from orchctl.client.usage import LimitRow
from orchctl.session.agent import HarnessStatus, Pending
from orchctl.session.command import Command
from orchctl.session.lease_state import Lease, Viewer
from orchctl.session.model import KillReport, RestartReport, Session, SupervisorStatus
from orchctl.session.search import Screen

_shape = dataclass(frozen=True, slots=True, kw_only=True)


@_shape
class Error:
    """What went wrong, on stderr; `code` is stable, `message` is for people."""

    code: str
    message: str


@_shape
class ExecResult(Command):
    """What a command did; bytes that are not UTF-8 come in base64. `errors` is its stderr, when run with pipes."""

    truncated: bool
    gaps: tuple[tuple[int, int], ...]
    output: str = ""
    output_b64: str = ""
    errors: str = ""
    errors_b64: str = ""


@_shape
class TailOutput:
    """A piece of output; `offset` is the address of its first byte. Bytes that are not UTF-8 come in base64."""

    type: Literal["output"]
    session: str
    offset: int
    time: float = 0.0
    output: str = ""
    output_b64: str = ""


@_shape
class TailGap:
    """Bytes `first` up to but not including `end` are no longer kept."""

    type: Literal["gap"]
    session: str
    first: int
    end: int


@_shape
class Sent:
    """How much was typed."""

    bytes: int


@_shape
class Taken:
    """A lease, and the token that holds it."""

    token: str
    lease: Lease


@_shape
class Released:
    """Of which session the lease was let go, as it was named."""

    released: str


@_shape
class LeaseState:
    """Who may type, and who is attached."""

    lease: Lease | None
    viewers: tuple[Viewer, ...]


@_shape
class Interrupted:
    """Which session was interrupted, as it was named."""

    interrupted: str


@_shape
class Happened:
    """The condition that holds, as it was asked for, and the session then; of output also what matched."""

    condition: str
    asked: str
    session: Session
    match: str = ""
    match_b64: str = ""


@_shape
class Expected:
    """Which pattern came first, counted from 0, what matched, its groups, and the text before it."""

    index: int
    groups: tuple[str | None, ...]
    dropped_bytes: int
    match: str = ""
    match_b64: str = ""
    before: str = ""
    before_b64: str = ""


@_shape
class Stopped:
    """Whether a supervisor was there to be stopped."""

    stopped: bool


@_shape
class WouldEnd:
    """What --dry-run tells: the sessions that would be ended."""

    would_end: tuple[str, ...]


@_shape
class VerifyFinding:
    """One thing that is wrong: `kind` is stable, `detail` is for people."""

    session: str | None
    path: str
    kind: str
    detail: str


@_shape
class VerifyReport:
    """What was checked, and what is wrong."""

    sessions: int
    bytes: int
    findings: tuple[VerifyFinding, ...]


@_shape
class Script:
    """A completion script."""

    shell: Literal["bash", "zsh", "fish"]
    script: str


def _pruned() -> Any:
    """It belongs to the protocol; the client says what it gives back."""
    from orchctl.client.blocking import Client

    return typing.get_type_hints(Client.prune)["return"]


# name → what it is, or a function that knows, and the commands that print it
SHAPES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "session": (Session, ("spawn", "attach", "info", "rename")),
    "sessions": (tuple[Session, ...], ("list", "top")),
    "done-to": (Session | tuple[Session, ...], ("label", "signal", "resize", "pause", "unpause", "restart")),
    "result": (ExecResult, ("exec",)),
    "history": (tuple[Command, ...], ("history",)),
    "tail": (TailOutput | TailGap, ("tail",)),
    "event": (Event, ("events",)),
    "search": (look.FoundLine | look.FoundCount | look.FoundGap, ("search",)),
    "screen": (Screen, ("screen",)),
    "export": (look.Exported, ("export",)),
    "wait": (Session | tuple[Session, ...] | Happened | tuple[Happened, ...], ("wait",)),
    "expected": (Expected, ("expect",)),
    "sent": (Sent, ("send",)),
    "interrupted": (Interrupted, ("interrupt",)),
    "lease": (LeaseState, ("lease show",)),
    "lease-taken": (Taken, ("lease take",)),
    "lease-released": (Released, ("lease release",)),
    "lease-transferred": (Lease, ("lease transfer",)),
    "pending": (tuple[Pending, ...], ("pending",)),
    "replied": (Pending, ("approve", "deny", "answer")),
    "harnesses": (tuple[HarnessStatus, ...], ("harness list",)),
    "kill": (KillReport | WouldEnd, ("kill", "kill-by-manager")),
    "pruned": (_pruned, ("prune",)),
    "verify": (VerifyReport, ("verify",)),
    "supervisor": (SupervisorStatus, ("supervisor start", "supervisor status")),
    "supervisor-stopped": (Stopped, ("supervisor stop",)),
    "supervisor-restarted": (RestartReport, ("supervisor restart",)),
    "supervisor-log": (upkeep.LogLine, ("supervisor logs",)),
    "audit": (upkeep.Deed | upkeep.ChainReport, ("audit",)),
    "limits": (tuple[LimitRow, ...], ("limits",)),
    "settings": (upkeep.Settings, ("config show",)),
    "setting": (upkeep.Setting, ("config get", "config set", "config unset")),
    "settings-path": (upkeep.SettingsPath, ("config path",)),
    "settings-check": (upkeep.SettingsCheck, ("config check",)),
    "doctor": (upkeep.Diagnosis, ("doctor",)),
    "completion": (Script, ("completion",)),
    "error": (Error, ()),
}

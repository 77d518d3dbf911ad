"""The JSON of commands that look and of those that keep order: search, screen, config, doctor, limits and the like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchctl.client.doctor.check import Finding
from orchctl.session.command import CommandStatus
from orchctl.session.model import State

_shape = dataclass(frozen=True, slots=True, kw_only=True)


@_shape
class FoundLine:
    """A line that matches, or one beside it; `spans` count characters of `text`, or bytes of what `text_b64` holds."""

    type: Literal["match", "context"]
    session: str
    name: str | None
    offset: int
    line: int
    spans: tuple[tuple[int, int], ...]
    part: bool = False
    text: str = ""
    text_b64: str = ""


@_shape
class FoundCount:
    """How many lines of a session match."""

    type: Literal["count"]
    session: str
    name: str | None
    count: int


@_shape
class FoundGap:
    """Bytes `first` up to but not including `end` are no longer kept, and were not searched."""

    type: Literal["gap"]
    session: str
    first: int
    end: int


@_shape
class Exported:
    """What was written, and where; `gaps` are the bytes that were no longer kept."""

    session: str
    name: str | None
    form: Literal["asciicast", "raw", "text", "jsonl"]
    file: str | None
    bytes: int
    gaps: tuple[tuple[int, int], ...]


@_shape
class Deed:
    """What somebody did, with the event that tells it."""

    deed: str
    seq: int
    time: float
    type: str
    session: str | None
    managed_by: str | None
    who: str | None
    run: int = 0
    backend: str = ""
    state: State = State.IDLE
    name: str | None = None
    command: tuple[str, ...] = ()
    cwd: str | None = None
    phase: str = ""
    number: int = 0
    text: str = ""
    start_offset: int = 0
    status: CommandStatus = CommandStatus.RUNNING
    bytes: int = 0
    interrupt: bool = False
    action: str = ""
    sessions: tuple[str, ...] = ()
    count: int = 0
    output: bool = False
    changed: tuple[str, ...] = ()
    limit: str = ""
    owner: str | None = None
    value: float = 0.0
    used: int = 0


@_shape
class ChainFinding:
    """A record of the journal that is not what it was: `kind` is stable, `detail` is for people."""

    seq: int
    kind: str
    detail: str


@_shape
class ChainReport:
    """Which records were checked, the hash of the last, and what is wrong."""

    first_seq: int | None
    last_seq: int | None
    head: str
    findings: tuple[ChainFinding, ...]


@_shape
class Setting:
    """One setting: as a value, as it is written in the file, and where it comes from."""

    name: str
    value: str
    shown: str
    origin: str
    line: int | None
    variable: str | None
    what: str


@_shape
class SettingsProblem:
    """What is wrong in the file, and where."""

    line: int | None
    column: int | None
    message: str
    name: str | None = None


@_shape
class Settings:
    """Every setting."""

    path: str
    settings: tuple[Setting, ...]
    problems: tuple[SettingsProblem, ...]


@_shape
class SettingsPath:
    """Where the file is; `hint` where it belongs elsewhere, and how it gets there."""

    path: str
    exists: bool
    hint: str = ""


@_shape
class SettingsCheck:
    """What is wrong in the file."""

    path: str
    problems: tuple[SettingsProblem, ...]


@_shape
class Diagnosis:
    """How many findings there are of each kind, and each of them."""

    problems: int
    warnings: int
    notes: int
    findings: tuple[Finding, ...]


@_shape
class LogLine:
    """A line of the supervisor's log; only `text` where it has no such form."""

    time: str | None
    process: str | None
    pid: int | None
    text: str

"""The agent in a harness session: what was asked for, and how it stands."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from orchctl.lazy_dataclass import dataclass


class Permission(enum.StrEnum):
    """What is done when an agent asks whether it may do something. The host replies; a backend only asks."""

    ASK = "ask"  # a human
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a harness is to be run: `[profiles.NAME]` in the config file, or nothing but the harness's own name."""

    name: str
    harness: str
    argv: tuple[str, ...] = ()  # instead of the backend's own way to start it
    env: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    permission: Permission | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # what only this harness knows, such as `sandbox`


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What was asked for when the session was spawned."""

    profile: str
    model: str | None = None
    permission: Permission = Permission.ASK
    resume: str | None = None  # the server's own name of a conversation that goes on here


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as far as the harness counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """How a conversation stands. `native` are the server's own names, by which it can be resumed elsewhere too."""

    profile: str
    model: str | None = None
    permission: Permission = Permission.ASK
    native: dict[str, str] = field(default_factory=dict)
    server: str | None = None  # the process that holds it, as `harness list` names it
    busy: bool = False
    turns: int = 0  # that have ended
    pending: int = 0  # requests that wait for a human
    usage: Usage = field(default_factory=Usage)
    unknown: int = 0  # messages that this version does not know; they are in the raw log


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """A server process. `leftover` are processes below it; those that outlast their session end with it."""

    id: str
    profile: str
    pid: int | None
    version: str | None
    sessions: tuple[str, ...] = ()
    leftover: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessStatus:
    """A harness as it is here, or as a profile has it; `tested` are the lowest and the highest version that are."""

    name: str  # the profile's, which is the harness's own where there is none
    harness: str
    installed: bool
    program: str | None
    version: str | None
    tested: tuple[str, ...]
    is_tested: bool
    install: str
    servers: tuple[ServerStatus, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A request that waits for a human."""

    session: str
    name: str | None
    request: str
    need: str  # `permission` or `question`
    title: str
    choices: tuple[str, ...] = ()
    free_text: bool = False
    since: float = 0.0
    subagent: str | None = None

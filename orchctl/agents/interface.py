"""What a harness is to the supervisor: the one small door that every backend has.

The supervisor holds the server's process, its raw log, the sessions' journals and transcripts, prompts and their
delivery, permissions and time. A backend turns what is asked into what its server understands, and what its server
says into events (`session/events.py`). Two files make one: `translate.py`, which is pure, and the server's own.

The rules that make a turn survive a killed supervisor, and every event be told once:

1. Everything the server says is on disk before `Server.hear` gets it: lines of its stdout are read from its mover's
   log; what a backend fetches itself (HTTP, server-sent events) it hands to `Host.keep_raw`, and then hears it like
   a line.
2. A new supervisor makes a new `Server`, tells it with `Server.know` which sessions are open on it, and has it `hear`
   everything again from a point at which none of them had a turn open. Happenings that are on record already are
   dropped by the host, by the place of their line in the raw log; so the same lines must give the same events, in
   `hear` and nowhere else. No clock, no random number, nothing that only memory knows: an answer is told from another
   by its id, which is chosen so that it tells by itself what it answers (`json_rpc.Peer`). A replay may begin in the
   middle of an old turn, so a translator must take parts whose beginning it has not seen, and be quiet again at the
   end of a turn.
3. While `Host.replaying`, nothing is asked of the server. What `hear` itself writes (a refusal of a request that
   nobody knows) is written before the event about it is emitted: then it is written at least once, and
   `Host.write` drops what was.
4. A prompt is journalled before `Server.send` gets it, and never sent again by itself. What a restarted host does say
   again, after the replay: `reply` to a request whose reply was on record and that is still open, `interrupt` where
   one was asked for and the turn is still open, `open` where `Opened` was never heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from orchctl.lazy_dataclass import dataclass
from orchctl.session.agent import Permission, Profile
from orchctl.session.events import AgentEvent

__all__ = ["Harness", "Host", "Launch", "Opening", "Permission", "Profile", "Prompt", "Reply", "Server"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A conversation that is to be begun, or to be resumed when `native` says which.

    The directory, the permission and the options are given each time, because servers forget them.
    """

    session: str  # our id
    cwd: str
    permission: Permission = Permission.ASK
    model: str | None = None
    native: Mapping[str, str] = field(
        default_factory=dict
    )  # from `Opened` and `Checkpoint`; `id` is what --resume takes
    options: Mapping[str, str] = field(default_factory=dict)
    tools_env: Mapping[str, str] = field(default_factory=dict)  # what commands that the agent runs here are to see


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is said to the agent. `once` is ours and unique in the session, so that it can name the request."""

    text: str
    once: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """To a `NeedsInput`: one of its choices by id, or a text where that is an answer."""

    choice: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A server process to be started. `notes` (a password, a port) are kept with it, for the user alone, and come back
    to `Harness.serve` when a new supervisor takes it over.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # on top of what is passed on and of the profile's
    notes: Mapping[str, str] = field(default_factory=dict)


class Host(Protocol):
    """What a server's backend is handed: the way back. All of it may be called from `hear` and from `attend`."""

    @property
    def replaying(self) -> bool:
        """Whether what is heard now was heard before, by a supervisor that is gone."""

    def ready(self, version: str | None) -> None:
        """The server has said hello; sessions can be opened. `version` as it says: untested ones are warned about."""

    def emit(self, session: str, *events: AgentEvent) -> None:
        """Tell what a line means for a session. All that one line means, for each session, in one call."""

    def write(self, line: bytes, session: str | None = None) -> None:
        """Put a line, without its newline, on the server's stdin; in order, never blocking. Several lines, joined by
        newlines, go in one piece, with nothing of others in between. With a session while replaying, it is dropped if
        that session has this line of the raw log on record.
        """

    def keep_raw(self, payload: bytes) -> None:
        """Log what the backend fetched itself, one line without its newline; it is handed to `hear` at once."""

    def stdout(self) -> bytes:
        """The first 64 KiB of what the process has printed: where a server that speaks HTTP tells its port."""

    def broken(self, why: str) -> None:
        """The server is of no more use: it is killed, another is started, and the sessions are resumed there."""


class Server(Protocol):
    """One server process, and all conversations on it. No call waits; answers come by `hear`, as events.

    Calls for a session come one at a time: no `send` before `Opened`, no second one before `TurnEnded`, `Refused`
    or a break. When the process ends, the object is dropped; the host ends open turns and withdraws requests itself.
    """

    def begin(self) -> None:
        """The process was just started: say hello, and `Host.ready` when it is answered. Never called on a replay."""

    def know(self, opening: Opening) -> None:
        """This session is open here already; a replay follows. `opening.native` says which conversation it is."""

    def open(self, opening: Opening) -> None:
        """Begin or resume; then `Opened` or `NotOpened`. With the settings that were asked for, or not at all."""

    def send(self, session: str, prompt: Prompt) -> None:
        """Then `Delivered` or `Refused`, `TurnStarted`, what happens, and exactly one `TurnEnded`."""

    def reply(self, session: str, request: str, reply: Reply) -> None:
        """To a request that is open. May come twice after a break: the server must not take it twice."""

    def interrupt(self, session: str) -> None:
        """End the turn, now or as soon as it has begun; any number of times. `TurnEnded(INTERRUPTED)` is the answer."""

    def close(self, session: str) -> None:
        """Let the conversation go and clean up what the server's API can; then `Closed`. It may be resumed later."""

    def hear(self, line: bytes) -> None:
        """One line of the raw log, without its newline. Garbage is counted (`Unknown`), never raised."""

    @property
    def owes(self) -> bool:
        """Whether the server owes an answer to something; when it is silent for too long then, it hangs."""

    async def attend(self) -> None:
        """I/O of its own, for as long as the process lives, after the replay; returns at once where there is none.
        Cancelled when the process is gone.
        """


class Harness(Protocol):
    """One kind of server: `HARNESS` in its backend's package, found through `agents/registry.py`."""

    @property
    def name(self) -> str:
        """What `spawn -b` takes."""

    @property
    def shared(self) -> bool:
        """Whether one process holds many sessions; else each session has its own, started in its directory."""

    @property
    def speaks_on_stdout(self) -> bool:
        """Whether `hear` gets the lines of its stdout; else what the backend hands to `Host.keep_raw`."""

    @property
    def passes(self) -> tuple[str, ...]:
        """Variables passed on from whoever spawns, beside the usual ones; part of the server's key. `X_*` too."""

    @property
    def tested(self) -> tuple[str, str]:
        """The lowest and the highest version that the contract suite has passed on."""

    @property
    def install(self) -> str:
        """The command that installs it, for the message that says it is not."""

    def program(self, profile: Profile, path: str) -> str | None:
        """The program that would run, looked up in that PATH; None when it is not installed."""

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        """How the process is started. `profile.env` is here all that it gets; `opening` matters only where each session
        has its own.
        """

    def version_of(self, printed: str) -> str | None:
        """The version in what `PROGRAM --version` prints."""

    def check(self, profile: Profile, opening: Opening) -> None:
        """Refuse (`BadInput`) a model or an option that cannot be; before anything is started."""

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        """The backend's side of one process."""

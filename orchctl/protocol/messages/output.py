"""Messages about what is kept: output, events, and what is to go."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Session
from orchctl.session.search import Screen


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutput:
    """Output from an offset, the last N lines, a time, or the last input; `follow` goes on to the session's end.

    It stops at `until_offset`, or at what came at `until_unix_s`. With `times`, `StreamTime` says when bytes came. With
    `snapshot`, `StreamSnapshot` is what the terminal shows now, and output follows from there. With `credit_bytes`, no
    more than that is sent before `AckOutput` says that it was taken. With `commands`, `StreamCommand` names each
    command before the line that was typed for it.
    """

    kind: ClassVar[str] = "output.read"

    session: str
    own_manager: str = "user"
    offset: int | None = None
    lines: int | None = None
    follow: bool = False
    since_input: bool = False
    since_own_input: bool = False  # the last input of the asker's own manager, if that is known
    since_unix_s: float | None = None
    until_unix_s: float | None = None
    until_offset: int | None = None
    times: bool = False
    raw: bool = False  # of a conversation: the bytes of the server that holds it, with all its conversations
    snapshot: bool = False
    credit_bytes: int | None = None  # None: as much as the socket takes
    commands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AckOutput:
    """So many bytes of a stream of this connection were taken, and as many more may be sent.

    `stream` is the number of the request that asked for it. When the stream has ended meanwhile, it is not there.
    """

    kind: ClassVar[str] = "output.ack"

    stream: int
    count_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBegins:
    """Output follows from `offset` on, in data frames of the stream with this request's number."""

    kind: ClassVar[str] = "stream.begins"

    session: Session
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSnapshot:
    """What the terminal shows after the bytes before `screen.offset`, which is where the stream begins."""

    kind: ClassVar[str] = "stream.snapshot"

    screen: Screen


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamGap:
    """Bytes `first` up to but not including `end` are no longer kept; the stream goes on at `end`."""

    kind: ClassVar[str] = "stream.gap"

    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTime:
    """The byte at `offset`, and those after it up to the next such word, came at this time."""

    kind: ClassVar[str] = "stream.time"

    offset: int
    unix_s: float
    stream: int = 0  # 0 the terminal, 1 stdout, 2 stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCommand:
    """A line was typed for a command when the log ended at `offset`; what the shell shows of it comes after that.

    `line` is what was typed, `text` the command's first line, or empty where it was not to be recorded. The first mark
    with this `exec_id` ends what is shown of the line; `until` is where the command's output begins, if that is known.
    """

    kind: ClassVar[str] = "stream.command"

    exec_id: str
    offset: int
    line: str
    text: str
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnds:
    """Nothing more comes: the session is closed, or what there was has been sent."""

    kind: ClassVar[str] = "stream.ends"

    session: Session
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEvents:
    """Events from a sequence number, or from a time; none of both: all that are kept. `follow` never ends.

    `sessions` are what the user typed; empty: all. `types` the same; `command` means `command` alone. Events of type
    `output` are made from the logs: where `types` has them, of all sessions; where it is empty, of conversations. With
    `lines` or a place in `places`, and neither number nor time, what happened before that place is left out.
    """

    kind: ClassVar[str] = "events.read"

    since_seq: int | None = None
    since_unix_s: float | None = None
    sessions: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    follow: bool = False
    own_manager: str = "user"
    labels: dict[str, str] = field(default_factory=dict)
    repo: str | None = None
    places: dict[str, int] = field(default_factory=dict)  # session → where its output goes on, of what was read before
    lines: int | None = None  # of one session: from where the last so many lines of its output begin


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeEvents:
    """Events in order, each as the JSON text that is in the journal, and output; reading goes on at `next_seq`.

    Without `more`, that was all.
    """

    kind: ClassVar[str] = "events"

    events: tuple[str, ...]
    next_seq: int
    more: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Take ended sessions away: those named, those that ended so long ago, the oldest until the rest is small enough.

    With `output`, only their output goes. With `dry_run`, nothing does.
    """

    kind: ClassVar[str] = "store.prune"

    sessions: tuple[str, ...] = ()
    older_than_s: float | None = None
    keep_bytes: int | None = None
    output: bool = False
    dry_run: bool = False
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What went: sessions by id, and bytes of output."""

    kind: ClassVar[str] = "pruned"

    sessions: tuple[str, ...]
    output_bytes: int

"""Checks what a session's own files say of it: its intent, its journals, and its end. Pure but for the reading.

A journal that is damaged is named once; what it might have said is then not held against the other files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from orchctl.errors import PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.log import journal
from orchctl.log.check.findings import Files
from orchctl.log.journal import Record
from orchctl.log.session_files import Spec
from orchctl.plain import from_plain
from orchctl.session import layout
from orchctl.session.model import Session


@dataclass(frozen=True, slots=True)
class Lines:
    """A journal taken apart: good records, ranges of bytes that are none, and where a torn last line begins."""

    records: list[Record] = field(default_factory=list)
    bad: list[tuple[int, int]] = field(default_factory=list)
    torn_at: int | None = None
    size: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing that was in it can have been lost, but for whole lines at its end."""
        return not self.bad and self.torn_at is None


@dataclass(frozen=True, slots=True)
class Story:
    """What `run.jnl` tells: how far the front was dropped, and at which byte the output ended if that is known.

    `sure` is whether all of it could be read, so that what it does not tell did not happen.
    """

    started: bool = False
    ended: bool = False
    final_offset: int | None = None
    dropped_end: int = 0
    sure: bool = False


def take_apart(data: bytes) -> Lines:
    """Bad lines that follow each other are one range: one damage, one finding."""
    decoded = journal.decode(data)
    bad: list[tuple[int, int]] = []
    if decoded.bad_lines:
        at = 0
        for line in data.split(b"\n")[:-1]:
            end = at + len(line) + 1
            if journal.record_of(line) is None:
                first = bad.pop()[0] if bad and bad[-1][1] == at else at
                bad.append((first, end))
            at = end
    torn_at = decoded.next_offset if decoded.next_offset < len(data) else None
    return Lines(decoded.records, bad, torn_at, len(data))


def tell(lines: Lines, session: str) -> Story:
    """Fold the records of `run.jnl`; of another session's journal nothing is believed."""
    if owner(_owners(lines.records), session) is not None:
        return Story()
    started = ended = False
    final_offset, dropped_end = None, 0
    for record in lines.records:
        match record.get("type"):
            case "started":
                started, ended, final_offset = True, False, None
            case "exit" | "lost" | "closed":
                ended, final_offset = True, None if record.get("open") else number(record, "offset")
            case "dropped":
                dropped_end = max(dropped_end, number(record, "end") or 0)
    return Story(started, ended, final_offset, dropped_end, sure=lines.whole)


def number(record: Record, name: str) -> int | None:
    """A field that should be a count of bytes."""
    value = record.get(name)
    return value if type(value) is int and value >= 0 else None


def owner(sessions: Iterable[object], session: str) -> str | None:
    """The first of `sessions` that is another one."""
    return next((str(one) for one in sessions if one is not None and one != session), None)


class SessionCheck:
    """The files beside the output, in an order that a session which goes on growing cannot make wrong.

    `before` is read before the output is looked at: what had ended by then must be there whole. `told` is how many
    bytes of `run.jnl` and `commands.jnl` the event journal spoke of, earlier still.
    """

    def __init__(self, files: Files, told: tuple[int, int]) -> None:
        self._files = files
        self._told_run, self._told_commands = told
        self._names = set(files.names())
        self.over = layout.ENDED in self._names
        end = self._read_end()
        self.before = tell(take_apart(files.read(layout.JOURNAL) or b""), files.session)
        if self.before.final_offset is None and end is not None:  # something wrote on after the exit
            self.before = replace(self.before, final_offset=end)
        self._settled = self.over or self.before.final_offset is not None

    def finish(self, sizes: Mapping[int, int]) -> Story:
        """After the output was looked at: what went meanwhile is told by `run.jnl` as it is now."""
        traces = bool(sizes) or not self._names.isdisjoint((layout.ENDED, layout.SEALS, *self._second))
        self._check_spec(started=traces or not self._names.isdisjoint((layout.SOCKET, layout.JOURNAL)))
        self._check_commands()
        self._check_lease()
        return self._check_run(started=traces, has_output=any(sizes.values()))

    @property
    def _second(self) -> tuple[str, ...]:
        return layout.COMMANDS, layout.HARNESS

    def read_journal(self, name: str) -> Lines | None:
        """Take a journal apart, and say what is wrong with its lines; None if there is none to be read."""
        data = self._files.read(name)
        if data is None:
            return None
        lines = take_apart(data)
        for first, end in lines.bad:
            self._files.say(name, "bad-line", f"bytes {first} to {end} are no record that was written whole")
        if self._torn(lines):
            self._files.say(name, "torn-tail", f"the last line is torn: bytes {lines.torn_at} to {lines.size}")
        return lines

    def _check_run(self, *, started: bool, has_output: bool) -> Story:
        files, name = self._files, layout.JOURNAL
        lines = self.read_journal(name)
        if lines is None:
            if (started or self._told_run) and files.missing(name):
                files.say(name, "missing-journal", "the session was started, and its journal is not there")
            return Story()
        self._check_owner(name, _owners(lines.records))
        story = tell(lines, files.session)
        cut = self._cut(lines, self._told_run)
        if story.sure and not story.ended and self.over:
            cut = f"the session is over, and these {lines.size} bytes do not tell its end"
        elif has_output and lines.size == 0:
            cut = "it is empty, and there is output"
        if cut:
            files.say(name, "journal-cut", cut)
        return replace(story, sure=story.sure and not cut)

    def _check_commands(self) -> None:
        files = self._files
        name = layout.HARNESS if layout.HARNESS in self._names else layout.COMMANDS
        lines = self.read_journal(name)
        if lines is None:
            if self._told_commands and files.missing(name):
                files.say(name, "missing-journal", f"events have told of {self._told_commands} bytes of it")
            return
        if cut := self._cut(lines, self._told_commands):
            files.say(name, "journal-cut", cut)
        commands = [record.get("command") for record in lines.records]
        self._check_owner(name, [one.get("session") for one in commands if isinstance(one, dict)])

    def _check_lease(self) -> None:
        """An epoch that comes again, or goes back, would let two write where one may."""
        lines = self.read_journal(layout.LEASE)
        if lines is None:
            return
        self._check_owner(layout.LEASE, [record.get("session") for record in lines.records])
        newest = 0
        for record in [one for one in lines.records if one.get("type") == "lease"]:  # a later version may know others
            epoch = number(record, "epoch") or 0
            if epoch < newest:
                self._files.say(layout.LEASE, "bad-epoch", f"epoch {epoch} comes after {newest}")
            newest = max(newest, epoch)

    def _torn(self, lines: Lines) -> bool:
        """Whether the end of a journal is torn for good; while a session lives its last line may be under way."""
        return lines.torn_at is not None and self._settled

    def _cut(self, lines: Lines, told: int) -> str:
        if lines.size >= told or self._torn(lines):
            return ""
        return f"it has {lines.size} bytes, and events have told of {told}"

    def _check_owner(self, name: str, sessions: list[object]) -> None:
        other = owner(sessions, self._files.session)
        if other is not None:
            self._files.say(name, "foreign-journal", f"it belongs to session {other}")

    def _check_spec(self, *, started: bool) -> None:
        """A directory without a spec was never asked for, unless something was started in it."""
        files = self._files
        data = files.read(layout.SPEC)
        if data is None:
            if started and files.missing(layout.SPEC):
                files.say(layout.SPEC, "bad-spec", "it is not there, and the session was started")
            return
        try:
            spec = from_plain(Spec, journal.load(data))
        except (ValueError, PeerBroke) as error:
            files.say(layout.SPEC, "bad-spec", str(error))
            return
        if spec.id != files.session:
            files.say(layout.SPEC, "bad-spec", f"it belongs to session {spec.id}")

    def _read_end(self) -> int | None:
        """Where the output had come to when the last word on the session was written."""
        files = self._files
        data = files.read(layout.ENDED)
        if data is None:
            return None
        try:
            ended = from_plain(Session, journal.load(data))
        except (ValueError, PeerBroke) as error:
            files.say(layout.ENDED, "bad-end", str(error))
            return None
        if ended.id != files.session:
            files.say(layout.ENDED, "bad-end", f"it belongs to session {ended.id}")
            return None
        return ended.output.next_offset


def _owners(records: list[Record]) -> list[object]:
    return [record.get("session") for record in records if record.get("type") == "started"]

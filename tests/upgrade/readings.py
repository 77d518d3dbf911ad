"""Every verb that reads, with what must hold between what it says before and after a step of an upgrade.

Later versions may say more: a JSON object may have new fields, and text for people may be worded anew. They may not
say anything else about what was there before: bytes are the same bytes, records the same records in the same order,
and of what grows, the earlier answer is the beginning of the later one.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tests.upgrade.installation import UpgradedWorld

_MOVING = frozenset({"uptime", "cpu", "memory", "io", "processes", "waiting", "stalled", "output"})  # of a live session
_REPLACED = frozenset({"pid", "zygote", "version", "started_at", "sessions", "chain_head"})  # of a supervisor
Answers = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Reading:
    """One command line and the form of its answer."""

    words: str
    form: Literal["bytes", "records", "value", "text", "code"] = "bytes"
    grows: bool = False
    exit_code: int = 0
    leave_out: frozenset[str] = frozenset()

    def answer(self, done: subprocess.CompletedProcess[bytes]) -> bytes:
        """What it says, if it says what it should."""
        assert done.returncode == self.exit_code, (self.words, done)
        assert done.stdout or self.form == "code", (self.words, done)
        return done.stdout

    def check(self, before: bytes, now: bytes) -> None:
        """Both answers, one after another, are about the same."""
        if self.form == "bytes":
            assert now.startswith(before) if self.grows else now == before, (self.words, before[-500:], now[-500:])
        elif self.form in ("records", "value"):
            old, new = self._values(before), self._values(now)
            differences = list(_differences(old, new[: len(old)] if self.grows else new, ""))
            assert differences == [], self.words

    def _values(self, said: bytes) -> Any:
        if self.form == "value":
            return _without(json.loads(said), self.leave_out)
        return numbered(said) if self.grows else [json.loads(line) for line in said.splitlines()]


READINGS = (
    Reading("list", "text"),
    Reading("list -a", "text"),
    Reading("list -a -l steady=yes --json", "value", leave_out=_MOVING),
    Reading("top --once", "text"),
    Reading("info ended --json", "value"),
    Reading("info work --json", "value", leave_out=_MOVING),
    Reading("info agent --json", "value", leave_out=_MOVING),
    Reading("info again", "text"),
    Reading("tail -n all ended"),
    Reading("tail -n all --raw ended"),
    Reading("tail -n all --plain ended"),
    Reading("tail -t -n all ended", "text"),
    Reading("tail -n all --raw pour", grows=True),
    Reading("tail -n all work", "text"),
    Reading("tail --command 1 work"),
    Reading("tail -n all agent"),
    Reading("tail -n all -l steady=yes", "text"),
    Reading("export --as raw ended"),
    Reading("export --as text ended"),
    Reading("export --as jsonl ended", "records"),
    Reading("export --as asciicast ended"),
    Reading("export --as raw pour", grows=True),
    Reading("export --as raw work", grows=True),
    Reading("history work --json", "value", grows=True),
    Reading("history busy --json", "value"),
    Reading("events", "records", grows=True),
    Reading("events --type session.state ended", "records"),
    Reading("audit --json", "records", grows=True),
    Reading("audit --verify", "text"),
    Reading("verify", "text"),
    Reading("search -n red ended"),
    Reading("search -F 00000007", "text"),
    Reading("screen ended --as text"),
    Reading("screen work --as json", "text"),
    Reading("pending --json", "value"),
    Reading("label work"),
    Reading("lease show held --json", "value"),
    Reading("limits --json", "value", leave_out=frozenset({"used"})),
    Reading("supervisor status --json", "value", leave_out=_REPLACED),
    Reading("supervisor logs", "text"),
    Reading("config show --json", "value", leave_out=frozenset({"what"})),
    Reading("wait ended", "code", exit_code=3),
    Reading("wait work --for prompt", "code"),
    Reading("wait busy --for state=live", "code"),
    Reading("expect ended re. --json", "value"),
)


def read_all(world: UpgradedWorld) -> Answers:
    """What every reading verb says now."""
    done = world.run_many([reading.words.split(" ") for reading in READINGS])
    return {reading.words: reading.answer(one) for reading, one in zip(READINGS, done, strict=True)}


def check_all(before: Answers, now: Answers) -> None:
    """Nothing that was said before is gone or has changed."""
    for reading in READINGS:
        reading.check(before[reading.words], now[reading.words])


def numbered(said: bytes) -> list[dict[str, Any]]:
    """The events that are on record. Pieces of agents' output among them are cut wherever a reader finds their end."""
    return [event for event in map(json.loads, said.splitlines()) if "seq" in event]


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(part, names) for name, part in value.items() if name not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value


def _differences(old: Any, new: Any, place: str) -> Iterable[str]:
    """Where the new one does not say what the old one said; what it says beside that is its own affair."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            yield from _differences(value, new[name], f"{place}.{name}") if name in new else [f"{place}.{name} is gone"]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{place}[{at}]")
    elif old != new:
        yield f"{place}: {old!r} is {new!r} now"

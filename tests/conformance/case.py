"""One row of the table: what is handed to a live shell, and what has to come back. Data and its judge; runs nothing."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

SHOWN = 300  # characters of a wrong output in a message: the rest hides the point


@dataclass(frozen=True, slots=True)
class Step:
    """One text run in the shell. Its standard input is /dev/null unless `stdin` is given."""

    text: str
    exit: int | tuple[int, ...] = 0  # 128+N for signal N; 124 for a time-out; 125 when the tool could not run it
    output: bytes | None = b""  # exactly, the terminal's newline mapping undone; None: not checked
    stdin: bytes | None = None
    env: tuple[tuple[str, str], ...] = ()  # for this step alone
    cwd: str | None = None  # for this step alone; "~" stands for HOME
    match: bytes | None = None  # instead of `output`: a pattern for all of it
    sha256: str | None = None  # instead of `output`: the digest of it
    timeout_s: float | None = None
    ends: bool = False  # the shell itself ends here, and `exit` is its exit status

    def faults(self, code: int | None, output: bytes) -> list[str]:
        """What is wrong with an answer; empty when it is right."""
        allowed = self.exit if isinstance(self.exit, tuple) else (self.exit,)
        found = [] if code in allowed else [f"exit {code}, not {self.exit}"]
        return found + ([] if self._accepts(output) else [f"output {_short(output)}, not {self._wanted()}"])

    def _accepts(self, output: bytes) -> bool:
        if self.sha256 is not None:
            return hashlib.sha256(output).hexdigest() == self.sha256
        if self.match is not None:
            return re.fullmatch(self.match, output) is not None
        return self.output is None or output == self.output

    def _wanted(self) -> str:
        return f"sha256 {self.sha256}" if self.sha256 else _short(self.match or self.output or b"")


ALIVE = Step("echo alive", output=b"alive\n")


@dataclass(frozen=True, slots=True)
class Case:
    """Steps for one fresh shell. State is checked by further steps; `after` shows that the shell can still be used."""

    name: str
    steps: tuple[Step, ...]
    files: tuple[tuple[str, bytes], ...] = ()  # put into HOME before the shell starts
    after: tuple[Step, ...] = (ALIVE,)  # not run when the shell ended
    note: str = ""
    refusable: bool = False  # a tool may say at once that it cannot tell; a wrong answer stays wrong
    core: bool = False  # worth running under every kind of start-up file
    strict: bool = False  # a core case that `set -euo pipefail` beforehand does not change


def one(
    name: str,
    text: str,
    output: bytes | None = b"",
    exit: int = 0,  # noqa: A002 the table's own word
    *,
    match: bytes | None = None,
    ends: bool = False,
    note: str = "",
    core: bool = False,
    strict: bool = False,
) -> Case:
    """A case of a single step."""
    step = Step(text, exit, output, match=match, ends=ends)
    return Case(name, (step,), note=note, core=core or strict, strict=strict)


def saying(*words: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A pattern for lines of bash's own with these words in this order, and in them nothing of the tool."""
    inside = b".*".join(re.escape(word) for word in words)
    return rb"(?s)(?!.*__oc)%s(?=.*%s)(bash: [^\n]*\n)+%s" % (re.escape(before), inside, re.escape(after))


def _short(data: bytes) -> str:
    shown = repr(data)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… ({len(data)} bytes)"

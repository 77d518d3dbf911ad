"""The ledger of tests: no test disappears without a line that says where it went.

`ids.txt` has the id of every test that ever was, both tiers. `moved.txt` says what became of those that are no longer
collected. `python -m tests.ledger` adds new ids, and prints those that `moved.txt` must account for.

A line of `moved.txt` names a place, and what is there now:

    tests/old/ -> tests/new/                              every file below a folder
    tests/test_a.py -> tests/test_b.py                    every test of a file
    tests/test_a.py::test_x -> tests/test_b.py::test_y    a function, with its parameters
    tests/test_a.py::test_x[1] -> tests/test_b.py::test_y[one]
    tests/test_a.py::test_z -> removed: the command is gone

The most particular line applies. The result may itself have moved: lines are followed until a test is found that is
collected. A parameter is dropped if the function is collected without one. `#` begins a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
IDS = HERE / "ids.txt"
MOVED = HERE / "moved.txt"
REMOVED = "removed: "
WIDTH = 120
_LINE = re.compile(r"(tests/.*?) -> (tests/.*|removed: .+)")


class BadLine(ValueError):
    """A line of `moved.txt` or `ids.txt` that cannot be read."""


@dataclass(frozen=True)
class Moves:
    """Old place → new place, or `removed: REASON`."""

    lines: dict[str, str]

    def follow(self, test: str, collected: set[str]) -> str | None:
        """The collected test that stands for `test`, or why there is none any more; None if nothing says so."""
        seen: set[str] = set()
        while test not in collected:
            bare = test.partition("[")[0]
            if bare in collected and seen:
                return bare
            old = self._line_for(test)
            if old is None or test in seen:
                return None
            seen.add(test)
            new = self.lines[old]
            if new.startswith(REMOVED):
                return new
            test = new if "[" in new else new + test[len(old) :]
        return test

    def leads_somewhere(self, place: str, living: set[str]) -> bool:
        """Whether `place`, or one to which it or a part of it moved, is among the living; or a part was removed."""
        seen: set[str] = set()
        ahead = [place]
        while ahead:
            here = ahead.pop()
            if here.startswith(REMOVED) or here in living:
                return True
            if here not in seen:
                seen.add(here)
                ahead += [new for old, new in self.lines.items() if here in places(old)]
                ahead += [self.lines[old] + here[len(old) :] for old in places(here) if old in self.lines]
        return False

    def _line_for(self, test: str) -> str | None:
        """The most particular line."""
        return next((place for place in places(test) if place in self.lines), None)


def places(test: str) -> list[str]:
    """A test, or a place, and every place that it is in: its function, class, file and folders; the smallest first."""
    found = [test]
    name, bracket, _ = test.partition("[")
    if bracket:
        found.append(name)
    while "::" in name:
        name = name.rpartition("::")[0]
        found.append(name)
    while "/" in (name := name.removesuffix("/")):
        name = name.rpartition("/")[0] + "/"
        found.append(name)
    return found


def problems(ledger: Iterable[str], moves: Moves, collected: Iterable[str]) -> list[str]:
    """What is wrong, each with what to do about it."""
    known, there = set(ledger), set(collected)
    told_of = {place for test in known for place in places(test)}
    living = {place for test in there for place in places(test)}
    found = [
        f"{test} is not collected, and moved.txt does not say what became of it"
        for test in sorted(known)
        if moves.follow(test, there) is None
    ]
    found += [f"{test} is not in the ledger: python -m tests.ledger" for test in sorted(there - known)]
    for old, new in moves.lines.items():
        if old not in told_of:
            found.append(f"moved.txt: {old} names nothing that is in the ledger")
        if not moves.leads_somewhere(new, living):
            found.append(f"moved.txt: {old} -> {new}, where no test is")
    return found


def read_moves(text: str) -> Moves:
    """`moved.txt`."""
    lines: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise BadLine(f"moved.txt: not 'OLD -> NEW' nor 'OLD -> removed: REASON': {line}")
        if found[1] in lines:
            raise BadLine(f"moved.txt: two lines for {found[1]}")
        if not found[2].startswith(REMOVED) and found[1].endswith("/") != found[2].endswith("/"):
            raise BadLine(f"moved.txt: a folder moves to a folder: {line}")
        lines[found[1]] = found[2]
    return Moves(lines)


def write_ids(tests: Iterable[str]) -> str:
    """`ids.txt`: a file, below it its functions, and below each its parameters as JSON strings, all in order."""
    tree: dict[str, dict[str, list[str]]] = {}
    for test in sorted(set(tests)):
        file, _, rest = test.partition("::")
        function, bracket, parameter = rest.partition("[")
        tree.setdefault(file, {}).setdefault(function, []).extend([parameter.removesuffix("]")] if bracket else [])
    made = []
    for file, functions in tree.items():
        made.append(file)
        for function, parameters in functions.items():
            made.append(f"  {function}")
            made += (f"    {line}" for line in _lines([json.dumps(one) for one in sorted(parameters)]))
    return "\n".join(made) + "\n"


def _lines(words: list[str]) -> list[str]:
    """On one line if they fit, else one a line, so that a new one is one line more."""
    together = " ".join(words)
    return words if len(together) > WIDTH - 4 else [together] if words else []


def read_ids(text: str) -> list[str]:
    """The tests of `ids.txt`."""
    found: list[str] = []
    file = function = ""
    decoder = json.JSONDecoder()
    for line in text.splitlines():
        if not line.startswith(" "):
            file = line
        elif not line.startswith("    "):
            function = line.strip()
            found.append(f"{file}::{function}")
        else:
            if found[-1] == f"{file}::{function}":  # it has parameters, so it is no test without one
                found.pop()
            at = 4
            while at < len(line):
                parameter, end = decoder.raw_decode(line, at)
                found.append(f"{file}::{function}[{parameter}]")
                at = end + 1
    return found

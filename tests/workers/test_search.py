"""The search worker against grep: over generated logs and patterns both print the same lines."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.cli.tables import Shown
from orchctl.log import segments
from orchctl.session.model import Session
from orchctl.session.search import Count, Line, Search
from orchctl.terminal.views import TextView
from orchctl.workers import search as worker

MARK = b"\x1b]6973;0123456789abcdef;D;0;x\x07"
WORDS = [
    b"a",
    b"b",
    b"ab",
    b"B",
    b"foo",
    b"Foo",
    b" ",
    b"\t",
    b"-",
    b"_",
    b"1",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b"\x1b[32m",
]
ENDS = [b"\n", b"\r\n", b"\r\r\n", b"\r", MARK, b"\x1b]6973;", b"\r" + MARK + b"\n", b"\n\n"]
LOGS = st.lists(st.sampled_from(WORDS + ENDS + ENDS), max_size=60).map(b"".join)
TEXTS = st.lists(st.sampled_from(["a", "b", "ab", "fo", "foo", "o", "B", " ", "1", "é", "-"]), min_size=1, max_size=4)
ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "foo",
        "F",
        "1",
        " ",
        ".",
        "[ab1]",
        "[^a]",
        "[^ab]",
        "[a-f]",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        "^",
        "$",
        r"\b",
        "é",
    ]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "{2}"])).map(lambda made: f"({made[0]}){made[1]}"),
    )


EXPRESSIONS = st.recursive(ATOMS, _grown, max_leaves=6)


@dataclass
class Options:
    """What both are asked for."""

    fixed: bool
    ignore_case: bool
    numbers: bool
    after: int | None
    before: int | None
    count: bool
    limit: int | None

    def words(self) -> Iterator[str]:
        yield "-F" if self.fixed else "-E"
        for flag, asked in (("-i", self.ignore_case), ("-n", self.numbers), ("-c", self.count)):
            if asked:
                yield flag
        for option, number in (("-A", self.after), ("-B", self.before), ("-m", self.limit)):
            if number is not None:
                yield f"{option}{number}"


OPTIONS = st.builds(
    Options,
    fixed=st.booleans(),
    ignore_case=st.booleans(),
    numbers=st.booleans(),
    after=st.none() | st.integers(0, 3),
    before=st.none() | st.integers(0, 3),
    count=st.booleans(),
    limit=st.none() | st.integers(1, 3),
)


def grep(pattern: str, text: bytes, options: Options) -> tuple[int, bytes]:
    """What grep says."""
    argv = ["grep", "-a", *options.words(), "-e", pattern]
    done = subprocess.run(
        argv, input=text, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    assert done.returncode < 2, (argv, done.stderr)
    return done.returncode, done.stdout


def ours(
    folder: str, pattern: str, options: Options, *, terminal: bool = True, block: int = 1 << 18
) -> tuple[int, bytes]:
    """What a search says, over the log in `folder`."""
    asked = Search(
        pattern=pattern,
        fixed=options.fixed,
        ignore_case=options.ignore_case,
        after=options.after,
        before=options.before,
        count=options.count,
        limit=options.limit,
        numbers=options.numbers,
    )
    log = worker.Log(folder, asked, terminal=terminal, block_bytes=block)
    shown = Shown(prefix=False, numbers=options.numbers, painted=False, terminal=False)
    found = [one for one in log.findings() if isinstance(one, Line | Count)]
    any_found = any(isinstance(one, Line) or one.lines for one in found)
    return int(not any_found), b"".join(shown.put(Session(id="x"), one) for one in found)


def write(folder: str, log: bytes, sizes: list[int]) -> None:
    """The log in segments of these sizes, the last of what is left."""
    os.makedirs(f"{folder}/out")
    at = 0
    for size in [*sizes, len(log)]:
        part = log[at : at + size]
        if part or at == 0:
            with open(f"{folder}/out/{segments.name(at)}", "wb") as file:
                file.write(part)
        at += len(part)


def text_of(log: bytes) -> bytes:
    """The text view, as `tail` gives it to a pipe."""
    view = TextView()
    return view.feed(log) + view.end()


def agree(log: bytes, pattern: str, options: Options, sizes: list[int], block: int, *, terminal: bool = True) -> None:
    """Both say the same."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, log, sizes)
        said = ours(folder, pattern, options, terminal=terminal, block=block)
    assert said == grep(pattern, text_of(log) if terminal else log, options)


SETTINGS = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = Options(False, False, True, None, None, False, None)


@SETTINGS
@given(LOGS, EXPRESSIONS, OPTIONS, st.lists(st.integers(1, 30), max_size=3), st.sampled_from([1, 3, 7, 1 << 18]))
@example(b"a\n\nb", "$", PLAIN, [1], 1)
@example(b"fo" + MARK + b"o\r\n", "^foo$", PLAIN, [8], 5)
def test_expressions_find_the_lines_that_grep_finds(
    log: bytes, pattern: str, options: Options, sizes: list[int], block: int
) -> None:
    options.fixed = False
    agree(log, pattern, options, sizes, block)


@SETTINGS
@given(LOGS, TEXTS.map("".join), OPTIONS, st.lists(st.integers(1, 30), max_size=3), st.sampled_from([1, 3, 7, 1 << 18]))
@example(b"foo\0foo\xff\r\nfoo", "foo", PLAIN, [4], 2)
def test_texts_are_found_in_the_lines_that_grep_finds(
    log: bytes, pattern: str, options: Options, sizes: list[int], block: int
) -> None:
    options.fixed = True
    agree(log, pattern, options, sizes, block)


@settings(SETTINGS, max_examples=100)
@given(LOGS, EXPRESSIONS, OPTIONS)
def test_without_a_terminal_the_bytes_are_the_text(log: bytes, pattern: str, options: Options) -> None:
    options.fixed = False
    agree(log, pattern, options, [], 1 << 18, terminal=False)


@given(st.binary(max_size=50), st.binary(min_size=1, max_size=3), st.integers(0, 50), st.integers(0, 50))
def test_the_faster_search_for_much_text_finds_the_same(data: bytes, text: bytes, start: int, end: int) -> None:
    find, (start, end) = worker.finder(1 << 40), (min(start, len(data)), min(end, len(data)))
    assert find is not bytes.find
    assert find(data, text, start, end) == data.find(text, start, end)
    assert find(data * 3, text, start, end) == (data * 3).find(text, start, end)


@pytest.mark.parametrize("size", [1 << 12, 1 << 20])
def test_a_long_log_is_searched_to_its_end(size: int) -> None:
    log = b"".join(b"line %d%s\r\n" % (number, b" foo" * (number % 97 == 0)) for number in range(200_000))
    agree(log, "9.* foo$", PLAIN, [size] * (len(log) // size), 1 << 16)
    agree(log, "foo", Options(True, True, True, 1, 2, False, None), [size] * (len(log) // size), 1 << 18)

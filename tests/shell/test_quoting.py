"""Words quoted for each kind of shell, given to a real one: they arrive as they are, and the first is run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.shell.detect import named
from tests.needs import each

PROPERTY = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
PROGRAMS = {
    "bash": ["bash"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "-N"],
    "dash": ["dash"],
    "busybox": ["busybox", "ash"],
    "ksh93": ["ksh93"],
    "mksh": ["mksh"],
}
ODD = [
    "a b",
    "it's",
    '"',
    "$x",
    "`x`",
    "$(x)",
    "(x)",
    "\\",
    "\\n",
    "*",
    "~",
    "=ls",
    "{a,b}",
    "!!",
    "#",
    "-n",
    "&",
    "ä",
    "\n",
]

words = st.lists(st.sampled_from(ODD) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3), max_size=4).map("".join)  # fmt: skip  # noqa: E501


def run(kind: str, text: str, folder: str) -> bytes:
    path = f"{folder}/text"
    with open(path, "wb") as file:
        file.write(os.fsencode(text))
    env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": folder, "LC_ALL": "C.UTF-8"}
    return subprocess.run([*PROGRAMS[kind], path], env=env, capture_output=True, check=False, timeout=60).stdout


@pytest.mark.parametrize("kind", each(*PROGRAMS))
@PROPERTY
@given(lines=st.lists(st.lists(words, max_size=5), min_size=1, max_size=20))
@example(
    lines=[["~", "a=~", "=ls", ""], ["%1", "?", "[a]", "^", "\\", "\\'", "'"], ["\x01", "\x7f", "\ue000", "\uf600"]]
)
def test_any_words_arrive_as_they_are(kind: str, lines: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        os.mkdir(f"{folder}/bin")
        with open(f"{folder}/bin/show", "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nprintf %s\\\\0 "$#" "$@"\n')
        os.chmod(f"{folder}/bin/show", 0o700)
        shown = run(kind, "\n".join(named(kind).quote_argv(["show", *line]) for line in lines) + "\n", folder)
    expected = [word for line in lines for word in (str(len(line)), *line)]
    assert shown.split(b"\0")[:-1] == [word.encode() for word in expected]


@pytest.mark.parametrize("kind", each(*PROGRAMS))
def test_a_program_named_like_a_word_of_the_shell_is_run(kind: str) -> None:
    names = ["if", "for", "while", "case", "function", "begin", "and", "!", "{", "A=b", "time", "select", "-x"]
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        os.mkdir(f"{folder}/bin")
        for name in names:
            with open(f"{folder}/bin/{name}", "w", encoding="ascii") as file:
                file.write('#!/bin/sh\nprintf "<%s>" "${0##*/}" "$@"\n')
            os.chmod(f"{folder}/bin/{name}", 0o700)
        missed = [name for name in names if run(kind, _line(kind, [name, "a"]), folder) != f"<{name}><a>".encode()]
    assert missed == []


def _line(kind: str, argv: Sequence[str]) -> str:
    return named(kind).quote_argv(argv) + "\n"

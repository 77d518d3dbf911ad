"""The files that each kind of shell is given: they parse whatever the names are, and hold no mark to be shown."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.shell.base import PREFIX, TAG, Order, plainly_complete
from orchctl.shell.detect import named
from orchctl.shell.marks import whole_marks
from tests.needs import each
from tests.shell.test_quoting import PROGRAMS

PROPERTY = settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
NONCE = "0123456789abcdef"
COMMANDS = {"busybox": ["busybox", "ash"]}
ODD = ["a b", "it's", '"', "$x", "`x`", "$(x)", "\\", "*", "~", "{a,b}", "!!", "#", "-n", "&", "ä"]

names = st.lists(st.sampled_from(ODD) | st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=3), min_size=1, max_size=3).map("".join)  # fmt: skip  # noqa: E501
options = st.fixed_dictionaries(
    {"env": st.dictionaries(st.from_regex(r"[a-z][a-z0-9]{1,8}", fullmatch=True), names, max_size=2)},
    optional={
        "stdin": st.none() | names,
        "cwd": names,
        "apart": st.tuples(names, names),
        "complete": st.booleans(),
        "flags": st.sampled_from(["", "imsx", "imse"]),
    },
)
KINDS = pytest.mark.parametrize("kind", each(*PROGRAMS))


def parses(kind: str, *texts: str) -> bool:
    """Whether a real shell takes all of these."""
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        paths = [f"{folder}/{number}" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            with open(path, "wb") as file:
                file.write(os.fsencode(text))
        return all(parsed(named(kind).parser(_command(kind), path)) for path in paths)


def parsed(words: Sequence[str]) -> bool:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def _command(kind: str) -> list[str]:
    return COMMANDS.get(kind, [kind])


@KINDS
@PROPERTY
@given(folder=names, asked=options)
def test_the_files_of_a_command_parse_whatever_the_names_are(kind: str, folder: str, asked: dict[str, Any]) -> None:
    shell = named(kind)
    order = Order(nonce=NONCE, folder=folder, exec_id="0badcafe", text="true", **asked)
    files = shell.one_command(order)
    line = shell.typed_line(folder, order.exec_id)
    assert parses(kind, files.wrapper, files.command, line + "\n")
    assert line.startswith(" ")
    assert TAG in line


@KINDS
@PROPERTY
@given(folder=names, login=st.booleans())
def test_the_start_up_files_parse_whatever_the_folder_is_called(kind: str, folder: str, login: bool) -> None:
    command = [*_command(kind), "-l"] if login else _command(kind)
    assert parses(kind, *named(kind).start_up(NONCE, folder, command).values())


@KINDS
def test_a_text_is_told_to_be_complete_or_not_as_the_shell_itself_has_it(kind: str) -> None:
    complete = ["echo hi", "# nothing", "echo 'a\nb'"]
    open_ended = ["echo 'a", "echo a; )"] if kind != "fish" else ["echo 'a", "end"]
    assert parses(kind, *complete)
    assert not any(parses(kind, text) for text in open_ended)


@KINDS
def test_a_shell_that_shows_what_it_reads_makes_no_mark_by_it(kind: str) -> None:
    for flags in ("", "x", "e"):
        order = Order(nonce=NONCE, folder="/f", exec_id="0badcafe", text="true", cwd="/", complete=True, flags=flags)
        files = named(kind).one_command(order)
        assert whole_marks(NONCE, os.fsencode(files.wrapper + files.command), 0) == []


@KINDS
def test_the_text_begins_on_the_files_first_line(kind: str) -> None:
    for flags in ("", "x", "e"):
        order = Order(nonce=NONCE, folder="/f", exec_id="0badcafe", text="one\ntwo", complete=True, flags=flags)
        files = named(kind).one_command(order)
        first, second, *_ = (files.command or files.wrapper).split("\n")
        assert first.endswith("one")
        assert second == "two"


def test_statuses_are_told_as_everywhere() -> None:
    assert [named("ksh93").exit_code(status) for status in (0, 3, 255, 256 + 15, 256 + 9, 300)] == [
        0,
        3,
        255,
        143,
        137,
        172,
    ]
    for kind in set(PROGRAMS) - {"ksh93"}:
        assert [named(kind).exit_code(status) for status in (0, 3, 255, 300)] == [0, 3, 255, 44]


def test_the_users_own_variables_come_back() -> None:
    mine = {"A": "b", "ENV": "mine", "ZDOTDIR": "there"}
    assert named("zsh").environment("/f", mine, ["zsh"]) == {**mine, "ZDOTDIR": "/f", "__OC_ZDOTDIR": "there"}
    assert named("fish").environment("/f", mine, ["fish"]) == mine
    for kind in ("dash", "busybox", "ksh93", "mksh"):
        assert named(kind).environment("/f$", mine, [kind]) == {**mine, "ENV": "/f\\$/rc", "__OC_ENV": "mine"}


def test_a_login_shell_is_told_so_where_the_shell_can_be() -> None:
    assert named("zsh").argv("/f", ["zsh", "-l"]) == ["-zsh", "-i"]
    assert named("zsh").argv("/f", ["/bin/zsh"]) == ["/bin/zsh", "-i"]
    assert named("fish").argv("/f", ["fish", "--login"])[:3] == ["fish", "-l", "-i"]
    assert named("busybox").argv("/f", ["busybox", "sh", "-l"]) == ["busybox", "sh", "-i"]
    assert named("mksh").argv("/f", ["-mksh"]) == ["mksh", "-i"]


@pytest.mark.parametrize("text", ["", "ls -la", "a=b; echo x\necho y"])
def test_plain_words_are_complete_without_a_look(text: str) -> None:
    assert plainly_complete(text)
    assert not plainly_complete(f"{text} |")
    assert PREFIX.endswith(";")

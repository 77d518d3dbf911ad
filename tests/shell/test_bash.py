"""The text that a bash is given, tried in a real one: any words, any folders, any end of a command's text."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.shell.base import TAG, Order
from orchctl.shell.bash import Bash
from tests.world import DEADLINE_S

PROPERTY = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
BASH = Bash()
LOGIN = ["bash", "-l"]
NONCE = "0123456789abcdef"
EXEC_ID = "0badcafe"
RESERVED = subprocess.run(["bash", "-c", "compgen -k"], capture_output=True, check=True, text=True).stdout.split()
BUILTIN = subprocess.run(["bash", "-c", "compgen -b"], capture_output=True, check=True, text=True).stdout.split()
ODD = ["a b", "it's", '"', "$x", "`x`", "$(x)", "\\", "\\n", "*", "~", "{a,b}", "!!", "#", "-n", "&", "ä", "\udcff"]
OPENING = ["echo", "a=b", ";", "\n", "-", "(", "\\", "'", "|", "&&", "<<", *RESERVED]

names = st.lists(st.sampled_from(ODD) | st.text(min_size=1, max_size=4), min_size=1, max_size=4).map("".join)
system_text = names.map(lambda name: os.fsdecode(name.encode(errors="surrogateescape").replace(b"\0", b"")))
words = st.just("") | system_text
first_words = words.filter(lambda word: "/" not in word and word[:1] != "%" and word not in RESERVED + BUILTIN)
folders = system_text.map(lambda name: name.replace("/", "")).filter(lambda name: name not in ("", ".", ".."))
exec_ids = st.from_regex(r"[A-Za-z0-9-]{8,40}", fullmatch=True)
variables = st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{1,8}", fullmatch=True), words, max_size=3)
options = st.fixed_dictionaries(
    {"stdin": st.none() | words, "env": variables, "cwd": st.none() | words},
    optional={
        "apart": st.tuples(words, words),
        "complete": st.booleans(),
        "flags": st.sampled_from(["", "himBHs", "ahimBHs"]),
    },
)


@contextlib.contextmanager
def folder_called(name: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="oc-") as top:
        os.mkdir(f"{top}/{name}")
        yield f"{top}/{name}"


def write(path: str, text: str) -> None:
    with open(path, "wb") as file:
        file.write(os.fsencode(text))


def parses(text: str) -> bool:
    return parsed(text).returncode == 0


def parsed(text: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-n"], input=os.fsencode(text), capture_output=True, check=False)


@PROPERTY
@given(st.lists(st.tuples(first_words, st.lists(words, max_size=5)), min_size=1, max_size=30))
@example([("A=b", ["c"]), ("", []), ("a", ["~", "a=~"]), ("-e", ["-e", "--"])])
def test_any_words_reach_a_real_bash_unchanged(commands: list[tuple[str, list[str]]]) -> None:
    lines = [BASH.quote_argv([first, *rest]) for first, rest in commands]
    told = 'PATH=/nowhere\ncommand_not_found_handle() { printf %s\\\\0 "$#" "$@"; }\n' + "\n".join(lines)
    done = subprocess.run(["bash"], input=os.fsencode(told), capture_output=True, check=False)
    expected = [word for first, rest in commands for word in (str(1 + len(rest)), first, *rest)]
    assert list(map(os.fsdecode, done.stdout.split(b"\0")[:-1])) == expected


def test_a_program_named_like_a_word_of_the_shell_is_run() -> None:
    with folder_called("bin") as folder:
        for word in RESERVED:
            write(f"{folder}/{word}", '#!/bin/sh\nprintf "<%s>" "$@"\n')
            os.chmod(f"{folder}/{word}", 0o700)
        env = {"PATH": f"{folder}:{os.environ['PATH']}"}
        lines = {word: BASH.quote_argv([word, "a", "b"]) for word in RESERVED}
        ran = {
            word: subprocess.run(["bash", "-c", line], env=env, capture_output=True, check=False).stdout
            for word, line in lines.items()
        }
    assert ran == dict.fromkeys(RESERVED, b"<a><b>")


def test_an_alias_adds_no_words() -> None:
    told = "shopt -s expand_aliases\nalias printf='printf added'\n" + BASH.quote_argv(["printf", "%s", "given"])
    done = subprocess.run(["bash"], input=told.encode(), capture_output=True, check=True)
    assert done.stdout == b"given"


@PROPERTY
@given(system_text, exec_ids, options)
def test_the_files_of_a_command_parse_whatever_the_names_are(folder: str, exec_id: str, asked: dict[str, Any]) -> None:
    files = BASH.one_command(Order(nonce=NONCE, folder=folder, exec_id=exec_id, text="true", **asked))
    assert parses(files.wrapper)
    assert parses(files.command)
    assert parses(files.last)
    assert parses(BASH.typed_line(folder, exec_id))


@PROPERTY
@given(system_text, st.sampled_from([["bash"], ["bash", "-l"], ["sh"], ["sh", "-l"]]))
def test_the_start_up_files_parse_whatever_the_folder_is_called(folder: str, command: list[str]) -> None:
    assert all(map(parses, BASH.start_up(NONCE, folder, command).values()))


@pytest.mark.parametrize("name", ["shell", "a b", "it's", 'a "b"', "$HOME", "`id`", "a\\b", "ä"])
def test_a_login_shell_finds_its_start_up_file_whatever_the_folder_is_called(name: str) -> None:
    with folder_called(name) as folder:
        write(f"{folder}/rc", "echo found; exit 7\n")
        env = BASH.environment(folder, {"PATH": os.environ["PATH"], "HOME": folder}, LOGIN)
        words = BASH.argv(folder, LOGIN)
        done = subprocess.run(
            words, executable="bash", env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            start_new_session=True, timeout=DEADLINE_S,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, b"found\n")


def test_a_login_shell_gets_back_the_variable_that_it_was_pointed_with() -> None:
    mine = {"A": "b", "ENV": "mine"}
    assert BASH.environment("/f", mine, LOGIN) == {"A": "b", "ENV": "/f/rc", "__OC_ENV": "mine"}
    assert BASH.environment("/f", {"A": "b"}, LOGIN) == {"A": "b", "ENV": "/f/rc"}
    assert BASH.environment("/f", mine, ["bash"]) == mine


@PROPERTY
@given(st.lists(st.sampled_from(OPENING) | st.text(max_size=3), max_size=8).map(" ".join))
def test_a_text_that_needs_no_parsing_leaves_nothing_open(text: str) -> None:
    assert BASH.needs_parsing(text, "") or b"unexpected end of file" not in parsed(text).stderr


@pytest.mark.parametrize("part", ["#|\n", "set ", "set -", "set -a", "set\n", "if ", "<", "DEBU"])
def test_looking_at_a_large_text_takes_no_time_worth_noting(part: str) -> None:
    text = part * (100_000 // len(part))
    began = time.process_time()
    BASH.needs_parsing(text, "")
    BASH.one_command(Order(nonce=NONCE, folder="/f", exec_id=EXEC_ID, text=text, complete=True))
    assert time.process_time() - began < 0.5


def test_what_is_typed_is_short_and_stays_out_of_the_history() -> None:
    line = BASH.typed_line("/home/u/.local/state/orchctl/sessions/0badcafe/shell", EXEC_ID)
    assert line.startswith(" ")
    assert TAG in line
    assert len(line) < 200


@given(st.binary(min_size=1, max_size=20).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape")))
def test_whatever_the_path_only_plain_characters_are_typed(folder: str) -> None:
    line = BASH.typed_line(f"/{folder}", "0badcafe")
    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= 2 * 4 * len(f"/{folder}/{TAG}0badcafe".encode("utf-8", "surrogateescape")) + 40

"""A command's files sourced by a real bash on a real terminal: marks, output and status are the command's own."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any

import pytest
from hypothesis import given

from orchctl.shell.base import TAG, Order
from orchctl.shell.execution import End, Execution
from orchctl.shell.marks import whole_marks
from tests.shell.test_bash import (
    BASH,
    EXEC_ID,
    NONCE,
    PROPERTY,
    folder_called,
    folders,
    parsed,
    parses,
    variables,
    write,
)
from tests.world import DEADLINE_S


def on_terminal(script: str, home: str) -> bytes:
    """What a script shows on a terminal of its own, until it ends."""
    master, slave = os.openpty()
    words = ["timeout", "--foreground", "--signal=KILL", str(DEADLINE_S), "setsid", "--ctty", "bash", "-c", script]
    env = {"PATH": os.environ["PATH"], "HOME": home}
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env) as program:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: everybody has gone
            while data := os.read(master, 65536):
                shown += data
        os.close(master)
    assert program.returncode not in (137, -9), shown
    return shown.replace(b"\r\n", b"\n")


def run(folder: str, text: str, *, times: int = 1, **options: Any) -> tuple[End, bytes]:
    """The end and the output of a command whose files are made as a supervisor makes them."""
    complete = not BASH.needs_parsing(text, "") or parses(text)
    complete = complete and not ("<<" in text and parsed(text).stderr)
    files = BASH.one_command(
        Order(nonce=NONCE, folder=folder, exec_id=EXEC_ID, text=text, complete=complete, **options)
    )
    write(f"{folder}/heal", BASH.start_up(NONCE, folder, ["bash"])["heal"])
    write(f"{folder}/c{EXEC_ID}", files.command)
    write(f"{folder}/b{EXEC_ID}", files.last)
    write(f"{folder}/{TAG}{EXEC_ID}", files.wrapper)
    line = BASH.typed_line(folder, EXEC_ID, own_stdin=options.get("stdin", "/dev/null") != "/dev/null")
    shown = on_terminal("\n".join([line] * times), folder)
    execution = Execution(EXEC_ID, 0)
    ends = [end for mark in whole_marks(NONCE, shown, 0) if (end := execution.take(mark)) is not None]
    assert len(ends) == 1, shown
    return ends[0], shown[ends[0].start : ends[0].end]


@PROPERTY
@given(folders, variables, folders)
def test_a_command_gets_its_variables_its_folder_and_its_input(name: str, env: dict[str, str], cwd: str) -> None:
    with folder_called(name) as folder, folder_called(cwd) as there:
        write(f"{folder}/in", "asked")
        text = "".join(f"printf '%s\\n' \"${variable}\"\n" for variable in env) + "pwd -P; cat; (exit 7)"
        end, output = run(folder, text, stdin=f"{folder}/in", env=env, cwd=there)
        assert (end.exit_code, end.completion, end.ran) == (7, "marks", True)
        expected = "".join(f"{line}\n" for line in [*env.values(), os.path.realpath(there)]) + "asked"
        assert output == os.fsencode(expected)


@pytest.mark.parametrize(
    ("text", "status", "output"),
    [
        ("", 0, b""),
        ("false", 1, b""),
        ("echo a; (exit 9) # end", 9, b"a\n"),
        ("cat <<x\nin it\nx", 0, b"in it\n"),
        ("cat <<x\nno end", 0, None),
        ("echo a \\", 0, b"a\n"),
        ("echo 'open", 2, None),
        ("if then", 2, None),
        ("true &&", 2, None),
        ("false ||\n# nothing\n", 2, None),
        ("f()", 2, None),
        ("return 5", 5, b""),
        ("exec 3>&1 >/dev/null; echo hidden; echo seen >&3; exec >&3", 0, b"seen\n"),
        ("set -e; true", 0, b""),
        ("trap 'echo not for us' DEBUG; (exit 4)", 4, None),
        ("set -v; (exit 4)", 4, None),
        ("set -x; (exit 4)", 4, None),
    ],
)
def test_a_command_ends_by_its_marks_whatever_its_text_ends_with(text: str, status: int, output: bytes | None) -> None:
    with folder_called("shell") as folder:
        end, shown = run(folder, text)
    assert (end.exit_code, end.completion) == (status, "marks")
    assert output is None or shown == output


def test_output_can_be_kept_apart() -> None:
    with folder_called("it's $x") as folder:
        apart = (f"{folder}/out", f"{folder}/err")
        end, shown = run(folder, "echo one; echo two >&2", apart=apart)
        assert (end.exit_code, shown) == (0, b"")
        for path, expected in zip(apart, (b"one\n", b"two\n"), strict=True):
            with open(path, "rb") as file:
                assert file.read() == expected


def test_in_a_folder_that_is_not_there_nothing_is_run() -> None:
    with folder_called("shell") as folder:
        end, shown = run(folder, "echo it-ran", cwd="/nowhere")
    assert (end.exit_code, end.ran) == (125, False)
    assert b"/nowhere" in shown
    assert b"it-ran" not in shown


def test_a_line_that_is_typed_twice_runs_its_command_once() -> None:
    with folder_called("shell") as folder:
        end, output = run(folder, "echo hi", times=2)
    assert (end.exit_code, output) == (0, b"hi\n")

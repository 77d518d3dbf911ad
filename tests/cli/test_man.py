"""The manual: current, clean, complete, and readable; and where an installed package puts it and the completions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from orchctl.cli.main import ALIASES, COMMANDS
from tests.generate import roff
from tests.generate.manual import exit_status, take_apart
from tests.generate.overview import ENVIRONMENT
from tests.generate.pages import pages, write
from tests.generate.tree import Node, tree
from tests.needs import needs
from tests.test_build import TOP

MAN = sorted((TOP / "man").iterdir())
COMMAND = "python -m tests.generate"
ROOT = tree()
_INTERNAL = {"ORCHCTL_FAILPOINTS"}  # for our own tests
# still to be written; nothing may come to these
NO_HELP = set[str]()
NO_EXAMPLES = set[str]()


def _shown(path: Path) -> str:
    """As a terminal would show it, without bold and underline, on one line."""
    done = subprocess.run(["mandoc", "-T", "ascii", str(path)], capture_output=True, check=True)
    plain = re.sub("(?s).\b", "", done.stdout.decode("ascii"))
    return " ".join(plain.split())


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_what_is_committed_is_what_the_commands_say_now() -> None:
    there = {str(path.relative_to(TOP)) for folder in ("completions", "man") for path in (TOP / folder).iterdir()}
    made = pages()
    stale = {name for name, text in made.items() if name not in there or (TOP / name).read_text("utf-8") != text}
    assert stale | (there - set(made)) == set(), f"these are not what the commands say: run '{COMMAND}'"


def test_writing_them_changes_what_is_stale_and_nothing_else(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(pages())
    (tmp_path / "man/orchctl-kill.1").write_text("old", "utf-8")
    (tmp_path / "man/orchctl-gone.1").write_text("old", "utf-8")
    assert sorted(path.name for path in write(tmp_path)) == ["orchctl-gone.1", "orchctl-kill.1"]
    assert write(tmp_path) == []
    ran = subprocess.run(
        [sys.executable, *COMMAND.split()[1:], str(tmp_path)], capture_output=True, check=True, cwd=TOP
    )
    assert ran.stdout == b""


def test_there_is_a_page_for_every_command() -> None:
    assert [path.name for path in MAN] == sorted(["orchctl.1", *(f"orchctl-{name}.1" for name in COMMANDS)])


@pytest.mark.parametrize("path", MAN, ids=lambda path: path.name)
@needs("mandoc")
def test_mandoc_finds_nothing(path: Path) -> None:
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "")
    assert path.read_bytes().isascii()


@pytest.mark.parametrize("top", ROOT.nodes, ids=lambda node: node.name)
@needs("mandoc")
def test_a_page_shows_everything_that_help_says(top: Node) -> None:
    shown = _shown(TOP / f"man/orchctl-{top.name}.1")
    for node in top.walk():
        assert f"orchctl {node.name}" in shown
        for option in node.options:
            head = ", ".join(option.names) + (f" {option.metavar}" if option.value is not None else "")
            assert f"{head} {_flat(option.help)}" in shown
        told = take_apart(node.text)
        for line in told.examples:
            assert _flat(line) in shown
        for alias in node.aliases:
            assert f"orchctl {alias}" in shown
        for word in re.findall(r"[A-Za-z0-9]+", told.exits):
            assert word.lower() in shown.partition("EXIT STATUS")[2].lower()
    order = [shown.index(title) for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO")]
    assert order == sorted(order)


@needs("mandoc")
def test_the_overview_has_every_command_and_every_variable() -> None:
    shown = _shown(TOP / "man/orchctl.1")
    for name, (_, line) in COMMANDS.items():
        names = ", ".join([name, *(alias for alias, meant in ALIASES.items() if meant == name)])
        assert f"{names} {line}" in shown
        assert f"orchctl-{name}(1)" in shown
    for option in ROOT.options:
        assert _flat(option.help) in shown
    for title in ("SESSIONS", "VIEWS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert title in shown
    sources = "".join(path.read_text("utf-8") for path in (TOP / "orchctl").rglob("*.py"))
    read = set(re.findall(r"ORCHCTL_[A-Z][A-Z_]*[A-Z]\b", sources)) - _INTERNAL
    assert read == {name for name in ENVIRONMENT if name.startswith("ORCHCTL_")}, "ENVIRONMENT in overview.py"
    assert all(name in shown for name in ENVIRONMENT)


@pytest.mark.parametrize("node", list(ROOT.walk()), ids=lambda node: node.name or "orchctl")
def test_every_help_text_says_what_it_should(node: Node) -> None:
    silent = {f"{node.name} {option.names[-1]}" for option in node.options if not option.own_help}
    assert silent - NO_HELP == set(), "options without a help text"
    assert node.line.endswith("."), node.line
    if node.path and not node.nodes:
        told = take_apart(node.text)
        assert told.exits, "no exit codes"
        assert told.examples or node.name in NO_EXAMPLES, "no examples"


@needs("mandoc")
def test_what_roff_would_take_for_its_own_stays_text(tmp_path: Path) -> None:
    texts = [
        ".so /etc/passwd and 'quoted' at the start. .SH not a section. 'br neither",
        r"back\slash \fBnot bold\fR \n(.x \(aq \e ends with \\",
        '--option=-x, a-b, -- and - alone; it\'s `code` "quoted" ~home ^caret … é',
        "x\\",
    ]
    lines = [roff.title("T-1", "2026-01-01", 'v "1"'), roff.section("NAME"), "t \\- x", roff.section("A.B 'C'")]
    for text in texts:
        lines += [
            *roff.paragraph(text),
            *roff.term(roff.bold(text), text),
            *roff.example([text, f".{text}", f"'{text}"]),
        ]
    page = tmp_path / "t.1"
    page.write_text(roff.page(lines), "utf-8")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, check=False)
    assert (lint.returncode, lint.stdout.decode()) == (0, "")
    done = subprocess.run(["mandoc", "-T", "utf8", str(page)], capture_output=True, check=True)
    shown = " ".join(re.sub("(?s).\b", "", done.stdout.decode()).split())
    for text in texts:
        plain = _flat(text)
        quoted = plain.replace("`code`", "code")  # what is quoted so is bold instead
        assert shown.count(plain) + shown.count(quoted) >= 4, text
        assert f".{plain}" in shown
        assert f"'{plain}" in shown


def test_a_docstring_is_taken_apart() -> None:
    told = take_apart(
        "Do it.\n\nMore\nof it.\n\n\b\norchctl do   it\n  orchctl again\n\n"
        "\b\na  table\n\n\b\nExit codes: 0; 2 usage,\nor so."
    )
    assert told.paragraphs == ("Do it.", "More of it.", "\ba  table")
    assert told.examples == ("orchctl do   it", "  orchctl again")
    assert told.exits == "0; 2 usage, or so."
    assert list(exit_status("0 done; 126, 127 not (so; or so). With X: more.")) == [
        *(".TP", r"\fB0\fR", "Done."),
        *(".TP", r"\fB126, 127\fR", "Not (so; or so)."),
        *(".PP", "With X: more."),
    ]
    assert list(exit_status("its own; 124 timed out.")) == ["Its own; 124 timed out."]


def test_the_wheel_installs_all_of_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(argv, cwd=TOP, check=True, capture_output=True, env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"})
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        data = {name.partition(".data/data/")[2]: name for name in file.namelist() if ".data/data/" in name}
        found = {name: file.read(inside).decode() for name, inside in data.items()}
    places = {
        "completions/orchctl.bash": "share/bash-completion/completions/orchctl",
        "completions/_orchctl": "share/zsh/site-functions/_orchctl",
        "completions/orchctl.fish": "share/fish/vendor_completions.d/orchctl.fish",
    }
    expected = {places.get(name, f"share/man/man1/{Path(name).name}"): text for name, text in pages().items()}
    assert found == expected

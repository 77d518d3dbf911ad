"""What is the same for every shell that can be told what to run: one small interface, and marks as shell text. Pure.

A command's text is never typed: it lies in a file that is sourced by a second one, the wrapper, so
here-documents, comments, open quotes and syntax errors cannot hang the line, and its length does not
matter. Marks are written to /dev/tty by path, so that no redirection hides them.
"""

from __future__ import annotations

import enum
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from orchctl.lazy_dataclass import dataclass

TAG = "x6973-"  # in the name of every file that is typed about; keeps those lines out of histories
ESC, BEL = "\x1b", "\x07"
# First on a command's own line 1: the mark of its start, which gives the status before it back, and the last word.
PREFIX = '{ __oc_c "${__oc_u-}"&&\\: "${__oc_u-}";} 2>/dev/null;'
# What a shell shows with a first line that does not parse, and that is no part of it.
OWN_PREFIX = re.compile(
    rb"\{ __oc_c[^\n;]*;\} 2>/dev/null;|__oc_c&&:;|\{ \\builtin printf '\\e\]6973;[^\n]*?\} 2>/dev/null;"
)
MISSING_FOLDER = 125
TAB_STOPS = 8
NEEDS_LAST_WORD = re.compile(r"\$_(?!\w)|\$\{[#!]?_(?!\w)")  # a text that looks at the last word of the one before
# Words and signs without which a text is complete by itself, whatever it is.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \n;-]*\Z")
_OPENERS = re.compile(r"\b(?:for|while|until|if|then|else|elif|do|case|in|select|function|coproc|time)\b")


class Newline(enum.Enum):
    """When a shell ends the line because a command was interrupted; that newline is not the command's."""

    NEVER = enum.auto()
    AT_PROMPT = enum.auto()
    AFTER_PROGRAM = enum.auto()  # where a program was in front, and not the shell itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command for one session's shell; `stdin` None leaves it the terminal, `apart` splits its output.

    `complete`: the shell takes the text as it is, so that a line after it is a new command. `flags` are
    the shell's option letters at its prompt, where it can tell them; `status` the one that the text is to find,
    None if nobody knows it, `pipestatus` those of the parts of a pipe, and `last_word` what `$_` is; `at_prompt`: the
    shell has all of this at its prompt already.
    """

    nonce: str
    folder: str
    exec_id: str
    text: str
    stdin: str | None = "/dev/null"
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    apart: tuple[str, str] | None = None
    complete: bool = False
    flags: str = ""
    status: int | None = None
    pipestatus: tuple[int, ...] = ()
    last_word: str = ""
    at_prompt: bool = False

    @property
    def path(self) -> str:
        """The file with the command's text."""
        return f"{self.folder}/c{self.exec_id}"


@dataclass(frozen=True, slots=True)
class Files:
    """The file that is sourced; the command's own, where that sources it in turn; and one that is sourced last."""

    wrapper: str
    command: str
    last: str = ""


class Shell(Protocol):
    """A kind of shell: how it is started, and how it is told to run one command.

    `asks_at_prompt`: its line editor asks the terminal, and takes the answer. `edits_lines`: at its prompt
    the terminal is out of line mode. `lead_bytes`: so many it draws before the mark in its prompt.
    """

    @property
    def name(self) -> str: ...
    @property
    def asks_at_prompt(self) -> bool: ...
    @property
    def newline_on_interrupt(self) -> Newline: ...
    @property
    def edits_lines(self) -> bool: ...
    @property
    def lead_bytes(self) -> int: ...

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """The private start-up files: the user's own run first."""

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """Those of them that commands source too: a shell that an older version started gets them anew."""

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """How it is started with them."""

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """The environment that points it to them."""

    def quote_argv(self, words: Sequence[str]) -> str:
        """Shell text that runs these words unchanged: the first is a command, and nothing else."""

    def needs_parsing(self, text: str, flags: str) -> bool:
        """Whether it matters that a further line would be a new command, and only the shell itself can tell."""

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """How it is started to tell whether it takes the text in a file, without running it."""

    def one_command(self, order: Order) -> Files:
        """The files for one command."""

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """What is typed: short whatever the command is, and with a space in front.

        `own_stdin`: the command's input is not /dev/null, but what its files say, or the terminal.
        """

    def exit_code(self, status: int) -> int:
        """What others are told of a status that the shell has."""


def plainly_complete(text: str) -> bool:
    """Whether a line after this text is a new command in any Bourne shell; else only the shell itself can tell."""
    return _PLAIN.match(text) is not None and _OPENERS.search(text) is None


def always_quoted(word: str) -> str:
    """In single quotes, needed or not: then it is no alias, assignment or reserved word in any Bourne shell."""
    return "'" + word.replace("'", "'\\''") + "'"


def start_words(order: Order) -> tuple[str, str]:
    """What the mark of a command's start says: after it and that of the begin, tab stops are where they were.

    A terminal that makes blanks of tabs counts the letters of marks like any others.
    """
    letters = len(f"]6973;{order.nonce};B;{order.exec_id}]6973;{order.nonce};C;{order.exec_id};")
    return "C", "." * (-letters % TAB_STOPS)


def reached(folder: str) -> tuple[str, str]:
    """How to go to a directory, and a condition that holds there: no function of the user's can go elsewhere.

    The condition stands in `[[ ]]`, which is no command and so cannot be a function. `$__oc_w` is where the shell was.
    """
    target = folder if folder.startswith("/") else f"./{folder}"
    start = "" if folder.startswith("/") else '"$__oc_w"/'
    same = f". -ef {start}{always_quoted(target)}"
    return always_quoted(target), f"[[ {same} || $PWD == {start}{always_quoted(posixpath.normpath(target))} ]]"


def is_login(command: Sequence[str]) -> bool:
    """Whether a login shell is asked for: by an option, or by a name that begins with a dash."""
    return command[0].rpartition("/")[2].startswith("-") or any(
        word == "--login" or (word[:1] == "-" and word[1:2] != "-" and "l" in word) for word in command[1:]
    )


def program(command: Sequence[str]) -> str:
    """The file to be executed: a dash that asks for a login shell is no part of its name."""
    folder, slash, name = command[0].rpartition("/")
    return f"{folder}{slash}{name.removeprefix('-')}"


def set_late(letters: str) -> str:
    """The last words of a start-up file: options that would show or export what stands before them."""
    return f"set -{letters}\n" if letters else ""


def own_files(*, login: bool, default: str = "") -> str:
    """For shells that find their start-up file by ENV: the user's ENV is put back, and what it names is run.

    The profile files of a login shell are run here too: they often set ENV, and ours would be forgotten.
    """
    return (
        'if [ "${__OC_ENV+x}" ]; then ENV=$__OC_ENV; export ENV; unset __OC_ENV; else unset ENV; fi\n'
        + ("[ ! -r /etc/profile ] || . /etc/profile\n[ ! -r ~/.profile ] || . ~/.profile\n" if login else "")
        + 'if [ -n "${ENV-}" ]; then\n'
        + '  eval "__oc_s=\\"$ENV\\""; [ ! -r "$__oc_s" ] || . "$__oc_s"\n'
        + (f"elif [ -r {default} ]; then . {default}\n" if default else "")
        + "fi\n"
    )


def pointed_by_env(file: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment that makes such a shell run `file`; shells expand what they find in ENV."""
    kept = {"__OC_ENV": env["ENV"]} if "ENV" in env else {}
    return {**env, **kept, "ENV": re.sub(r'([\\$`"])', r"\\\1", file)}


def restored_pipe(order: Order, *, quiet: str = "", fails: bool | None = None) -> str:
    """For bash and zsh: gives the statuses of a pipe back, and its own with them, if that says not all.

    What fails here is no failure to a trap or to `set -e`. `fails`: whether a pipe fails with any part of it; None
    leaves the question to the shell. `quiet` is put after each part.
    """
    if order.pipestatus in ((), (order.status,)):
        return ""
    pipe = "|".join(f"(exit {status}){quiet}" for status in order.pipestatus)
    last = order.pipestatus[-1]
    failed = next((status for status in reversed(order.pipestatus) if status), 0)
    possible = {True: (failed,), False: (last,), None: (last, failed)}[fails]
    if not any(order.status in (one, int(not one)) for one in possible):
        return ""
    plain, failing = ("" if order.status == one else "! " for one in (possible[0], possible[-1]))  # or a negation
    restored = f"{plain}{pipe}"
    if plain != failing:
        restored = f"if [[ -o pipefail ]];then {failing}{pipe};else {plain}{pipe};fi"
    return f"{restored}{'&&:' if order.status else ''};"


def typed_path(path: str) -> str:
    """A path as keys that mean themselves: controls and what is not ASCII would be taken for commands of the editor."""
    if path.isascii() and path.isprintable():
        return shlex.quote(path)
    data = path.encode("utf-8", "surrogateescape")
    spelled = [chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in data]
    return f"$'{''.join(spelled)}'"

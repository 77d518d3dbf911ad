"""The text that makes a fish tell its prompts, and run one command between marks. Pure.

fish reads a whole file before it runs any of it, so the mark of a command's start stands in the wrapper, and a
text that does not parse still has one. It tells of prompts by events, and of a cancelled line by its postexec.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orchctl.shell import options
from orchctl.shell.base import MISSING_FOLDER, TAG, Files, Newline, Order, is_login, program, start_words
from orchctl.shell.marks import MOST_STATUSES

_KEYWORDS = (
    "!",
    "{",
    "and",
    "begin",
    "case",
    "else",
    "end",
    "for",
    "function",
    "if",
    "not",
    "or",
    "switch",
    "time",
    "while",
)
# Texts after which a further line is a new command, whatever they say; and what such a text must not have.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \n;$|>*~?&^-]*\Z")
_OPEN = re.compile(rf"\b(?:{'|'.join(word for word in _KEYWORDS if word.isalpha())}|builtin|command|exec)\b|[|&]\s*\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Fish:
    """fish 3.1 and newer."""

    name = "fish"
    asks_at_prompt = True
    newline_on_interrupt = Newline.NEVER
    edits_lines = True
    lead_bytes = 0

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """One file of event handlers, read after the user's own configuration."""
        return {"init.fish": _INIT.replace("NONCE", nonce).replace("MOST", str(MOST_STATUSES + 1))}

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """None: commands bring what they need."""
        return {}

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """Told by an option what to read last."""
        login = ["-l"] if is_login(command) else []
        own = options.of(self.name, command).words
        return [program(command), *login, "-i", *own, "-C", f"builtin source {quote(f'{folder}/init.fish')}"]

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """As it is."""
        return dict(env)

    def quote_argv(self, words: Sequence[str]) -> str:
        """Each word in quotes; a keyword stays one even then, and so does an assignment, unless it is told apart."""
        first = ["command"] if words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0]) else []
        return " ".join([*first, *map(quote, words)])

    def needs_parsing(self, text: str, flags: str) -> bool:
        """The statuses of a pipe are to be seen in the text's own file only: its last line keeps them, if it can."""
        return _PLAIN.match(text) is None or _OPEN.search(text) is not None

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """The shell that only reads a file."""
        return [program(command), "-n", path]

    def one_command(self, order: Order) -> Files:
        """A block around it all keeps the variables of this command to itself."""
        redirect = f" <{quote(order.stdin)}" if order.stdin is not None else ""
        if order.apart:
            redirect += f" >>{quote(order.apart[0])} 2>>{quote(order.apart[1])}"
        lines = [
            "builtin set -g __oc_s $status",
            f'builtin test "$__oc_l" = {order.exec_id}; and builtin return $__oc_s',
            f"builtin set -g __oc_l {order.exec_id}",
            f"builtin functions -q __oc_p __oc_a; or builtin source {quote(f'{order.folder}/init.fish')}",
            "builtin set -g __oc_t",
            "function __oc_r; builtin return $argv[1]; end",
            _emit(order, "B"),
            "begin",
            *(f"builtin set -lx {name} {quote(value)}" for name, value in order.env.items()),
            *_there(order),
            _emit(order, *start_words(order)),
            _restored(order),
            f"builtin source {quote(order.path)}{redirect}",
            "builtin set -g __oc_s $status",
            "builtin set -q __oc_t[1]; and builtin set -g __oc_s $__oc_t[1]",
            "builtin set -q __oc_t[1]; or builtin set -g __oc_t $__oc_s $__oc_s",
            _emit(order, "D", "$__oc_s", '""', '""', '"$__oc_t[2..-1] ."'),
            *_back(order),
            "end",
            "builtin return $__oc_s",
        ]
        blank = "\n" if order.text.endswith("\\") else ""
        last = f"{blank}builtin set -g __oc_t $status $pipestatus[1..{MOST_STATUSES + 1}]\n" if order.complete else ""
        return Files("\n".join(lines) + "\n", f"{order.text}\n{last}")

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """The space in front keeps it out of the history."""
        return f" builtin source {quote(f'{folder}/{TAG}{exec_id}')}"

    def exit_code(self, status: int) -> int:
        """A byte."""
        return status & 255


def quote(word: str) -> str:
    """In single quotes, where only they and backslashes mean anything."""
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


# A line that is cancelled at the prompt is followed by no prompt event, but the line is empty again. A command that is
# cancelled in a directory of its own comes to no end of its own either: its postexec goes back.
_INIT = """\
builtin set -q __oc_k; or builtin set -g __oc_k 0
function __oc_p --on-event fish_prompt --on-event fish_cancel
    builtin set -l s $status $pipestatus[1..MOST]
    builtin set -q __oc_k; or builtin set -g __oc_k 0
    builtin set -g __oc_k (builtin math $__oc_k + 1)
    builtin printf '\\e]6973;NONCE;P;%s;%s;;;;%s .\\a' $__oc_k $s[1] "$s[2..-1]" >>/dev/tty
end
function __oc_a --on-event fish_postexec
    builtin set -q __oc_l; and builtin printf '\\e]6973;NONCE;A;%s\\a' $__oc_l >>/dev/tty
    builtin set -q __oc_w; and builtin test "$PWD" = "$__oc_d"; and builtin cd $__oc_w
    builtin set -e __oc_w
end
"""


def _emit(order: Order, kind: str, *args: str) -> str:
    words = f"{kind};{order.exec_id}" + "".join(";%s" for _ in args)
    return " ".join([f"builtin printf '\\e]6973;{order.nonce};{words}\\a'", *args]) + " >>/dev/tty"


def _restored(order: Order) -> str:
    """Gives `$status` and `$pipestatus` back."""
    told = order.pipestatus[-1:]
    if order.pipestatus != (order.status,) and order.status in (*told, *(int(not one) for one in told)):
        pipe = " | ".join(f"__oc_r {status}" for status in order.pipestatus)
        return pipe if told == (order.status,) else f"not {pipe}"
    return "__oc_r $__oc_s"


def _there(order: Order) -> list[str]:
    if order.cwd is None:
        return []
    return [
        "builtin set -g __oc_w $PWD",
        f"if not builtin cd {quote(order.cwd)}",
        _emit(order, "D", str(MISSING_FOLDER)),
        "builtin set -e __oc_w",
        f"builtin return {MISSING_FOLDER}",
        "end",
        "builtin set -g __oc_d $PWD",
    ]


def _back(order: Order) -> list[str]:
    return ["builtin cd $__oc_w", "builtin set -e __oc_w"] if order.cwd is not None else []

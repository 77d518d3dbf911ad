"""The text that makes shells without hooks tell their prompts, and run one command between marks. Pure.

dash, busybox, ksh and mksh have no hook at the prompt, but they expand it: the mark is a part of PS1. They find
our start-up file by ENV, and it runs the user's first. A line editor may draw a prompt again: its mark then has
the same number.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from orchctl.lazy_dataclass import dataclass
from orchctl.shell import options
from orchctl.shell.base import (
    BEL,
    ESC,
    MISSING_FOLDER,
    PREFIX,
    TAG,
    Files,
    Newline,
    Order,
    always_quoted,
    is_login,
    own_files,
    plainly_complete,
    pointed_by_env,
    program,
    reached,
    set_late,
    start_words,
)

# A text that has its commands traced; and one whose end mark comes from the wrapper alone, because it would show a line
# of ours.
_TRACE = re.compile(r"\bxtrace\b|\bset\s+(?:-\w+\s+)*-\w*x")
_OWN_END = re.compile(r"\bset\s+-\w*v|\bverbose\b")
# Under `set -e` a status other than 0 would end the shell.
_RETURN = 'case $- in *e*) \\return 0;;esac;\\return "$__oc_s"'

# Whether `command` is the builtin: a function of that name does not know the parameter of the one that calls it.
_PROBE = "__oc_f(){ \\command eval 'case $1 in TOKEN) \\return 0;;esac';\\return 1;}"
_SHADOWED = "orchctl: a function named command hides the builtin; nothing was run"

# Where the shell exports every variable: ours are made anew, as long as it does not.
_UNEXPORTED = [
    "\\set +a;\\unset __oc_r",
    *(f"__oc_r=${{__oc_{one}-}};\\unset __oc_{one};__oc_{one}=$__oc_r" for one in "sklendwoqu"),
]

# ksh gives a prompt to whoever has none only after its start-up files, and then finds ours.
_DEFAULTS = """\
: ${__oc_k:=0}
case ${PS1+x} in
'') PS1='$ '; case $(\\command id -u 2>/dev/null) in 0) PS1='# ';; esac;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posix:
    """One of them; the fields are in what they differ."""

    name: str
    emit: str  # writes its argument, with escapes undone, whatever the user calls printf
    file: str = ""  # the start-up file of its own, where the user has no ENV
    own: str = "\\command"  # what runs a builtin, whatever the user calls it
    checked: bool = False  # a function can take the place of `own`, and nothing else runs a builtin
    has_conditions: bool = True  # `[[ ]]` is no command
    history: str = ""  # where it keeps a history from which no line can be left out: it gets a copy
    asks_at_prompt: bool = False
    newline_on_interrupt: Newline = Newline.AT_PROMPT
    edits_lines: bool = True
    lead_bytes: int = 0
    typed_status: bool = False  # a DEBUG trap loses the status on the way into a sourced file
    traces_all: bool = False  # no redirection hides the trace of a command: see `_traced`
    zero_width: bool = False  # what lies between two delimiters in its prompt has no width
    signals_from: int = 128  # a status of this and N is the end by signal N

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """One file that ENV names, and one that puts the mark into the prompt."""
        rc = own_files(login=is_login(command), default=self.file) + self._own_history(folder)
        rc += f"\\. {shlex.quote(f'{folder}/heal')}\n" + set_late(options.of(self.name, command).late)
        return {"rc": rc, "heal": self._heal(nonce)}

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """None: commands bring what they need."""
        return {}

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """A login shell reads its profile through our file."""
        applet = [word for word in command[1:2] if not word.startswith(("-", "+"))]
        return [program(command), *applet, *options.of(self.name, command).words, "-i"]

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """Pointed to our file."""
        return pointed_by_env(f"{folder}/rc", env)

    def quote_argv(self, words: Sequence[str]) -> str:
        """The first word in quotes, so that it is a command and nothing else."""
        return " ".join([always_quoted(words[0]), *map(shlex.quote, words[1:])])

    def needs_parsing(self, text: str, flags: str) -> bool:
        """The end mark is the text's own last line, if it can be."""
        return not plainly_complete(text)

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """The shell that only reads a file; a here-document without its end would take any further line."""
        swallows = '{ cat "$0";printf \'\\n)\\n\';} | "$@" -n 2>/dev/null'
        whole = f'"$@" -n "$0" && {{ ! grep -q "<<" "$0" || ! {{ {swallows};}};}}'
        return ["/bin/sh", "-c", whole, path, *self.argv("", command)[:-1]]

    def one_command(self, order: Order) -> Files:
        """A text that is complete gets the end mark as its own last line.

        Sourcing it could change its status: in ksh one beyond 255 would be cut, and an ERR trap or `set -e` would
        act twice on one failure.
        """
        redirect = f" <{shlex.quote(order.stdin)}" if order.stdin is not None else ""
        if order.apart:
            redirect += f" >>{shlex.quote(order.apart[0])} 2>>{shlex.quote(order.apart[1])}"
        assignments = "".join(f"{name}={always_quoted(value)} " for name, value in order.env.items())
        # before a special builtin assignments would stay, unless it is run by `command`
        dot = f"{self._command} ." if assignments else "\\."
        export = "\\set -a;" if "a" in order.flags else ""
        run = f"{export}{assignments}{dot} {shlex.quote(order.path)}{redirect}"
        balanced = order.text.count("((") == order.text.count("))")  # mksh takes the end of a text for that of a sum
        complete = order.complete and balanced and "v" not in order.flags and not _OWN_END.search(order.text)
        if self.traces_all and complete and ("x" in order.flags or _TRACE.search(order.text)):
            return self._traced(order, run, export)
        tell = self._tell(order, "D", "$__oc_s")
        wait = f"case ${{__oc_q-}} in '') __oc_s=${{__oc_e:-$__oc_r}};{tell};;esac"
        take = f"__oc_r=$?;{{ {wait};}} 2>/dev/null" if self.typed_status else f"{{ __oc_r=$?;{wait};}} 2>/dev/null"
        body = f"{run};{take}"
        if order.cwd is not None:
            missing = f"{{ {self._tell(order, 'D', str(MISSING_FOLDER))};}} 2>/dev/null"
            body = (
                f"__oc_w=$PWD __oc_o=${{OLDPWD-}};{self._there(order.cwd)} || "
                f"{{ {missing};__oc_w= __oc_s={MISSING_FOLDER};{export}{_RETURN};}};__oc_d=$PWD;{body};{self._back}"
            )
        own = f"__oc_e=$__oc_s;{tell};__oc_q=1"
        end = f"{{ __oc_s=$? __oc_u=${{_-}};{own};}} 2>/dev/null"
        if not (self.traces_all or "x" in order.flags or _TRACE.search(order.text)):
            end = f"__oc_s=$? __oc_e=$? __oc_u=${{_-}}\n{{ {own};}} 2>/dev/null"  # kept even if no file can be opened
        if self.typed_status:
            end = f"__oc_s=$?;{{ {own};}} 2>/dev/null"
        tail = f"\n{end}\n" if complete else ""
        begin = self._begin(order) + self._sure(order, export)
        return Files(f"{begin}{body};{_RETURN}\n", self._prefix + order.text + "\n" + tail)

    def _traced(self, order: Order, run: str, export: str) -> Files:
        """For a shell that traces: nothing of ours may be run after the mark of the start or before that of the end.

        A trace is written before its command runs, so a program that makes the start mark and ends with the status
        has been traced by then; `case` is not traced at all; and the end is told by the mark in the prompt.
        """
        go = ""
        if order.cwd is not None:  # the next wrapper comes back
            missing = f"{self._tell(order, 'D', str(MISSING_FOLDER))};__oc_w= __oc_s={MISSING_FOLDER};{export}{_RETURN}"
            go = f"__oc_w=$PWD __oc_o=${{OLDPWD-}};{self._there(order.cwd)} || {{ {missing};}}\n"
            go += "__oc_d=$PWD;"
        start = f"/bin/sh -c \"printf '{_mark(order, *start_words(order))}' >/dev/tty;exit $__oc_s\"&&case . in esac;"
        return Files(f"{self._begin(order)}{go}{run}\n", f"{start}{order.text}\ncase $((__oc_e=$?)) in esac\n")

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """With a backslash, so that the dot is no alias."""
        status = "__oc_s=$?;" if self.typed_status else ""
        return f" {status}\\. {shlex.quote(f'{folder}/{TAG}{exec_id}')}"

    def exit_code(self, status: int) -> int:
        """A byte; ksh tells signals apart from large statuses, others are told as everywhere."""
        if self.signals_from != 128 and self.signals_from < status <= self.signals_from + 64:
            return status - self.signals_from + 128
        return status & 255

    @property
    def _prefix(self) -> str:
        return "__oc_c&&:;" if self.typed_status else PREFIX

    @property
    def _command(self) -> str:
        return self.own if self.own == "\\command" else f"{self.own} command"

    @property
    def _back(self) -> str:
        """Also where the text has made a function of what would go back."""
        other = "\\cd" if self.checked else "\\command cd"
        again = f'case $PWD in "$__oc_w");;*) {other} -- "$__oc_w";;esac'
        return f'{self.own} cd -- "$__oc_w";{again};OLDPWD=$__oc_o;__oc_w='

    def _there(self, folder: str) -> str:
        """Go to a directory, and be there: a function of the user's may do anything else."""
        if not self.has_conditions:
            return f"{self.own} cd -- {shlex.quote(folder)}"
        target, there = reached(folder)
        return f"{{ {self.own} cd -- {target} && {there};}}"

    def _sure(self, order: Order, export: str) -> str:
        """Refuse a text that needs a builtin which nobody can reach: it would run elsewhere, or not at all."""
        if not self.checked or not (order.env or order.cwd):
            return ""
        tell = f"{{ {self._tell(order, 'D', str(MISSING_FOLDER))};}} 2>/dev/null"
        say = f'(\\unset -f command printf;\\eval \'\\command printf "%s\\\\n" "{_SHADOWED}"\') >&2'
        refuse = f"{say};{tell};__oc_s={MISSING_FOLDER};{export}{_RETURN}"
        probe = f"{{ {self._probe(order)};}} 2>/dev/null"
        return f"{probe}\nif __oc_f {order.exec_id} >/dev/null 2>&1;then :;else {refuse};fi\n"

    def _probe(self, order: Order) -> str:
        return _PROBE.replace("TOKEN", order.exec_id)

    def _tell(self, order: Order, kind: str, *args: str) -> str:
        """Make a mark, whatever functions there are."""
        emit = f'{self.emit} "{_mark(order, kind, *args)}"'
        if not self.checked:
            return f"{emit} >>/dev/tty"
        apart = f"(\\unset -f command print printf;\\eval '{emit}')"
        return (
            f"{self._probe(order)};if __oc_f {order.exec_id} >/dev/null 2>&1;"
            f"then {emit} >>/dev/tty;else {apart} >>/dev/tty;fi"
        )

    def _begin(self, order: Order) -> str:
        """Before the command: not twice, back from where an interrupted one left us, the mark in the prompt, and B."""
        once = f'case ${{__oc_l-}} in {order.exec_id}) \\return "$__oc_s";;esac;__oc_l={order.exec_id}'
        heal = f"\\. {shlex.quote(f'{order.folder}/heal')}"
        steps = [
            f'__oc_q= __oc_e=;__oc_c(){{ {self._tell(order, *start_words(order))};\\return "$__oc_s";}}',
            f'case ${{__oc_w:+.$PWD}} in ".${{__oc_d-}}") {self._back};;esac',
            f'case ${{PS1-}} in *";{order.nonce};P;"*);;*) {heal};;esac;case . in .);;esac',  # mksh keeps a match
            self._tell(order, "B"),
        ]
        if not self.traces_all:  # what is there now is the last word of the line that was typed
            steps.insert(0, f"case $__oc_r in */{TAG}*);;*) __oc_u=$__oc_r;;esac")
        if self.traces_all:  # the status of a traced command, unless others were run since
            steps.insert(0, 'case ${__oc_k-} in "${__oc_n-}") __oc_s=${__oc_e:-$__oc_s};;esac')
            steps.insert(0, 'case ${__oc_k-} in "${__oc_n-}");;*) __oc_u=;;esac')
            steps.insert(2, "__oc_n=$((${__oc_k:-0}+1))")
        if "a" in order.flags:
            steps[:0] = _UNEXPORTED
        first = "" if self.typed_status else "__oc_s=$?;" if self.traces_all else "__oc_s=$? __oc_r=${_-};"
        return f"{first}{{ {once};}} 2>/dev/null\n{{ {';'.join(steps)};}} 2>/dev/null\n"

    def _heal(self, nonce: str) -> str:
        told = f"{ESC}]6973;{nonce};P;$((__oc_k=${{__oc_k:-0}}+1));$?;$-;${{__oc_e-}};${{__oc_l-}}{BEL}"
        if not self.zero_width:
            return f"{_DEFAULTS}PS1='{told}'\"$PS1\"\n"
        return f"""\
{_DEFAULTS}case $PS1 in
?'\r'*) __oc_r=${{PS1%"${{PS1#?}}"}}; PS1=${{PS1#??}};;
*) __oc_r='\x01';;
esac
PS1="$__oc_r\r$__oc_r"'{told}'"$__oc_r$PS1"
"""

    def _own_history(self, folder: str) -> str:
        """No line can be left out of its history, so what is typed here goes to a copy of the user's."""
        if not self.history:
            return ""
        copy = shlex.quote(f"{folder}/history")
        default = f": ${{HISTFILE={self.history}}}\n" if self.history != "-" else ""
        take = f'(umask 077; \\command cat "$HISTFILE" >{copy}) 2>/dev/null || :; HISTFILE={copy}'
        return f'{default}if [ -n "${{HISTFILE-}}" ]; then {take}; fi\n'


def _mark(order: Order, kind: str, *args: str) -> str:
    """With escapes in place of control characters: a shell that shows what it reads must make no mark by it."""
    return f"\\033]6973;{order.nonce};{';'.join([kind, order.exec_id, *args])}\\007"


DASH = Posix(name="dash", emit="\\command printf", checked=True, has_conditions=False, edits_lines=False)
BUSYBOX = Posix(
    name="busybox",
    emit="\\command printf",
    checked=True,
    has_conditions=False,
    history="$HOME/.ash_history",
    asks_at_prompt=True,
)
KSH93 = Posix(
    name="ksh93",
    emit="\\command print -n --",
    checked=True,
    file="~/.kshrc",
    history="$HOME/.sh_history",
    newline_on_interrupt=Newline.NEVER,
    typed_status=True,
    traces_all=True,
    zero_width=True,
    lead_bytes=3,  # it shows the delimiters, and mksh does not
    signals_from=256,
)
MKSH = Posix(
    name="mksh",
    emit="\\builtin print -n --",
    own="\\builtin",
    file="~/.mkshrc",
    history="-",
    traces_all=True,
    zero_width=True,
)

"""The text that makes a bash tell its prompts, and run one command between marks. Pure.

A command's file is sourced once, by the typed line itself, and nothing is defined in the shell: the marks of its
start stand on the text's first line, that of its end is its last line, and what they need to know is written
into files. The prompt hook, two parts of PROMPT_COMMAND, is all that is to be seen there.

A line that should come twice, because a mover died after it was typed, runs its command once: by then its file
is empty.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from orchctl.shell import options as shell_options
from orchctl.shell.base import (
    MISSING_FOLDER,
    NEEDS_LAST_WORD,
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
    restored_pipe,
    set_late,
    start_words,
    typed_path,
)
from orchctl.shell.marks import MOST_STATUSES

_PRINT = "\\builtin printf"
# Each argument of `printf` that is left is one more status; the last is there twice, and so known to be the last.
_LIST = " ".join(["%s"] * (MOST_STATUSES + 2))
_SEEN = f'"${{PIPESTATUS[@]:0:{MOST_STATUSES + 1}}}" "$?"'
# Here the shell would show the line that makes the end mark.
_SHOWS_LINES = re.compile(r"\bset\s+-\w*v|\bverbose\b")
# Here it would trace it, but not in a subshell.
_TRACES = re.compile(r"\bDEBUG\b|\bfunctrace\b|\bset\s+-\w*T")
# A function that gives a status back, and is gone then: no process is needed for it, and no variable.
_GIVE = "__oc_r(){ \\builtin unset -f __oc_r;\\builtin return"
# What a plain text may have and not parse all the same.
_CLOSES = re.compile(r"(?:^|[;\n])\s*;|\b(?:done|fi|esac)\b")


class Bash:
    """bash 4.1 and newer; called sh, it stays in posix mode."""

    name = "bash"
    asks_at_prompt = False
    newline_on_interrupt = Newline.AT_PROMPT
    edits_lines = True
    lead_bytes = 0

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """One file that the shell is started with, and one that puts the prompt marks in their place."""
        own, late = _own(command), shell_options.of(self.name, command).late
        rc = f"{own}\\. {shlex.quote(f'{folder}/heal')} 0\n{set_late(late)}"
        return {"rc": rc, **self.kept_files(nonce, folder)}

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """What commands source besides their own files."""
        return {"heal": _heal(nonce)}

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """A login shell is told so by its name; sh reads its profile through our file, which it would else forget.

        In posix mode it reads no file but the one that ENV names, not even those that every bash of a system reads.
        """
        options = shell_options.of(self.name, command)
        if _is_sh(command):
            posix = ["--posix"] if options.posix else []
            return [program(command), *posix, *options.words, "-i"]
        name = "-bash" if is_login(command) else command[0]
        start = ["--posix"] if _by_env(command) else ["--rcfile", f"{folder}/rc"]
        return [name, *start, *options.words, "-i"]

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """In posix mode bash is pointed to a start-up file by ENV; a login shell then leaves that mode."""
        return pointed_by_env(f"{folder}/rc", env) if _by_env(command) else dict(env)

    def quote_argv(self, words: Sequence[str]) -> str:
        """The first word in quotes, so that it is a command and nothing else."""
        return " ".join([always_quoted(words[0]), *map(shlex.quote, words[1:])])

    def needs_parsing(self, text: str, flags: str) -> bool:
        """The end mark is the text's own last line, if it can be."""
        return not plainly_complete(text) or _CLOSES.search(text) is not None

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """The shell that only reads a file."""
        return [program(command), "-n", path]

    def one_command(self, order: Order) -> Files:
        """The text is sourced by the typed line, or where it needs more than that by a file that is.

        A text that is complete gets the end mark as its own last line. Sourcing it then fails in no case, so that
        neither an ERR trap nor `set -e` acts twice on the command's failure.
        """
        last = _last(order)
        if order.complete and order.cwd is None and not order.env and not order.apart and order.stdin == "/dev/null":
            return Files(_first(order, begin=True) + _text(order), "", last)
        return Files(_nested(order), _first(order, begin=False) + _text(order), last)

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """With a backslash, so that the dot is no alias. The second half ends it, and gives the status back."""
        stdin = "" if own_stdin else " </dev/null"
        last = f"{{ \\. {typed_path(f'{folder}/b{exec_id}')} 0&&:;}} 2>/dev/null"
        return f" \\. {typed_path(f'{folder}/{TAG}{exec_id}')}{stdin};{last}"

    def exit_code(self, status: int) -> int:
        """A byte."""
        return status & 255


def _is_sh(command: Sequence[str]) -> bool:
    return program(command).rpartition("/")[2] == "sh"


def _by_env(command: Sequence[str]) -> bool:
    """Whether it finds our file by ENV: as sh, in posix mode, and where it must find no other."""
    options = shell_options.of(Bash.name, command)
    return _is_sh(command) or is_login(command) or options.posix or options.no_rc


def _own(command: Sequence[str]) -> str:
    """What of the user's files is run first; those that options name are traced, if the shell is to trace."""
    options, login = shell_options.of(Bash.name, command), is_login(command)
    if _is_sh(command) or options.posix:
        return own_files(login=login and not options.posix and not options.no_profile)
    early = f"set -{options.late}\n" if options.late else ""
    later = "".join(f"{{ set +{letter};}} 2>/dev/null\n" for letter in options.late)
    if login:
        return _LEAVE_POSIX + ("" if options.no_profile else early + _OWN_LOGIN_FILES + later)
    if options.no_rc:
        return _LEAVE_POSIX
    if options.rc_file is None:
        return early + _OWN_FILES + later
    file = shlex.quote(options.rc_file if "/" in options.rc_file else f"./{options.rc_file}")
    return early + f"if [ -r {file} ]; then . {file}; fi\n" + later


_OWN_FILES = "if [ -r ~/.bashrc ]; then . ~/.bashrc; fi\n"
_LEAVE_POSIX = """\
set +o posix; unset -v ENV POSIXLY_CORRECT
[ -z "${__OC_ENV+x}" ] || export ENV="$__OC_ENV"; unset -v __OC_ENV
case ${HISTFILE-} in */.sh_history) HISTFILE=$HOME/.bash_history ;; esac
"""
_OWN_LOGIN_FILES = """\
if [ -r /etc/profile ]; then . /etc/profile; fi
if [ -r ~/.bash_profile ]; then . ~/.bash_profile
elif [ -r ~/.bash_login ]; then . ~/.bash_login
elif [ -r ~/.profile ]; then . ~/.profile; fi
"""


# Whether PROMPT_COMMAND may be a list, of which each part sees the status of the command.
HAS_LIST = "BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501"


def _heal(nonce: str) -> str:
    """After a command, with its status: back where it was started, and the prompt marks in place; then that status.

    One that was interrupted may have left its directory by itself.

    The first part of PROMPT_COMMAND tells where the prompt begins and the last one that it is about to be shown. The
    clock numbers them: it needs no variable. The function is there for a moment only.
    """
    clock = '"${EPOCHREALTIME//[!0-9]}"'
    count = '"$((__oc_k=${__oc_k:-0}+1))"'  # before bash 5.0
    begins = f"{_PRINT} '\\e]6973;{nonce};A;;%s;%s\\a' CLOCK \"$?\" >>/dev/tty"
    first = f'{{ {begins};{_GIVE} "$1";}};__oc_r "${{_//[!0-9]}}"&&:;}} 2>/dev/null;'
    last = (
        f'{{ {_PRINT} \'\\e]6973;{nonce};P;%s;%s;%s;;;{_LIST}\\a\' CLOCK "$?" "$-" {_SEEN} >>/dev/tty||:;}} 2>/dev/null'
    )
    # one string, of which the last part does not see the status of the command
    kept = first.replace("CLOCK", count).replace("{ ", "{ __oc_x=$?;", 1).replace('"$?"', '"$__oc_x"')
    told = f'{{ {_PRINT} \'\\e]6973;{nonce};P;%s;%s;%s\\a\' {count} "$__oc_x" "$-" >>/dev/tty||:;}} 2>/dev/null'
    hook = "${PROMPT_COMMAND[0]-}"
    old_functions = "__oc_a __oc_b __oc_c __oc_p __oc_y __oc_hook"
    old_variables = "__oc_k __oc_l __oc_q __oc_r __oc_s __oc_x"
    add = f"{_PRINT} -v PROMPT_COMMAND '%s\\n%s' \"{hook}\" {shlex.quote(told)}"
    return f"""\
{{
[[ ! ${{__oc_w-}} ]] || {{
  [[ ${{2-}} && $PWD != "${{__oc_d-}}" ]] || {{ \\builtin cd -- "$__oc_w"; OLDPWD=$__oc_o; }}
  \\builtin unset -v __oc_w __oc_o __oc_d
}}
[[ ${{HISTIGNORE-}} == *{TAG}* ]] || {_PRINT} -v HISTIGNORE %s "${{HISTIGNORE:+$HISTIGNORE:}}*{TAG}*"
[[ {hook} == *"{nonce};A;"* && ${{PROMPT_COMMAND[-1]}} == *"{nonce};P;"* && ! ${{__oc_l-}} ]] || {{
__oc_h() {{
  \\builtin local i last=0 a={shlex.quote(first.replace("CLOCK", clock))}
  if (({HAS_LIST})); then
    for i in "${{!PROMPT_COMMAND[@]}}"; do
      last=$i
      [[ ${{PROMPT_COMMAND[i]}} != *@("{nonce};P;"|__oc_p)* ]] || \\builtin unset -v "PROMPT_COMMAND[i]"
    done
    {_PRINT} -v "PROMPT_COMMAND[last+1]" %s {shlex.quote(last.replace("CLOCK", clock))}
  else
    a={shlex.quote(kept)}
    [[ {hook} == *"{nonce};P;"* ]] || {add}
  fi
  i={hook}
  [[ $i == *"{nonce};A;"* ]] || {_PRINT} -v 'PROMPT_COMMAND[0]' %s "$a${{i//'{{ __oc_a;}} 2>/dev/null;'/}}"
}}
__oc_h
\\builtin unset -f __oc_h {old_functions}
! (({HAS_LIST})) || \\builtin unset -v {old_variables}
}}
}} 2>/dev/null
\\builtin return "${{1:-0}}"
"""


def _mark(order: Order, kind: str, *args: str) -> str:
    """As a format of `printf`."""
    return f"\\e]6973;{order.nonce};{';'.join([kind, order.exec_id, *args])}\\a"


def _path(order: Order, prefix: str) -> str:
    return shlex.quote(f"{order.folder}/{prefix}{order.exec_id}")


def _keep(order: Order) -> str:
    """First of all, while a status that nobody knows is still there."""
    if order.status is None:
        return f"\\builtin eval '{_GIVE} '\"$?\"';}}';"
    return f"{_GIVE} {order.status};}};" if order.status else ""


def _once(order: Order) -> str:
    """Not twice, and not where an interrupted one left us."""
    back = f'\\builtin test -z "${{__oc_w-}}"||\\. {shlex.quote(f"{order.folder}/heal")} 0 left;'
    return f"{_keep(order)}{back}\\builtin : >|{_path(order, TAG)};"


def _first(order: Order, *, begin: bool) -> str:
    """Before the text, on its first line: marks, and then everything that a text can see is as it was before."""
    marks = (_mark(order, "B") if begin else "") + _mark(order, *start_words(order))
    return f"{{ {_once(order) if begin else ''}{_PRINT} '{marks}' >>/dev/tty;{_statuses(order)}}} 2>/dev/null;"


def _statuses(order: Order) -> str:
    """Give `$?`, PIPESTATUS and `$_` back; what fails here is no failure to a trap or to `set -e`."""
    word = f" {always_quoted(order.last_word)}" if NEEDS_LAST_WORD.search(order.text) else ""
    single = f"__oc_r{word}&&:;" if order.status != 0 else f"\\builtin :{word};" if word else ""
    return single + restored_pipe(order)


def _text(order: Order) -> str:
    """With the mark of its end as its last line, if that is possible; nothing is added else."""
    if not order.complete or "v" in order.flags or _SHOWS_LINES.search(order.text):
        return order.text
    into = f">|{_path(order, 'b')}"
    if "T" in order.flags or _TRACES.search(order.text):  # traps change `$_`
        tell = f"{_PRINT} '{_mark(order, 'D', '%s', '', '', _LIST)}' \"${{__oc_s[@]}}\" >>/dev/tty"
        end = f'(__oc_s=("$?" {_SEEN});{tell};{_give(order)}"$__oc_s" {into}) 2>/dev/null'
    else:
        word = '"${_+${#_}}" "${_//[!A-Za-z0-9_.,:\\/@%+=-]}"'
        tell = f"{_PRINT} '{_mark(order, 'D', '%s', '%s', '%.40s', _LIST)}' \"$?\" {word} {_SEEN} >>/dev/tty"
        end = f'{{ {tell};{_give(order)}"${{_//[!0-9]}}" {into};}} 2>/dev/null'
    blank = "\n" if order.text.endswith("\\") else ""
    return f"{order.text}{blank}\n{end}\n"


def _give(order: Order) -> str:
    """Put into the file that the second half of the typed line sources: the status that comes next is to be given."""
    source = f"\\. {shlex.quote(f'{order.folder}/heal')} "
    return f"{_PRINT} %s {always_quoted(source)}"


def _last(order: Order) -> str:
    """What the second half of the typed line sources: marks, in case that the text did not come to its own end."""
    begin = f"[[ ! -s {_path(order, TAG)} ]]||{_PRINT} '{_mark(order, 'B')}' >>/dev/tty"  # the shell could not parse it
    tell = f"{begin};{_PRINT} '{_mark(order, 'D', '%s', '', '', _LIST)}' \"$@\" >>/dev/tty"
    give = f'\\. {shlex.quote(f"{order.folder}/heal")} "$1"'
    if not order.complete and order.cwd is None:  # bash 5.2 may crash if it reads much after an open substitution
        give = '\\builtin return "$1"'
    return f'\\builtin set -- "$?" {_SEEN};{tell};{give}\n'


# Under `set -e` a status other than 0 would end the shell.
_RETURN = f'\\builtin test "${{-//[!e]}}" && \\builtin return 0;\\builtin return {MISSING_FOLDER}'


def _nested(order: Order) -> str:
    """Sourced by the typed line, it sources the text in turn: with variables, a directory or an input of its own."""
    redirect = f" <{shlex.quote(order.stdin)}" if order.stdin not in (None, "/dev/null") else ""
    if order.apart:
        redirect += f" >>{shlex.quote(order.apart[0])} 2>>{shlex.quote(order.apart[1])}"
    assignments = "".join(f"{name}={shlex.quote(value)} " for name, value in order.env.items())
    # in posix mode what is assigned before a special builtin stays, unless it is run by `command`
    dot = "\\builtin command ." if assignments else "\\."
    run = f"{assignments}{dot} {_path(order, 'c')}{redirect}\n"
    if order.cwd is not None:  # the way back is in the file that ends it
        told = f"{_PRINT} '{_mark(order, 'D', str(MISSING_FOLDER))}' >>/dev/tty;{_give(order)}{MISSING_FOLDER}"
        unexported = "\\builtin export -n __oc_w __oc_o __oc_d;" if "a" in order.flags else ""
        missing = f"{{ {told} >|{_path(order, 'b')};}} 2>/dev/null"
        target, there = reached(order.cwd)
        run = (
            f"__oc_w=$PWD __oc_o=${{OLDPWD-}}\n"
            f"if \\builtin cd -- {target} && {there};then __oc_d=$PWD;{unexported}{run}"
            f"else {missing};\\builtin unset -v __oc_w __oc_o;{_RETURN};fi\n"
        )
    return f"{{ {_once(order)}{_PRINT} '{_mark(order, 'B')}' >>/dev/tty;}} 2>/dev/null\n{run}"

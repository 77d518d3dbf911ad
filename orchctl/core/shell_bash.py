"""The text that makes a bash tell its prompts, and run one command between marks. Pure.

A line that should come twice, because a mover died after it was typed, runs its command once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from orchctl.core.shell import (
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
    typed_path,
)

# First in PROMPT_COMMAND while a command runs, so that what prompts print is not taken for its output.
_FIRST = "{ __oc_a;} 2>/dev/null;"
_EMIT = "\\builtin printf %s"
# Here the end mark comes from the wrapper alone: the text would show, trace or swallow a line of ours.
_OWN_END = re.compile(r"<<|\bDEBUG\b|\bset\s+-\w*v|\bverbose\b|\bfunctrace\b|\bset\s+-\w*T")


class Bash:
    """bash 4.1 and newer; called sh, it stays in posix mode."""

    name = "bash"
    asks_at_prompt = False
    newline_on_interrupt = Newline.AT_PROMPT
    edits_lines = True
    lead_bytes = 0

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """One file that the shell is started with, and one that puts the prompt mark in its place."""
        login = is_login(command)
        own = _LEAVE_POSIX + _OWN_LOGIN_FILES if login else _OWN_FILES
        if _is_sh(command):
            own = own_files(login=login)
        history = f'HISTIGNORE="${{HISTIGNORE:+$HISTIGNORE:}}*{TAG}*"\n'
        return {"rc": own + history + f"\\. {shlex.quote(f'{folder}/heal')}\n", "heal": _heal(nonce)}

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """A login shell is told so by its name; sh reads its profile through our file, which it would else forget."""
        if _is_sh(command):
            return [program(command), "-i"]
        return ["-bash", "--posix", "-i"] if is_login(command) else [command[0], "--rcfile", f"{folder}/rc", "-i"]

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """In posix mode bash is pointed to a start-up file by ENV; a login shell then leaves that mode."""
        return pointed_by_env(f"{folder}/rc", env) if is_login(command) or _is_sh(command) else dict(env)

    def quote_argv(self, words: Sequence[str]) -> str:
        """The first word in quotes, so that it is a command and nothing else."""
        return " ".join([always_quoted(words[0]), *map(shlex.quote, words[1:])])

    def needs_parsing(self, text: str, flags: str) -> bool:
        """The end mark is the text's own last line, if it can be."""
        return not plainly_complete(text)

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """The shell that only reads a file."""
        return [program(command), "-n", path]

    def one_command(self, order: Order) -> Files:
        """A text that is complete gets the end mark as its own last line.

        Sourcing it then fails in no case, so that neither an ERR trap nor `set -e` acts twice on the
        command's failure.
        """
        return _one_command(order)

    def typed_line(self, folder: str, exec_id: str) -> str:
        """With a backslash, so that the dot is no alias."""
        return f" \\. {typed_path(f'{folder}/{TAG}{exec_id}')}"

    def exit_code(self, status: int) -> int:
        """A byte."""
        return status & 255


def _is_sh(command: Sequence[str]) -> bool:
    return program(command).rpartition("/")[2] == "sh"


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
    """Puts the prompt mark last in PROMPT_COMMAND, and keeps it there."""
    return f"""\
: ${{__oc_k:=0}}
__oc_p() {{
  {_EMIT} $'\\e'"]6973;{nonce};P;$((__oc_k=${{__oc_k:-0}}+1));$1;$-"$'\\a' >>/dev/tty
  [[ ${{PROMPT_COMMAND[0]-}} != *__oc_a* ]] || __oc_b
  if (({HAS_LIST})); then
    [[ ${{PROMPT_COMMAND[-1]-}} == *__oc_p* ]] || __oc_hook
  else
    [[ ${{PROMPT_COMMAND-}} == *__oc_p* ]] || __oc_hook
  fi
}}
__oc_y() {{ __oc_x=$?; return "$__oc_x"; }}
__oc_b() {{
  \\builtin printf -v 'PROMPT_COMMAND[0]' %s "${{PROMPT_COMMAND[0]//'{_FIRST}'/}}" &&
    [[ ${{PROMPT_COMMAND[0]}} ]] || unset -v 'PROMPT_COMMAND[0]'
}}
__oc_hook() {{
  local i
  if (({HAS_LIST})); then
    for i in "${{!PROMPT_COMMAND[@]}}"; do
      [[ ${{PROMPT_COMMAND[i]}} != *__oc_p* ]] || unset -v "PROMPT_COMMAND[i]"
    done
    PROMPT_COMMAND+=('{{ __oc_p "$?";}} 2>/dev/null')
  else
    PROMPT_COMMAND=$'{{ __oc_y;}} 2>/dev/null\\n'"${{PROMPT_COMMAND-}}"$'\\n{{ __oc_p "$__oc_x";}} 2>/dev/null'
  fi
}}
__oc_hook
"""


def _one_command(order: Order) -> Files:
    nonce, exec_id, text = order.nonce, order.exec_id, order.text
    stdin, apart, cwd = order.stdin, order.apart, order.cwd
    path = shlex.quote(order.path)
    status_mark = f"$'\\e'\"]6973;{nonce};D;{exec_id};$__oc_s\"$'\\a'"
    tell = f"{_EMIT} {status_mark} >>/dev/tty"
    end = f"{{ __oc_s=$?;{tell};__oc_q=1;}} 2>/dev/null"
    redirect = (f" <{shlex.quote(stdin)}" if stdin is not None else "") + (
        f" >>{shlex.quote(apart[0])} 2>>{shlex.quote(apart[1])}" if apart else ""
    )
    assignments = "".join(f"{name}={shlex.quote(value)} " for name, value in order.env.items())
    # All on one line, which bash has read, and under `set -v` shown, before the command starts. No reserved word but
    # braces, because words can be aliases. A DEBUG trap that the text sets is not run for a subshell.
    last = f'{{ __oc_r=$?;\\builtin test "${{__oc_q-}}" || {{ __oc_s=$__oc_r;{tell};}};}} 2>/dev/null'
    if "DEBUG" in text:
        last = f'(__oc_s=$?;{tell};\\builtin exit "$__oc_s") 2>/dev/null;__oc_s=$?'
    body = f"{assignments}\\. {path}{redirect};{last}"
    if cwd is not None:
        missing = f"{{ {_EMIT} $'\\e]6973;{nonce};D;{exec_id};{MISSING_FOLDER}\\a' >>/dev/tty;}} 2>/dev/null"
        body = (
            f"__oc_w=$PWD __oc_o=${{OLDPWD-}};\\builtin cd -- {shlex.quote(cwd)} || "
            f"{{ {missing};__oc_w= __oc_s={MISSING_FOLDER};{_RETURN};}};__oc_d=$PWD;{body};{_BACK}"
        )
    tail = f"\n{end}\n" if order.complete and not _OWN_END.search(text) else ""
    return Files(_begin(order) + f"{body};{_RETURN}\n", PREFIX + text + "\n" + tail)


# Under `set -e` a status other than 0 would end the shell a second time.
_RETURN = '\\builtin test "${-//[!e]}" && \\builtin return 0;\\builtin return "$__oc_s"'
_BACK = '\\builtin cd -- "$__oc_w";OLDPWD=$__oc_o __oc_w='


def _begin(order: Order) -> str:
    """Before the command: not twice, back from where an interrupted one left us, the hook in place, and B.

    Where the shell exports every variable, ours are taken back.
    """
    nonce, exec_id = order.nonce, order.exec_id
    hook = '"${PROMPT_COMMAND[*]-}" != "${PROMPT_COMMAND[*]/__oc_p/}" && \\builtin declare -F __oc_p >/dev/null'
    ours = "__oc_d __oc_k __oc_l __oc_o __oc_q __oc_r __oc_s __oc_w __oc_x"
    functions = "__oc_a __oc_b __oc_c __oc_p __oc_y __oc_hook"
    first = f"{_FIRST}${{PROMPT_COMMAND[0]-}}"
    steps = [
        f"__oc_q=;__oc_c(){{ {_EMIT} $'\\e]6973;{nonce};C;{exec_id}\\a' >>/dev/tty;\\builtin return \"$__oc_s\";}}",
        f"__oc_a(){{ \\builtin set -- $?;{_EMIT} $'\\e]6973;{nonce};A;{exec_id}\\a' >>/dev/tty;\\builtin return $1;}}",
        f'{{ \\builtin test -z "${{__oc_w-}}" || \\builtin test "$PWD" != "${{__oc_d-}}" || {{ {_BACK};}};}}',
        f"{{ \\builtin test {hook} || \\. {shlex.quote(f'{order.folder}/heal')};}}",
        f"\\builtin export -n {ours};\\builtin export -nf {functions}" if "a" in order.flags else ":",
        f"{{ \\builtin printf -v 'PROMPT_COMMAND[0]' %s \"{first}\" || :;}}",
        f"{_EMIT} $'\\e]6973;{nonce};B;{exec_id}\\a' >>/dev/tty",
    ]
    once = f'\\builtin test "${{__oc_l-}}" != {exec_id} || \\builtin return "$__oc_s";__oc_l={exec_id}'
    return f"__oc_s=$?;{{ {once};}} 2>/dev/null\n{{ {';'.join(steps)};}} 2>/dev/null\n"

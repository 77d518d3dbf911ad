"""The text that makes a bash tell its prompts, and run one command between marks. Pure.

A line that should come twice, because a mover died after it was typed, runs its command once.

A command's text is never typed: it lies in a file that is sourced, so here-documents, comments, open
quotes and syntax errors cannot hang the line, and its length does not matter. Marks are written to
/dev/tty by path, so that no redirection hides them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TAG = "x6973-"  # in the name of every file that is typed about; keeps those lines out of the history
PREFIX = "{ __oc_c&&:;} 2>/dev/null;"
# First in PROMPT_COMMAND while a command runs, so that what prompts print is not taken for its output.
_FIRST = "{ __oc_a;} 2>/dev/null;"
_EMIT = "\\builtin printf %s"
# Words and signs without which a text is complete by itself, whatever it is.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \n;-]*\Z")
_OPENERS = re.compile(r"\b(?:for|while|until|if|then|else|elif|do|case|in|select|function|coproc|time)\b")
# Here the end mark comes from the wrapper alone: the text would show, trace or swallow a line of ours.
_OWN_END = re.compile(r"<<|\bDEBUG\b|\bset\s+-\w*v|\bverbose\b|\bfunctrace\b|\bset\s+-\w*T")


def needs_parsing(text: str) -> bool:
    """Whether only bash itself can tell that a further line would be a new command."""
    return not _PLAIN.match(text) or _OPENERS.search(text) is not None


@dataclass(frozen=True, slots=True)
class Files:
    """The file that is sourced, and the command's own that it sources in turn."""

    wrapper: str
    command: str


def start_up(nonce: str, folder: str, *, login: bool) -> dict[str, str]:
    """The private start-up files: the user's own run first."""
    own = _LOGIN if login else "if [ -r ~/.bashrc ]; then . ~/.bashrc; fi\n"
    history = f'HISTIGNORE="${{HISTIGNORE:+$HISTIGNORE:}}*{TAG}*"\n'
    return {"rc": own + history + f"\\. {shlex.quote(f'{folder}/heal')}\n", "heal": _heal(nonce)}


def argv(shell: str, folder: str, *, login: bool) -> list[str]:
    """How the shell is started with them; a login shell is told so by its name."""
    return ["-bash", "--posix", "-i"] if login else [shell, "--rcfile", f"{folder}/rc", "-i"]


def environment(folder: str, env: Mapping[str, str], *, login: bool) -> dict[str, str]:
    """A login bash is pointed to them by ENV, in posix mode, which the file then leaves."""
    if not login:
        return dict(env)
    kept = {"__OC_ENV": env["ENV"]} if "ENV" in env else {}
    return {**env, **kept, "ENV": re.sub(r'([\\$`"])', r"\\\1", f"{folder}/rc")}  # bash expands what it finds there


_LOGIN = """\
set +o posix; unset -v ENV POSIXLY_CORRECT
[ -z "${__OC_ENV+x}" ] || export ENV="$__OC_ENV"; unset -v __OC_ENV
case ${HISTFILE-} in */.sh_history) HISTFILE=$HOME/.bash_history ;; esac
if [ -r /etc/profile ]; then . /etc/profile; fi
if [ -r ~/.bash_profile ]; then . ~/.bash_profile
elif [ -r ~/.bash_login ]; then . ~/.bash_login
elif [ -r ~/.profile ]; then . ~/.profile; fi
"""


def _heal(nonce: str) -> str:
    """Puts the prompt mark last in PROMPT_COMMAND, and keeps it there."""
    return f"""\
: ${{__oc_k:=0}}
__oc_p() {{
  {_EMIT} $'\\e'"]6973;{nonce};P;$((__oc_k=${{__oc_k:-0}}+1));$1;$-"$'\\a' >>/dev/tty
  [[ ${{PROMPT_COMMAND[0]-}} != *__oc_a* ]] || __oc_b
  [[ ${{PROMPT_COMMAND[-1]-}} == *__oc_p* ]] || __oc_hook
}}
__oc_b() {{
  \\builtin printf -v 'PROMPT_COMMAND[0]' %s "${{PROMPT_COMMAND[0]//'{_FIRST}'/}}" &&
    [[ ${{PROMPT_COMMAND[0]}} ]] || unset -v 'PROMPT_COMMAND[0]'
}}
__oc_hook() {{
  local i
  for i in "${{!PROMPT_COMMAND[@]}}"; do
    [[ ${{PROMPT_COMMAND[i]}} != *__oc_p* ]] || unset -v "PROMPT_COMMAND[i]"
  done
  PROMPT_COMMAND+=('{{ __oc_p "$?";}} 2>/dev/null')
}}
__oc_hook
"""


def quote_argv(words: Sequence[str]) -> str:
    """Shell text that runs these words unchanged: the first is a command, no alias, assignment or reserved word."""
    first = "'" + words[0].replace("'", "'\\''") + "'"
    return " ".join([first, *map(shlex.quote, words[1:])])


def one_command(
    nonce: str,
    folder: str,
    exec_id: str,
    text: str,
    *,
    stdin: str | None,
    env: Mapping[str, str],
    cwd: str | None,
    apart: tuple[str, str] | None = None,
    complete: bool = True,
    exported: bool = False,
) -> Files:
    """The files for one command; `stdin` None leaves it the terminal, `apart` splits its output.

    A text that is `complete` gets the end mark as its own last line: sourcing it then fails in no
    case, so that neither an ERR trap nor `set -e` acts twice on the command's failure. `exported`:
    the shell exports every variable, and ours are taken back.
    """
    path = shlex.quote(f"{folder}/c{exec_id}")
    status_mark = f"$'\\e'\"]6973;{nonce};D;{exec_id};$__oc_s\"$'\\a'"
    tell = f"{_EMIT} {status_mark} >>/dev/tty"
    end = f"{{ __oc_s=$?;{tell};__oc_q=1;}} 2>/dev/null"
    redirect = (f" <{shlex.quote(stdin)}" if stdin is not None else "") + (
        f" >>{shlex.quote(apart[0])} 2>>{shlex.quote(apart[1])}" if apart else ""
    )
    assignments = "".join(f"{name}={shlex.quote(value)} " for name, value in env.items())
    # All on one line, which bash has read, and under `set -v` shown, before the command starts. No reserved word but
    # braces, because words can be aliases. A DEBUG trap that the text sets is not run for a subshell.
    last = f'{{ __oc_r=$?;\\builtin test "${{__oc_q-}}" || {{ __oc_s=$__oc_r;{tell};}};}} 2>/dev/null'
    if "DEBUG" in text:
        last = f'(__oc_s=$?;{tell};\\builtin exit "$__oc_s") 2>/dev/null;__oc_s=$?'
    body = f"{assignments}\\. {path}{redirect};{last}"
    if cwd is not None:
        missing = f"{{ {_EMIT} $'\\e]6973;{nonce};D;{exec_id};125\\a' >>/dev/tty;}} 2>/dev/null"
        body = (
            f"__oc_w=$PWD __oc_o=${{OLDPWD-}};\\builtin cd -- {shlex.quote(cwd)} || "
            f"{{ {missing};__oc_w= __oc_s=125;{_RETURN};}};__oc_d=$PWD;{body};{_BACK}"
        )
    tail = f"\n{end}\n" if complete and not _OWN_END.search(text) else ""
    return Files(_begin(nonce, folder, exec_id, exported=exported) + f"{body};{_RETURN}\n", PREFIX + text + "\n" + tail)


# Under `set -e` a status other than 0 would end the shell a second time.
_RETURN = '\\builtin test "${-//[!e]}" && \\builtin return 0;\\builtin return "$__oc_s"'
_BACK = '\\builtin cd -- "$__oc_w";OLDPWD=$__oc_o __oc_w='


def _begin(nonce: str, folder: str, exec_id: str, *, exported: bool) -> str:
    """Before the command: not twice, back from where an interrupted one left us, the hook in place, and B."""
    hook = '"${PROMPT_COMMAND[*]-}" != "${PROMPT_COMMAND[*]/__oc_p/}" && \\builtin declare -F __oc_p >/dev/null'
    ours = "__oc_d __oc_k __oc_l __oc_o __oc_q __oc_r __oc_s __oc_w"
    functions = "__oc_a __oc_b __oc_c __oc_p __oc_hook"
    first = f"{_FIRST}${{PROMPT_COMMAND[0]-}}"
    steps = [
        f"__oc_q=;__oc_c(){{ {_EMIT} $'\\e]6973;{nonce};C;{exec_id}\\a' >>/dev/tty;\\builtin return \"$__oc_s\";}}",
        f"__oc_a(){{ \\builtin set -- $?;{_EMIT} $'\\e]6973;{nonce};A;{exec_id}\\a' >>/dev/tty;\\builtin return $1;}}",
        f'{{ \\builtin test -z "${{__oc_w-}}" || \\builtin test "$PWD" != "${{__oc_d-}}" || {{ {_BACK};}};}}',
        f"{{ \\builtin test {hook} || \\. {shlex.quote(f'{folder}/heal')};}}",
        f"\\builtin export -n {ours};\\builtin export -nf {functions}" if exported else ":",
        f"{{ \\builtin printf -v 'PROMPT_COMMAND[0]' %s \"{first}\" || :;}}",
        f"{_EMIT} $'\\e]6973;{nonce};B;{exec_id}\\a' >>/dev/tty",
    ]
    once = f'\\builtin test "${{__oc_l-}}" != {exec_id} || \\builtin return "$__oc_s";__oc_l={exec_id}'
    return f"__oc_s=$?;{{ {once};}} 2>/dev/null\n{{ {';'.join(steps)};}} 2>/dev/null\n"


def typed_line(folder: str, exec_id: str) -> str:
    """What is typed: short whatever the command is, and with a space in front."""
    return f" \\. {shlex.quote(f'{folder}/{TAG}{exec_id}')}"

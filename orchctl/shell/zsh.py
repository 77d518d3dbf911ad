"""The text that makes a zsh tell its prompts, and run one command between marks. Pure.

zsh looks for its start-up files in one directory. It is pointed to ours, and each of them puts the user's
directory back, runs the user's file of that name, and takes note of the directory that this one may have set.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from orchctl.shell import options as shell_options
from orchctl.shell.base import (
    MISSING_FOLDER,
    PREFIX,
    TAG,
    Files,
    Newline,
    Order,
    always_quoted,
    is_login,
    plainly_complete,
    program,
    reached,
    restored_pipe,
    set_late,
    start_words,
    typed_path,
)
from orchctl.shell.marks import MOST_STATUSES

_EMIT = "\\builtin print -rn --"
_HIDDEN = "(( ${+functions[builtin]} ))"  # the user has a function named `builtin`
_GIVE = f'{_HIDDEN} && \\return "$__oc_s";\\builtin return "$__oc_s"'
# Under `set -e` a status other than 0 would end the shell.
_RETURN = f"[[ $- != *e* ]] || __oc_s=0\n{_GIVE}\n"


# Here the shell would show the line that makes the end mark.
_SHOWS_LINES = re.compile(r"\bset\s+-\w*v|verbose", re.IGNORECASE)
_TRACES = re.compile(r"xtrace|\bset\s+-\w*x", re.IGNORECASE)
# What names jobs by their numbers; and words in quotes, which are no commands.
_JOB_COMMANDS = re.compile(
    r"(?:^|[;&|\n({])\s*(?:(?:builtin\s+|command\s+)?(?:kill|fg|bg|wait|disown|jobs)\b[^;&|\n]*|%\d+(?![^\s;&|)}]))"
)
_JOBS = re.compile(r"(?<![^\s;&|({])%(\d{1,5})(?![^\s;&|)}])")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_SHADOWED = "orchctl: a function named builtin hides the builtin; nothing was run"
_FAILING_PIPES = "|"  # beside the letters of options: this one has none


class Zsh:
    """zsh 5.0 and newer."""

    name = "zsh"
    asks_at_prompt = False
    newline_on_interrupt = Newline.AFTER_PROGRAM
    edits_lines = True
    lead_bytes = 0

    def start_up(self, nonce: str, folder: str, command: Sequence[str]) -> dict[str, str]:
        """Four files, of which the last that zsh reads puts the prompt mark in its place."""
        options = shell_options.of(self.name, command)
        last = _restore() + f"unset __oc_z\n{_history_file(folder)}\\. {shlex.quote(f'{folder}/heal')}\n"
        last += ("setopt no_rcs global_rcs\n" if options.no_rc else "") + set_late(options.late)
        own = (lambda _: _restore()) if options.no_rc else _own
        keep = "if (( ${+ZDOTDIR} )); then typeset -g __oc_z=$ZDOTDIR; else unset __oc_z; fi\n"
        again = f"{keep}ZDOTDIR={shlex.quote(folder)}\n"
        return {
            ".zshenv": "(( ! ${+__OC_ZDOTDIR} )) || typeset -g __oc_z=$__OC_ZDOTDIR; unset __OC_ZDOTDIR\n"
            + own(".zshenv")
            + again
            # loaded now, it finds start-up files, and so never shows its menu for new users
            + "zmodload zsh/newuser 2>/dev/null\n",
            ".zprofile": own(".zprofile") + again,
            ".zshrc": _history_file(folder) + own(".zshrc") + f"if [[ -o login ]]; then\n{again}else\n{keep}{last}fi\n",
            ".zlogin": own(".zlogin") + keep + last,
            "heal": _heal(nonce),
        }

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """None: commands bring what they need."""
        return {}

    def argv(self, folder: str, command: Sequence[str]) -> list[str]:
        """A login shell is told so by its name; one that is to read no files reads ours alone."""
        options = shell_options.of(self.name, command)
        only_ours = ["-d"] if options.no_rc else []
        return ["-zsh" if is_login(command) else program(command), *only_ours, *options.words, "-i"]

    def environment(self, folder: str, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """The user's own directory is handed over beside ours."""
        kept = {"__OC_ZDOTDIR": env["ZDOTDIR"]} if "ZDOTDIR" in env else {}
        return {**env, **kept, "ZDOTDIR": folder}

    def quote_argv(self, words: Sequence[str]) -> str:
        """Each word in quotes: zsh expands more characters than others do, `=` first in a word among them."""
        return " ".join(map(always_quoted, words))

    def needs_parsing(self, text: str, flags: str) -> bool:
        """The end mark is the text's own last line, if it can be: only there the statuses of a pipe are to be seen."""
        return not plainly_complete(text)

    def parser(self, command: Sequence[str], path: str) -> list[str]:
        """One that makes a function of it; under `-n` a negation would be taken for a failure.

        A here-document without its end would take a further line, whatever that is.
        """
        whole = 'functions[f]="$(<$1)" && (( ${+functions[f]} ))'
        swallows = "{ functions[g]=\"$(<$1)\"$'\\n)'; } 2>/dev/null; (( ! ${+functions[g]} ))"
        return [program(command), "-fc", f'{whole} && {{ [[ "$(<$1)" != *"<<"* ]] || {{ {swallows} }} }}', "zsh", path]

    def one_command(self, order: Order) -> Files:
        """The end mark stands in an `always` block, which interrupts reach too, and which undoes them.

        It is the text's own last line as well, if that is possible: sourcing the text must not fail where a failure
        ends the shell, and the statuses of a pipe are gone afterwards. A text that does not come so far was
        stopped by an error: the status of that is 1, and only that of sourcing it is 126.
        """
        own = order.complete and "v" not in order.flags and not _SHOWS_LINES.search(order.text)
        aborted = "return" not in order.text and (own or not (order.complete or "<<" in order.text))
        stopped = "__oc_r == 126 ? 1 : __oc_r" if aborted else "__oc_r"
        status = f"__oc_s=$(( TRY_BLOCK_INTERRUPT > 0 ? 130 : {stopped} ))"
        tell = f"__oc_e=$__oc_s;{_tell(order, 'D', '$__oc_s', '', '', '$__oc_t')};__oc_q=1"
        kept = '[[ -z "${__oc_e-}" ]] || __oc_s=$__oc_e'  # it came to its end, but could not say so
        end = f'{{ __oc_r=$?;[[ -n "${{__oc_q-}}" ]] || {{ {status};{kept};__oc_t="$__oc_s .";{tell};}};}} 2>/dev/null'
        redirect = f" <{shlex.quote(order.stdin)}" if order.stdin is not None else ""
        if order.apart:
            redirect += f" >>{shlex.quote(order.apart[0])} 2>>{shlex.quote(order.apart[1])}"
        before, after = _variables(order.env)
        go, back = _folder(order)
        undo = "TRY_BLOCK_INTERRUPT=0 TRY_BLOCK_ERROR=0"
        unexported = "\\builtin typeset -g +x -m '__oc_*'\n" if "a" in order.flags else ""
        source = f"\\. {shlex.quote(order.path)}{redirect}"
        run = f"{before}{unexported}{{ {source}\n}} always {{ {end}\n{after}{back}{undo}\n}}\n"
        seen = f"${{(j: :)pipestatus[@]:0:{MOST_STATUSES + 1}}} ."
        take = f'__oc_s=$? __oc_e=$? __oc_u=$_ __oc_n=$((__oc_k+1)) __oc_t="{seen}"'
        ended = f"{take};{tell}"  # in a group the last word is forgotten, and all of it if no more files can be opened
        if "x" in order.flags or _TRACES.search(order.text):
            ended = f"{{ {take};{tell};}} 2>/dev/null"
        tail = f"\n{ended}\n" if own else ""
        pipe = restored_pipe(order, quiet="2>/dev/null", fails=_FAILING_PIPES in order.flags)
        return Files(
            _begin(order) + _sure(order) + _known_jobs(order) + go + run + _RETURN,
            PREFIX + pipe + order.text + "\n" + tail,
        )

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """With a backslash, so that the dot is no alias."""
        return f" \\. {typed_path(f'{folder}/{TAG}{exec_id}')}"

    def exit_code(self, status: int) -> int:
        """A byte, though functions may return more."""
        return status & 255


def _restore() -> str:
    return "if (( ${+__oc_z} )); then ZDOTDIR=$__oc_z; else unset ZDOTDIR; fi\n"


def _own(name: str) -> str:
    """The user's file, with the user's directory in place."""
    file = f'"${{ZDOTDIR-$HOME}}/{name}"'
    return f"{_restore()}[[ ! -r {file} ]] || . {file}\n"


def _history_file(folder: str) -> str:
    """A system's own start-up file may have derived it from our directory."""
    ours = f"{shlex.quote(folder)}/*"
    return f'[[ "${{HISTFILE-}}" != {ours} ]] || HISTFILE="${{ZDOTDIR-${{__oc_z-$HOME}}}}/${{HISTFILE:t}}"\n'


def _heal(nonce: str) -> str:
    """Puts the prompt mark last among the precmd functions, and keeps our lines out of the history."""
    return f"""\
__oc_p() {{
  local s=$? f=$- p="${{(j: :)pipestatus[@]:0:{MOST_STATUSES + 1}}} ."
  [[ ! -o pipefail ]] 2>/dev/null || f+='{_FAILING_PIPES}'
  emulate -L zsh; setopt no_xtrace
  local told="$((__oc_k=${{__oc_k:-0}}+1));$s;$f;${{__oc_e-}};${{__oc_l-}};$p"
  print -rn -- $'\\e'"]6973;{nonce};P;$told"$'\\a' >>/dev/tty
  [[ ${{precmd_functions[-1]}} == __oc_p ]] || precmd_functions=(${{precmd_functions:#__oc_p}} __oc_p)
}}
__oc_h() {{
  # under `set -e` a hook that says no would end the shell
  if [[ $1 == *{TAG}* && ! -o err_exit ]]; then return 1; fi
  return 0
}}
typeset -ga precmd_functions zshaddhistory_functions
: ${{__oc_k:=0}}
precmd_functions=(${{precmd_functions:#__oc_p}} __oc_p)
zshaddhistory_functions=(${{zshaddhistory_functions:#__oc_h}} __oc_h)
"""


def _tell(order: Order, kind: str, *args: str) -> str:
    """Make a mark, even if the user has a function named `builtin`."""
    body = ";".join([kind, order.exec_id, *args])
    emit = f"{_EMIT} $'\\e'\"]6973;{order.nonce};{body}\"$'\\a'"
    return f"! {_HIDDEN} || (\\unset 'functions[builtin]';{emit} >>/dev/tty);{_HIDDEN} || {emit} >>/dev/tty"


def _begin(order: Order) -> str:
    """Before the command: not twice, the hook in place, and B."""
    hook = '[[ "${precmd_functions[*]-}" == *__oc_p* && -n "${functions[__oc_p]-}" ]]'
    once = f'[[ "${{__oc_l-}}" != {order.exec_id} ]] || \\builtin return "$__oc_s";__oc_l={order.exec_id}'
    steps = [
        '[[ "${__oc_n-}" == "$__oc_k" ]] || __oc_u=',  # others were typed since
        f"__oc_q= __oc_e= __oc_t=;__oc_c() {{ {_tell(order, *start_words(order))};{_GIVE};}}",
        f"{{ {hook} || \\. {shlex.quote(f'{order.folder}/heal')};}}",
        _tell(order, "B"),
    ]
    return f"__oc_s=$?\n{{ {once};}} 2>/dev/null\n{{ {';'.join(steps)};}} 2>/dev/null\n"


def _variables(env: Mapping[str, str]) -> tuple[str, str]:
    """Set and export, and the way back: zsh does not export what stands before a dot."""
    before = after = ""
    for number, (name, value) in enumerate(env.items()):
        old, kind = f"__oc_v{number}", f"__oc_t{number}"
        before += (
            f"\\builtin unset {old} {kind};(( ! ${{+{name}}} )) || {{ {old}=${{{name}}} {kind}=${{(t){name}}};}}\n"
        )
        before += f"{name}={always_quoted(value)};\\builtin export {name}\n"
        before += _or_stop(f"[[ ${{(t){name}}} == *export* ]]")
        after += (
            f"if (( ${{+{old}}} )); then {name}=${old};[[ ${kind} == *export* ]] || \\builtin typeset -g +x {name};"
            f"else \\builtin unset {name};fi;\\builtin unset {old} {kind}\n"
        )
    return before, after


def _sure(order: Order) -> str:
    """Refuse a text that needs a builtin which nobody can reach: it would run elsewhere, or with other variables."""
    if not order.env and order.cwd is None:
        return ""
    tell = f"{{ {_tell(order, 'D', str(MISSING_FOLDER))};}} 2>/dev/null"
    say = f"(\\unset 'functions[builtin]';\\builtin print -r -- '{_SHADOWED}' >&2)"
    refuse = f"{say};{tell};__oc_s={MISSING_FOLDER};{_RETURN}{_or_stop('[[ . == .. ]]')}"
    return f"! {_HIDDEN} || {{ {refuse}}}\n"


def _known_jobs(order: Order) -> str:
    """Refuse a text that names a job which is not there: the sourcing itself has a number, and it is the shell.

    zsh numbers each command that it runs at a time, and gives a job the first number that is free.
    """
    text = _QUOTED.sub(lambda word: word[0][1:-1] if _JOBS.fullmatch(word[0][1:-1]) else "_", order.text)
    named = {number for command in _JOB_COMMANDS.finditer(text) for number in _JOBS.findall(command[0])}
    if not named:
        return ""
    tell = f"{{ {_tell(order, 'D', str(MISSING_FOLDER))};}} 2>/dev/null"
    lines = ""
    for number in sorted(named, key=int):
        say = f"\\builtin print -r -- 'orchctl: %{number} is no job of this shell: see jobs; nothing was run' >&2"
        known = f"(( ! ${{+jobstates}} || ${{+jobstates[{number}]}} ))"
        lines += f"{known} || {{ {say};{tell};__oc_s={MISSING_FOLDER};{_RETURN}}}\n"
    return lines


def _or_stop(condition: str) -> str:
    """Run nothing further unless it holds: even a function named `builtin` cannot keep an error from doing so."""
    return f"{condition} || : ${{__oc_nothing?{_SHADOWED}}}\n"


def _folder(order: Order) -> tuple[str, str]:
    """There and back: no hook sees it, and the directory stack stays as it is."""
    if order.cwd is None:
        return "", ""
    missing = f"{{ {_tell(order, 'D', str(MISSING_FOLDER))};}} 2>/dev/null"
    target, there = reached(order.cwd)
    move = '() { \\builtin emulate -L zsh;\\builtin cd -q -- "$1";}'
    go = (
        f"__oc_w=$PWD __oc_o=${{OLDPWD-}}\n"
        f"{move} {target} || {{ {missing};__oc_s={MISSING_FOLDER};{_RETURN}}}\n{_or_stop(there)}"
    )
    again = '[[ $PWD == "$__oc_w" ]] || \\cd -q -- "$__oc_w"'  # the text may have made a function of `builtin`
    return go, f'{move} "$__oc_w";{again};OLDPWD=$__oc_o\n'

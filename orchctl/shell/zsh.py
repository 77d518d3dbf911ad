"""The text that makes a zsh tell its prompts, and run one command between marks. Pure.

The prompt hook is all that is to be seen of us while a text runs, and has zsh run it as if it had been typed. What is
typed is a line that sources a file, short and harmless whoever reads it. As the line editor hands that line over,
`zle-line-finish` puts the text itself in its place, so that it is run at the top level: the first job is number 1,
messages name the shell and no file, and nothing of ours runs before or after it there. Its begin (B) is told then, the
start of its output (C) by the last of the preexec functions, which is there for that moment only, and its end by the
prompt:

    PROMPT_EOL_MARK   A: before anything that the shell draws
    __oc_p            P: last of the precmd functions, with the status that the text left

zsh numbers every command that it runs as a job, `.` and `{ }` among them: a text that is sourced by the typed line
alone has 2 for its first job, and one in `always` 4, so there is no other way to number 1. Where the text cannot stand
in the line, there is no line editor, or the shell draws no PROMPT_EOL_MARK, the file is sourced, as the line says.

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
    NEEDS_LAST_WORD,
    PREFIX,
    TAB_STOPS,
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
from orchctl.shell.execution import BY_PROMPT, OWN_STATUS
from orchctl.shell.marks import MOST_STATUSES

FAILING_PIPES = "|"  # beside the letters of options: this one has none
OTHER_INPUT = "<"  # likewise: the shell's own input is not the terminal
NULL_INPUT, OWN_INPUT = "n", "t"  # the first line of the file with a text that is to stand in the line
ID_LENGTH = 16
_NOW = "%D{%s%6.}"  # the clock numbers prompts: it needs no variable
_CLOCK = _NOW.replace("}", "\\}")  # within `${ }`
# Functions of these names would take part in what is done here: then the file is sourced, which finds its way.
_NEEDED = ("emulate", "eval", "exec", "print", "setopt", "unset", "zle")
_EMIT = "\\builtin print -rn --"
_HIDDEN = "(( ${+functions[builtin]} ))"  # the user has a function named `builtin`
_GIVE = f'{_HIDDEN} && \\return "$__oc_s";\\builtin return "$__oc_s"'
# Under `set -e` a status other than 0 would end the shell.
_SAFE = "[[ $- != *e* ]] || __oc_s=0\n"
_RETURN = f"{_SAFE}{_GIVE}\n"
# At the end of a file, with the last word of the text; what fails here is no failure to a trap.
_END = f'{_SAFE}() {{ {_GIVE};}} "${{__oc_u-}}" &&: "${{__oc_u-}}"\n'


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
# What a text must not speak of to stand in the typed line: it would see that it is no file, or take marks away.
_OF_FILES = re.compile(r"\bLINENO\b|prompt_?(?:eol|sp|cr)|zshrc|histchars|\b(?:no_?)?zle\b|precmd|__oc_", re.IGNORECASE)
# A text of several lines is read line by line, and its messages tell their numbers, unless it has to do with jobs.
_OF_JOBS = re.compile(r"(?<![&<>|])&(?![&>|!])|(?<![^\s;&|({'\"])%[\d%+-]")
_LINE_BY_LINE = re.compile(r"\b(?:alias|unalias|setopt|unsetopt|emulate|set)\b")
_NO_COMMAND = re.compile(r"(?:\s|#[^\n]*)*\Z")
_LONGEST_LINE = 1 << 15  # characters; a line editor that is given more takes its time


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
            **self.kept_files(nonce, folder),
        }

    def kept_files(self, nonce: str, folder: str) -> dict[str, str]:
        """The hook, which a command puts back where it is gone."""
        return {"heal": _heal(nonce, folder)}

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
        take = f'__oc_s=$? __oc_e=$? __oc_u=$_ __oc_t="{seen}"'
        ended = f"{take};{tell}"  # in a group the last word is forgotten, and all of it if no more files can be opened
        if "x" in order.flags or _TRACES.search(order.text):
            ended = f"{{ {take};{tell};}} 2>/dev/null"
        # what does not end has no further line
        tail = f"\n\n{ended}\n" if own else "\n" if order.complete or "<<" in order.text else ""
        pipe = restored_pipe(order, quiet="2>/dev/null", fails=FAILING_PIPES in order.flags)
        return Files(
            _begin(order) + _sure(order) + _known_jobs(order) + go + run + _END,
            PREFIX + pipe + order.text + tail,
            _in_line(order, pipe),
        )

    def typed_line(self, folder: str, exec_id: str, *, own_stdin: bool = False) -> str:
        """With a backslash, so that the dot is no alias. The line editor puts the text in its place, where it can."""
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


def _hook_mark(mark: str) -> str:
    """Shell text that writes a mark, which is a word of shell text: to the terminal, and without a new file if it can.

    A shell that may open no more files cannot redirect anything, and loses its output if it tries.
    """
    emit = f"print -rn -- {mark}"
    free = "(( ! ${+functions[print]} ))"
    return (
        f'if [[ /dev/fd/1 -ef "$TTY" ]];then if {free};then {emit};else builtin {emit};fi;'
        f"elif {free};then {emit} >>/dev/tty;else builtin {emit} >>/dev/tty;fi"
    )


def _heal(nonce: str, folder: str) -> str:
    """Puts the marks of prompts in their places, and keeps our lines out of the history."""
    before, after = Zsh().typed_line(folder, "@").split("@")
    letters = len(f"]6973;{nonce};B;{'0' * ID_LENGTH}]6973;{nonce};C;{'0' * ID_LENGTH};{BY_PROMPT}")
    starts = _hook_mark(f"$'\\e'\"]6973;{nonce};C;$1;{BY_PROMPT}{'.' * (-letters % TAB_STOPS)}\"$'\\a'")
    words = {
        "@SHOWN@": _hook_mark(f"$'\\e'\"]6973;{nonce};P;$told\"$'\\a'"),
        "@FIRST@": _hook_mark(f"$'\\e'\"]6973;{nonce};B;$i\"$'\\a'"),
        "@START@": shlex.quote(_START.replace("@C@", starts)),
        "@MARK@": f"$'%{{\\e]6973;{nonce};A;;{_NOW};\\a%}}'",
        "@NEEDED@": " + ".join(f"${{+functions[{name}]}}" for name in _NEEDED),
        "@BEFORE@": shlex.quote(before),
        "@AFTER@": shlex.quote(after),
        "@FOLDER@": shlex.quote(folder),
        "@CLOCK@": _CLOCK,
        "@NONCE@": nonce,
        "@TAG@": TAG,
        "@NULL@": NULL_INPUT,
        "@PIPES@": FAILING_PIPES,
        "@ELSEWHERE@": OTHER_INPUT,
        "@OWN@": OWN_STATUS,
        "@MOST@": str(MOST_STATUSES + 1),
    }
    text = _HOOK
    for word, value in words.items():
        text = text.replace(word, value)
    return text


# The last part of `__oc_x`, which is there from the end of the line to the start of the text, or to the next prompt if
# that is not reached: then it has no argument.
_START = """\
unset 'functions[__oc_x]'
() {
  emulate -L zsh
  setopt no_xtrace
  preexec_functions=(${preexec_functions:#__oc_x})
  if (( $3 )); then
    [[ $2 != @NULL@ || /dev/fd/0 -ef /dev/null ]] || exec </dev/null
    @C@
  fi
} """
# What the line editor's lines have and files have not, history and corrections, is off while a text is read, and
# comments are on; and a function that is made would be exported. No options are known there: those of the user's hold
# for the text, and so for what puts it in place. A function named `return` would be run for every return in here.
_HOOK = r"""
[[ -o aliases ]] && __oc_aliases=1
\setopt no_aliases
__oc_p() {
  local s=$? w=$_ f=$- p="${(j: :)pipestatus[@]:0:@MOST@} ." e=
  [[ ! -o pipefail ]] || f+='@PIPES@'
  [[ $w != __oc_* ]] || w=
  if (( ${+functions[__oc_x]} )); then __oc_x; elif (( ! ${+__oc_l} )); then e='@OWN@'; fi
  (( ${+functions[emulate]} )) || emulate -L zsh
  (( ${+functions[setopt]} )) || setopt no_xtrace
  if [[ /dev/fd/0 -ef /dev/null ]]; then
    # a shell that may open few files cannot redirect anything, and ends if it tries
    local l=${"$(</proc/self/limits)"#*Max open files}
    [[ ${${=l}[1]} == ([0-9]|1[0-9]) ]] || exec <>"$TTY"
  elif [[ ! /dev/fd/0 -ef "$TTY" ]]; then
    f+='@ELSEWHERE@'
  fi
  local told="${(%):-@CLOCK@};$s;$f;${__oc_e-$e};${__oc_l-};$p;${#w};${${w//[^A-Za-z0-9_.,:\/@%+=-]}[1,30]}"
  if (( ${#funcstack} == 1 )); then
    unset -m '__oc_*'
    (( ! ${+functions[__oc_c]} )) || unset 'functions[__oc_c]'
  fi
  [[ ${precmd_functions[-1]} == __oc_p ]] || precmd_functions=(${precmd_functions:#__oc_p} __oc_p)
  [[ ${PROMPT_EOL_MARK-} == *@NONCE@* ]] ||
    typeset -g +x PROMPT_EOL_MARK=@MARK@"${PROMPT_EOL_MARK-%B%S%#%s%b}"
  if [[ -o zle && ${widgets[zle-line-finish]-} != user:__oc_f ]]; then
    (( ! ${+widgets[zle-line-finish]} )) || zle -A zle-line-finish __oc_f
    zle -N zle-line-finish __oc_f
  fi
  @SHOWN@
}
__oc_h() {
  # under `set -e` a hook that says no would end the shell
  (( ${+functions[setopt]} )) || setopt local_options no_err_exit
  (( ! ${+functions[__oc_x]} )) && [[ $1 != *@TAG@* ]]
}
__oc_f() {
  if (( ${+widgets[__oc_f]} && ! ${+__oc_f} )); then
    local __oc_f=
    zle __oc_f -- "$@"
  fi
  local i=${BUFFER#@BEFORE@} t= o= x=
  i=${i%@AFTER@}
  if [[ $CONTEXT == start && $BUFFER == @BEFORE@*@AFTER@ && $i != *[^0-9a-f]* && -s @FOLDER@/b$i ]] &&
    [[ "${functions[__oc_l]-}" != *$i* ]] &&
    [[ -o prompt_sp && -o prompt_cr ]] && (( @NEEDED@ == 0 ))
  then
    x="histchars=${(q)histchars};"
    for o in all_export interactive_comments correct correct_all; do
      if [[ -o $o ]]; then x+="setopt $o;"; else x+="setopt no_$o;"; fi
    done
    o=no_aliases
    [[ ! -o aliases ]] || o=aliases
    setopt no_all_export interactive_comments no_correct no_correct_all
    t="$(<@FOLDER@/b$i)"
    functions[__oc_t]="${t#*$'\n'}"
    if (( ${+functions[__oc_t]} )); then
      unset 'functions[__oc_t]'
      setopt no_aliases
      functions[__oc_x]=$x@START@"$i ${t%%$'\n'*} \$#"
      functions[__oc_l]=": $i"
      setopt $o
      preexec_functions+=(__oc_x)
      histchars=$'\1\2#'
      zle -I
      BUFFER="${t#*$'\n'}"
      @FIRST@
    else
      eval "$x"
    fi
  fi
}
typeset -ga precmd_functions zshaddhistory_functions
precmd_functions=(${precmd_functions:#__oc_p} __oc_p)
zshaddhistory_functions=(${zshaddhistory_functions:#__oc_h} __oc_h)
(( ! ${+__oc_aliases} )) || setopt aliases
unset __oc_aliases
: zsh
"""


def _tell(order: Order, kind: str, *args: str) -> str:
    """Make a mark, even if the user has a function named `builtin`."""
    body = ";".join([kind, order.exec_id, *args])
    emit = f"{_EMIT} $'\\e'\"]6973;{order.nonce};{body}\"$'\\a'"
    return f"! {_HIDDEN} || (\\unset 'functions[builtin]';{emit} >>/dev/tty);{_HIDDEN} || {emit} >>/dev/tty"


def _in_line(order: Order, pipe: str) -> str:
    """The text as the line editor is to run it in place of the typed line; nothing where that cannot be.

    One of several lines is read as a whole there, and its messages tell no lines.
    """
    text = order.text.strip()
    plain = not order.env and order.cwd is None and not order.apart and order.stdin in (None, "/dev/null")
    if not plain or OTHER_INPUT in order.flags or len(text) > _LONGEST_LINE:
        return ""
    if not text.replace("\n", "").replace("\t", "").isprintable() or text.endswith("\\"):
        return ""
    if _NO_COMMAND.match(text) or _OF_FILES.search(text):
        return ""
    if "\n" in text and (not order.complete or not _OF_JOBS.search(text) or _LINE_BY_LINE.search(text)):
        return ""
    given = "" if order.at_prompt else pipe
    if not order.complete:  # the line editor would ask for the rest of it
        text = f"\\eval {always_quoted(text)}"
    return f"{NULL_INPUT if order.stdin else OWN_INPUT}\n{given}{text}\n"


def _begin(order: Order) -> str:
    """Before the command: not twice, the hook in place, and B."""
    there = "${+functions[__oc_p]} && ${+functions[__oc_f]}"
    hook = f'[[ "${{precmd_functions[*]-}}" == *__oc_p* ]] && (( {there} ))'
    once = f'[[ "${{functions[__oc_l]-}}" != *{order.exec_id}* ]] || {{ {_GIVE};}}'
    word = always_quoted(order.last_word) if NEEDS_LAST_WORD.search(order.text) else ""
    steps = [
        f"__oc_l() {{ : {order.exec_id};}}",
        f"__oc_l={order.exec_id} __oc_u={word} __oc_q= __oc_e= __oc_t=",
        f"__oc_c() {{ {_tell(order, *start_words(order))};{_GIVE};}}",
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

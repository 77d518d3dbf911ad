"""Ways in which a user's bash may be set up before the first text comes: start-up files, and terminals. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Startup:
    """The text of a start-up file, and a terminal."""

    name: str
    text: str = ""
    size: tuple[int, int] = (80, 24)
    strict: bool = False  # a command that fails ends the shell
    slow: bool = False
    asks: bool = False  # the prompt waits for an answer of the terminal, and nothing tells when it begins to


_STATUS_PROMPT = r"""
# Like prompts that are made anew for each line: a DEBUG trap, a clock in PS0, the status in PS1, a title.
_sp_status=0 _sp_ready=no _sp_began=
_sp_before() {
    local last=$1
    if [[ $_sp_ready == yes ]]; then _sp_ready=no; _sp_began=$SECONDS; fi
    : "$last"
}
_sp_after() {
    _sp_status=$?
    local parts=("${PIPESTATUS[@]}")
    jobs -p >/dev/null
    printf '\e]0;%s@%s: %s\a\e]2;busy\e\\' "${USER-}" "${HOSTNAME-}" "$PWD"
    PS1="$(printf '\\[\\e[1;32m\\]%s\\[\\e[0m\\] %s' "${PWD##*/}" "$_sp_status ${#parts[@]}")"
    PS1+=$'\n\\[\\e[35m\\]>\\[\\e[0m\\] '
    _sp_ready=yes
    return $_sp_status
}
trap '_sp_before "$_"' DEBUG
PS0='${_sp_began:$((_sp_count = ${_sp_count:-0} + 1, 0)):0}'
PS2='\[\e[90m\]...\[\e[0m\] '
PROMPT_COMMAND="_sp_after;${PROMPT_COMMAND-}"
HISTCONTROL=
shopt -s histappend checkwinsize
"""

_DRAWN_PROMPT = r"""
# Like prompts that draw: several lines, text at the right edge, redrawing, other tools' marks, gone after Enter.
_dp_draw() {
    local status=$? right="[$(date +%T)]"
    printf '\e]133;D;%s\a\e]633;D;%s\a\e]133;A\a\e]633;A\a' "$status" "$status"
    printf '\r\e[J\e[7m%%\e[0m%*s\r \r' 40 ''
    printf '\e7\e[%dG\e[2m%s\e[0m\e8' "$((${COLUMNS:-80} - ${#right}))" "$right"
    printf '\e[38;5;39m\u256d\u2500 %s\e[0m\e[K\n\e[1A\e[1B' "$PWD"
    printf '\e]633;P;Cwd=%s\a\e]1337;CurrentDir=%s\a\e]7;file://%s\a' "$PWD" "$PWD" "$PWD"
    return "$status"
}
PROMPT_COMMAND=(_dp_draw)
PS1=$'\\[\e[38;5;39m\\]\u2570\u2500\\[\e[0m\\]$(printf "\\001\e[3%dm\\002" $(($? > 0)))\u276f '
PS1+=$'\\[\e]133;B\a\e]633;B\a\\]'
PS0=$'\\[\e[2A\e[J\e[32m\\]\u276f\\[\e[0m\\] \n\e]133;C\a\e]633;C\a'
bind 'set enable-bracketed-paste on' 'set show-mode-in-prompt on' 2>/dev/null
bind -x '"\C-g": _dp_draw' 2>/dev/null
"""

FLUSH = "perl -MPOSIX -e 'tcflush(0, TCIFLUSH)' </dev/tty"

STARTUPS = (
    Startup("a prompt that is made anew each time", _STATUS_PROMPT),
    Startup("a prompt that draws", _DRAWN_PROMPT),
    Startup("errexit, nounset and pipefail", "set -euo pipefail\n", strict=True),
    Startup("a slow start that prints", "echo starting\nsleep 2\necho started\n", slow=True),
    Startup("typeahead is thrown away", f"flush() {{ {FLUSH}; }}\nflush\nPROMPT_COMMAND=flush\n"),
    Startup("a narrow terminal", size=(20, 24)),
)

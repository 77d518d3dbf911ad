"""Ways in which a user may have set up the other shells: prompts that draw, ask and redraw, slow starts. Data only."""

from __future__ import annotations

from tests.conformance.startup import FLUSH, Startup

# Asks where the cursor is, and waits for ever until it is told.
_ASK = (
    "sh -c 'old=$(stty -g); stty raw -echo; printf \"\\033[6n\"; dd bs=1 count=6 of=/dev/null 2>/dev/null; stty $old'"
    " </dev/tty >/dev/tty"
)
_MARKS = r"\033]133;D;0\007\033]133;A\007\033]633;A\007"
_SLOW = Startup("a slow start that prints", "echo starting\nsleep 2\necho started\n", slow=True)
_NARROW = Startup("a narrow terminal", size=(20, 24))

_ZSH_STATUS = r"""
# Like prompts that are made anew for each line, with hooks before and after a command, and one at the right edge.
autoload -Uz add-zsh-hook
sp_after() { SP_STATUS=$?; print -n "\e]0;$PWD\a"; }
sp_before() { print -n "\e]2;$1\a"; }
add-zsh-hook precmd sp_after
add-zsh-hook preexec sp_before
setopt prompt_subst share_history
PROMPT='$(echo in ${PWD##*/} $SP_STATUS)
> '
RPROMPT='%F{green}$(date +%T)%f'
"""
_ZSH_REDRAWN = r"""
# Like prompts that paint at once, keep what start-up files print for later, redraw, and shrink after Enter.
print -n '\e]0;early\a> '
exec {dp_out}>&1 {dp_err}>&2 1>$HOME/early 2>&1
dp_restore() {
  exec 1>&$dp_out 2>&$dp_err {dp_out}>&- {dp_err}>&-
  print -n '\r\e[J'
  precmd_functions=(${precmd_functions:#dp_restore})
}
precmd_functions=(dp_restore $precmd_functions)
autoload -Uz add-zsh-hook add-zle-hook-widget
setopt prompt_subst transient_rprompt
PROMPT=$'%F{blue}%~%f\n%# '
RPROMPT='%F{green}$(date +%T)%f'
dp_begin() { zle reset-prompt; }
dp_end() { local full=$PROMPT; PROMPT='> ' RPROMPT=; zle reset-prompt; PROMPT=$full RPROMPT='%T'; }
zle -N dp_begin
zle -N dp_end
add-zle-hook-widget zle-line-init dp_begin
add-zle-hook-widget zle-line-finish dp_end
dp_accept() { zle accept-line; }
dp_space() { LBUFFER+=' '; }
zle -N dp_accept
zle -N dp_space
bindkey '^M' dp_accept
bindkey ' ' dp_space
dp_late() { local line; read -r line <&$1; zle -F $1; exec {1}<&-; zle reset-prompt; }
dp_ask_later() { exec {dp_fd}< <(sleep 0.01; echo x); zle -F $dp_fd dp_late; }
add-zsh-hook precmd dp_ask_later
echo noise while it loads
"""
ZSH = (
    Startup("a prompt that is made anew each time", _ZSH_STATUS),
    Startup("a prompt that draws itself again", _ZSH_REDRAWN),
    Startup("a prompt with marks of other tools", f"precmd() {{ print -n '{_MARKS}'; }}\nPS1=$'%{{{_MARKS}%}}%% '\n"),
    Startup("errexit, nounset and pipefail", "setopt err_exit no_unset pipefail\n", strict=True),
    Startup("typeahead is thrown away", f"flush() {{ {FLUSH}; }}\nflush\nprecmd() {{ flush; }}\n"),
    Startup("a prompt that asks the terminal", f"precmd() {{ {_ASK}; }}\n"),
    Startup("a prompt hook that reads the answer", "precmd() { print -n '\\e[6n'; read -rs -d R sp_answer; }\n"),
    Startup("a start that asks the terminal", "print -n '\\e[c'; read -rs -d c sp_answer\n"),
    Startup(
        "other syntax", "setopt ksh_arrays sh_word_split ignore_braces null_glob no_multios noclobber\nset -o vi\n"
    ),
    _SLOW,
    _NARROW,
)
_FISH_STATUS = r"""
function fish_prompt
    set -l last $status
    printf '\e]0;%s\a' $PWD
    set_color green; echo "in $PWD $last"; set_color normal
    echo -n '> '
end
function fish_right_prompt; date +%T; end
function fish_title; echo title $argv; end
function sp_before --on-event fish_preexec; printf '\e]2;x\a'; end
function sp_after --on-event fish_postexec; echo -n noise; end
"""
FISH = (
    Startup("a prompt that is made anew each time", _FISH_STATUS),
    Startup("a prompt with marks of other tools", f"function fish_prompt; printf '{_MARKS}'; echo -n '> '; end\n"),
    Startup("typeahead is thrown away", f"{FLUSH}\nfunction flush --on-event fish_prompt; {FLUSH}; end\n"),
    Startup("a prompt that asks the terminal", f"function ask --on-event fish_prompt; {_ASK}; end\n"),
    Startup("vi keys and no greeting", "set -g fish_greeting\nfish_vi_key_bindings\n"),
    _SLOW,
    _NARROW,
)
_POSIX_STATUS = "PS1='\n$(echo in ${PWD##*/} $?)\n> '\n"
_POSIX_MARKS = f"PS1=$(printf '{_MARKS}$ ')\n"
POSIX = (
    Startup("a prompt that is made anew each time", _POSIX_STATUS),
    Startup("a prompt with marks of other tools", _POSIX_MARKS),
    Startup("errexit and nounset", "set -eu\n", strict=True),
    Startup("typeahead is thrown away", f"flush() {{ {FLUSH}; }}\nflush\nPS1='$(flush)$ '\n"),
    Startup("a prompt that asks the terminal", f"ask() {{ {_ASK}; }}\nPS1='$(ask)$ '\n", asks=True),
    Startup("other settings", "set -C\nset -o vi\nIFS=/6\numask 077\n"),
    _SLOW,
    _NARROW,
)
STARTUPS = {"zsh": ZSH, "fish": FISH, "dash": POSIX, "busybox": POSIX, "ksh93": POSIX, "mksh": POSIX}

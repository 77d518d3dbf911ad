"""The bash script: the tables as `case` statements, and one function that walks the words typed so far.

It needs nothing but bash 4.4; where bash-completion is loaded, it completes the command that `spawn` is given.
"""

from __future__ import annotations

from collections.abc import Iterable

from orchctl.cli.main import ALIASES
from tests.generate.tree import Argument, Node, Value

_HEAD = r"""# bash completion for orchctl; made by 'python -m tests.generate', not by hand

"""
_TAIL = r"""
# the candidates for sessions and managers: orchctl tells them and never starts anything for it
_orchctl_ask() {
    local name about width=0 program=${words[0]/#\~/$HOME}
    local -a names=() abouts=()
    type -P -- "$program" >/dev/null || program=orchctl
    while IFS=$'\t' read -r name about; do
        [[ $name == "$cur"* ]] || continue
        names+=("$name") abouts+=("$about")
        ((${#name} > width)) && width=${#name}
    done < <("$program" completion --candidates "$1" --word "$cur" </dev/null 2>/dev/null)
    compopt -o nosort
    local i
    for i in "${!names[@]}"; do
        # only where the list is shown and nothing of it can be taken into the line
        if ((${#names[@]} > 1)) && [[ $COMP_TYPE == 9 || $COMP_TYPE == 63 ]] && [[ ${abouts[i]} ]]; then
            printf -v name '%-*s  (%s)' "$width" "${names[i]}" "${abouts[i]}"
        else
            name=${names[i]}
        fi
        COMPREPLY+=("$name")
    done
}

# what may stand here, in COMPREPLY
_orchctl_offer() {
    local IFS=$' \t\n'
    case $1 in
        '' | text) ;;
        file) compopt -o default ;;
        folder) compopt -o dirnames ;;
        =*)
            local list=${1#=}
            mapfile -t COMPREPLY < <(compgen -W "${list//,/ }" -- "$cur")
            [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
            ;;
        *) _orchctl_ask "$1" ;;
    esac
}

# a command of the user's own, which begins with the word at $1
_orchctl_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    elif (($1 == ${#words[@]} - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
    else
        compopt -o default
    fi
}

# COMP_WORDS put together again where COMP_WORDBREAKS has cut at @, : or =
_orchctl_split() {
    local i word rest=${COMP_LINE:0:COMP_POINT}
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then
            words+=('') starts+=("$i")
            rest=${rest#"${rest%%[![:blank:]]*}"}
        fi
        ((i < COMP_CWORD)) || word=$rest
        words[-1]+=$word
        rest=${rest#"$word"}
    done
}

# What bash does not replace of the word, because it begins the word behind it, is taken off the answers. At @ it cuts
# the words it tells us, but not the one it replaces.
_orchctl_trim() {
    local cut='' i
    for ((i = ${#1}; i > 0; i--)); do
        if [[ ${1:i-1:1} == [:=] && $COMP_WORDBREAKS == *"${1:i-1:1}"* ]]; then
            cut=${1:0:i}
            break
        fi
    done
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$2${COMPREPLY[i]}
        COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
    done
}

# the kind of the argument number $1
_orchctl_argument() {
    local -a kinds
    value=
    [[ $arguments ]] || return
    read -ra kinds <<<"$arguments"
    value=${kinds[$1 - 1]-}
    [[ $value || ${kinds[-1]} != *... ]] || value=${kinds[-1]}
    value=${value%...}
}

# whether option $2 of the command $1 takes the next word; $value is what that may be
_orchctl_takes() {
    local i
    value=
    case $2 in
        --*=*) return 1 ;;
        --*) _orchctl_value "$1" "$2"; return ;;
    esac
    for ((i = 1; i < ${#2}; i++)); do
        _orchctl_value "$1" "-${2:i:1}" && { ((i + 1 == ${#2})); return; }
    done
    return 1
}

_orchctl() {
    local cur path='' word value='' front='' nodes options arguments pending='' closed='' count=0 i whole
    local -a words=() starts=()
    COMPREPLY=()
    _orchctl_split
    _orchctl_about ''
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $pending ]]; then
            pending=
        elif [[ ! $closed && $word == -- ]]; then
            closed=1
        elif [[ ! $closed && $word == -?* ]]; then
            _orchctl_takes "$path" "$word" && pending=$value
        elif [[ $nodes ]]; then
            _orchctl_alias "$path" "$word"
            _orchctl_about "$path"
        else
            _orchctl_argument $((++count))
            if [[ $value == command ]]; then
                cur=${words[-1]}
                _orchctl_program "$i"
                return
            fi
        fi
    done
    whole=${words[-1]} cur=${words[-1]}
    case $cur in
        [\'\"]*) cur=${cur:1} whole= ;; # bash does not cut inside quotes
    esac
    if [[ $pending ]]; then
        _orchctl_offer "$pending"
    elif [[ ! $closed && $cur == --*=* ]]; then
        front=${cur%%=*}= cur=${cur#*=}
        _orchctl_value "$path" "${front%=}" && _orchctl_offer "$value"
    elif [[ ! $closed && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ $nodes ]]; then
        compopt -o nosort
        mapfile -t COMPREPLY < <(compgen -W "$nodes" -- "$cur")
    else
        _orchctl_argument $((count + 1))
        if [[ $value == command ]]; then
            _orchctl_program $((${#words[@]} - 1))
            return
        fi
        _orchctl_offer "$value"
    fi
    _orchctl_trim "$whole" "$front"
}

complete -F _orchctl orchctl
"""


def script(root: Node) -> str:
    """All of it."""
    return _HEAD + _about(root) + "\n" + _values(root) + "\n" + _aliases() + _TAIL


def _about(root: Node) -> str:
    rows = []
    for node in root.walk():
        names = [name for below in node.nodes for name in (below.path[-1], *below.aliases)]
        parts = {
            "nodes": " ".join(names),
            "options": " ".join(name for option in node.options for name in option.names),
            "arguments": " ".join(_kind(argument) for argument in node.arguments),
        }
        rows.append(f"        '{node.name}')")
        rows += [f"            {name}='{text}'" for name, text in parts.items() if text]
        rows.append("            ;;")
    return _function("_orchctl_about", "what there is to the command $1", ["nodes= options= arguments="], "$1", rows)


def _values(root: Node) -> str:
    rows: dict[str, list[str]] = {}
    for node in root.walk():
        for option in node.options:
            if option.value is not None:
                names = [f"'{node.name} {name}'" for name in option.names]
                rows.setdefault(_word(option.value), []).extend(names)
    lines = []
    for value, names in rows.items():
        lines += [f"        {' | '.join(names)})", f"            value='{value}'", "            ;;"]
    lines.append("        *) return 1 ;;")
    return _function("_orchctl_value", "what option $2 of the command $1 takes; fails if nothing", [], "$1 $2", lines)


def _aliases() -> str:
    rows = [f"        ' {alias}') path='{name}' ;;" for alias, name in ALIASES.items()]
    rows.append("        *) path=${1:+$1 }$2 ;;")
    return _function("_orchctl_alias", "the command $2 below the command $1, in $path", [], "$1 $2", rows)


def _function(name: str, about: str, first: list[str], subject: str, rows: Iterable[str]) -> str:
    lines = [f"# {about}", f"{name}() {{", *(f"    {line}" for line in first)]
    return "\n".join([*lines, f'    case "{subject}" in', *rows, "    esac", "}", ""])


def _kind(argument: Argument) -> str:
    return _word(argument.value) + ("..." if argument.many else "")


def _word(value: Value) -> str:
    return "=" + ",".join(value.words) if value.kind == "words" else value.kind

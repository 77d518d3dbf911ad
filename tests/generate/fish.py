"""The fish script: one `complete` line an option, each under the condition that its command is being typed."""

from __future__ import annotations

from collections.abc import Iterator

from orchctl.cli.main import ALIASES
from tests.generate.tree import Argument, Node, Option, Value

_HEAD = r"""# fish completion for orchctl; made by 'python -m tests.generate', not by hand

"""
_WALK = r"""
# Walk the words before the cursor, once a line: the command they name, how many arguments it has, and at which
# word a command of the user's own begins.
function __orchctl_walk
    set -l words (commandline -opc)
    set -l line (string join \x1f -- $words)
    test "$line" = "$__orchctl_line"; and return
    set -g __orchctl_line $line
    set -g __orchctl_path ''
    set -g __orchctl_count 0
    set -g __orchctl_begin 0
    set -l pending 0
    set -l closed 0
    for i in (seq 2 (count $words))
        set -l word $words[$i]
        if test $pending = 1
            set pending 0
        else if test $closed = 0; and test "$word" = --
            set closed 1
        else if test $closed = 0; and string match -q -- '-?*' $word
            __orchctl_takes "$__orchctl_path" $word; and set pending 1
        else if __orchctl_group "$__orchctl_path"
            __orchctl_alias $word
        else
            set __orchctl_count (math $__orchctl_count + 1)
            if test $__orchctl_count = (__orchctl_own "$__orchctl_path")
                set __orchctl_begin $i
                return
            end
        end
    end
end

# whether an option takes the next word
function __orchctl_takes
    switch $argv[2]
        case '--*=*'
            return 1
        case '--*'
            __orchctl_valued $argv[1] $argv[2]
            return
    end
    set -l letters (string split '' -- (string sub -s 2 -- $argv[2]))
    for i in (seq (count $letters))
        if __orchctl_valued $argv[1] -$letters[$i]
            test $i = (count $letters)
            return
        end
    end
    return 1
end

# whether this command is being typed, and none of the user's own yet
function __orchctl_at
    __orchctl_walk
    test "$__orchctl_path" = "$argv[1]"; and test $__orchctl_begin = 0
end

# whether its argument number N is due; 'N+' means N and all that follow
function __orchctl_argument
    __orchctl_at $argv[1]; or return
    set -l due (math $__orchctl_count + 1)
    if string match -q -- '*+' $argv[2]
        test $due -ge (string trim -c + -- $argv[2])
    else
        test $due = $argv[2]
    end
end

# sessions and managers: orchctl tells them and never starts anything for it
function __orchctl_candidates
    set -l program (commandline -opc)[1]
    type -q -- $program; or set program orchctl
    set -l word (commandline -ct | string replace -r -- '^--[^=]*=' '')
    command $program completion --candidates $argv[1] --word "$word" 2>/dev/null </dev/null
end

# a command of the user's own
function __orchctl_program
    __orchctl_walk
    set -l words
    if test $__orchctl_begin != 0
        set words (commandline -opc)
        set words (string escape -- $words[$__orchctl_begin..-1])
    else if string match -q -- '-*' (commandline -ct)
        return
    end
    complete "-C"(string join ' ' -- $words (commandline -ct)) 2>/dev/null
end

function __orchctl_in_program
    __orchctl_walk
    test $__orchctl_begin != 0
end

complete -c orchctl -f
complete -c orchctl -n __orchctl_in_program -f -a '(__orchctl_program)'
"""


def script(root: Node) -> str:
    """All of it."""
    nodes = list(root.walk())
    rows = [line for node in nodes for line in _node(node)]
    return _HEAD + "\n".join([_groups(nodes), _own(nodes), _valued(nodes), _aliases()]) + _WALK + "\n".join(rows) + "\n"


def _node(node: Node) -> Iterator[str]:
    at = f"complete -c orchctl -n {_quoted(f'__orchctl_at {_quoted(node.name)}')}"
    yield ""
    for below in node.nodes:
        for name in (below.path[-1], *below.aliases):
            yield f"{at} -a {name} -d {_quoted(below.line)}"
    for option in node.options:
        yield f"{at} {_option(option)}"
    for number, argument in enumerate(node.arguments, 1):
        if argument.value.kind != "text":
            where = f"__orchctl_argument {_quoted(node.name)} {number}{'+' if argument.many else ''}"
            yield f"complete -c orchctl -n {_quoted(where)} {_argument(argument)}"


def _option(option: Option) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.value is not None:
        parts.append(f"-r {_what(option.value)}")
    return " ".join([*parts, "-d", _quoted(" ".join(option.help.split()))])


def _argument(argument: Argument) -> str:
    return "-f -a '(__orchctl_program)'" if argument.value.kind == "command" else _what(argument.value)


def _what(value: Value) -> str:
    if value.kind == "words":
        return f"-f -a {_quoted(' '.join(value.words))}"
    if value.kind == "text":
        return "-f"
    known = {"file": "-F", "folder": "-f -a '(__fish_complete_directories)'"}
    return known.get(value.kind, f"-f -k -a '(__orchctl_candidates {value.kind})'")


def _groups(nodes: list[Node]) -> str:
    names = " ".join(_quoted(node.name) for node in nodes if node.nodes)
    return _function("group", "whether commands follow", [f"    contains -- $argv[1] {names}"])


def _own(nodes: list[Node]) -> str:
    """A switch over the commands that take one of the user's own."""
    rows = ["    switch $argv[1]"]
    for node in nodes:
        for number, argument in enumerate(node.arguments, 1):
            if argument.value.kind == "command":
                rows += [f"        case {_quoted(node.name)}", f"            echo {number}"]
    return _function(
        "own", "which argument begins a command of the user's own", [*rows, *_ELSE, "            echo 0", _END]
    )


def _valued(nodes: list[Node]) -> str:
    rows = ["    switch $argv[1]"]
    for node in nodes:
        names = [name for option in node.options if option.value is not None for name in option.names]
        if names:
            rows += [f"        case {_quoted(node.name)}", f"            contains -- $argv[2] {' '.join(names)}"]
    return _function("valued", "whether an option of a command has a value", [*rows, *_ELSE, "            false", _END])


def _aliases() -> str:
    rows = ['    switch "$__orchctl_path $argv[1]"']
    for alias, name in ALIASES.items():
        rows += [f"        case ' {alias}'", f"            set __orchctl_path {name}"]
    rows += [*_ELSE, '            set __orchctl_path (string trim -- "$__orchctl_path $argv[1]")', _END]
    return _function("alias", "go down to a command", rows)


_ELSE = ["        case '*'"]
_END = "    end"


def _function(name: str, about: str, lines: list[str]) -> str:
    return "\n".join([f"# {about}", f"function __orchctl_{name}", *lines, "end", ""])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

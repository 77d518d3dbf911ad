"""The zsh script: one `_arguments` call a command, made from the tables."""

from __future__ import annotations

from collections.abc import Iterator

from tests.generate.tree import Argument, Node, Option, Value

_HEAD = r"""#compdef orchctl
# zsh completion for orchctl; made by 'python -m tests.generate', not by hand

# sessions and managers: orchctl tells them and never starts anything for it
_orchctl_candidates() {
  local line name about program=${${(Q)_orchctl_program}/#\~/$HOME}
  local -a found
  (( $+commands[$program] )) || [[ -x $program ]] || program=orchctl
  local asked="completion --candidates $1 --word ${(q)${(Q)PREFIX}}"
  for line in ${(f)"$(_call_program candidates ${(q)program} $asked)"}; do
    name=${line%%$'\t'*} about=${line#*$'\t'}
    found+=("${name//:/\\:}:${about//\\/\\\\}")
  done
  _describe -t $1 ${2:-session} found -V $1
}

"""
_REST = r"""# the arguments of a command of the user's own, behind the first $1 of ours
_orchctl_rest() {
  shift $1 words
  (( CURRENT -= $1 ))
  _normal
}

"""
_TAIL = r"""
# found by compinit, or sourced
if [[ $funcstack[1] == _orchctl ]]; then
  _orchctl "$@"
elif (( $+functions[compdef] )); then
  compdef _orchctl orchctl
fi
"""


def script(root: Node) -> str:
    """All of it."""
    return _HEAD + _REST + "\n".join(_function(node) for node in reversed(list(root.walk()))) + _TAIL


def _function(node: Node) -> str:
    lines = [f"{_name(node)}() {{"]
    if not node.path:
        lines.append("  local _orchctl_program=$words[1]")
    if node.nodes:
        lines += [
            "  local curcontext=$curcontext state line ret=1",
            "  local -A opt_args",
            "  local -a nodes=(",
            *(f"    {_quoted(f'{_plain(name)}:{below.line}')}" for below in node.nodes for name in _names(below)),
            "  )",
        ]
    specs = [*(spec for option in node.options for spec in _option(option)), *_rest(node)]
    lines.append("  _arguments -s -S -C \\" if node.nodes else "  _arguments -s -S \\")
    lines += [f"    {_quoted(spec)} \\" for spec in specs[:-1]]
    lines.append(f"    {_quoted(specs[-1])}" + (" && ret=0" if node.nodes else ""))
    if node.nodes:
        lines += _dispatch(node)
    return "\n".join([*lines, "}", ""])


def _dispatch(node: Node) -> Iterator[str]:
    yield "  [[ $state == rest ]] || return ret"
    yield f"  curcontext=${{curcontext%:*:*}}:{_name(node)[1:]}-$words[1]:"
    yield "  case $words[1] in"
    for below in node.nodes:
        yield f"    ({'|'.join(_names(below))}) {_name(below)} ;;"
    yield "    (*) return 1 ;;"
    yield "  esac"


def _rest(node: Node) -> list[str]:
    """The positional arguments; a group has one, the name of the command."""
    if node.nodes:
        return ["1: :{_describe -t commands command nodes}", "*:: :->rest"]
    return [spec for number, argument in enumerate(node.arguments, 1) for spec in _argument(number, argument)]


def _argument(number: int, argument: Argument) -> list[str]:
    if argument.value.kind == "command":  # what follows is the command's own, options too
        return [f"{number}:command: _command_names -e", f"(-)*::argument: _orchctl_rest {number - 1}"]
    where = "*" if argument.many else str(number)
    return [f"{where}:{_plain(argument.metavar.lower())}:{_action(argument.value)}"]


def _option(option: Option) -> Iterator[str]:
    front = "*" if option.repeatable else f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    for name in option.names:
        value = end = ""
        if option.value is not None:
            value = f":{_plain(option.metavar)}:{_action(option.value)}"
            end = "=" if name.startswith("--") else "+"
        yield f"{front}{name}{end}[{_help(option.help)}]{value}"


def _action(value: Value) -> str:
    if value.kind == "words":
        return f"({' '.join(_plain(word) for word in value.words)})"
    if value.kind == "managers":
        return " _orchctl_candidates managers manager"  # the blank: called with these words and no others
    return {"text": " ", "file": "_files", "folder": "_files -/"}.get(value.kind, f" _orchctl_candidates {value.kind}")


def _names(node: Node) -> tuple[str, ...]:
    return node.path[-1], *node.aliases


def _name(node: Node) -> str:
    return "_orchctl" + "".join(f"_{part.replace('-', '_')}" for part in node.path)


def _plain(text: str) -> str:
    """Colons end a field."""
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _help(text: str) -> str:
    text = " ".join(text.split())
    for char in "\\[]":
        text = text.replace(char, "\\" + char)
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

"""The command table as plain values: every command with its options and arguments, and what each of them can be."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from orchctl.cli.main import ALIASES, COMMANDS, cli
from orchctl.lazy_dataclass import dataclass

# what `kill -l` names everywhere; fixed, so that the pages do not depend on the machine they are made on
SIGNALS = (
    "ABRT", "ALRM", "BUS", "CHLD", "CONT", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "PROF", "QUIT", "SEGV", "STOP",
    "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ",
)  # fmt: skip
# commands that take a session that has ended as well; all others are for live ones
OF_ENDED_TOO = {
    "audit", "events", "export", "history", "info", "label", "prune", "rename", "restart", "screen", "search", "tail",
    "verify", "wait",
}  # fmt: skip
BY_FILES_ALONE = {"verify"}  # it asks no supervisor, so it knows no selector
_FOLDERS = {"DIR", "DIRECTORY"}
_FILES = {"FILE", "F", "PATH"}
_SIGNALS = {"SIG", "SIGNAL"}
_WORD = re.compile(r"([a-z][a-z-]*=?)(?:\[.*\]|[A-Z]*)")  # of `no|on-failure[:N]|output=REGEX`, the parts to be typed


@dataclass(frozen=True, slots=True)
class Value:
    """What a word may be: `text`, `words`, `file`, `folder`, `command` or a kind of candidates."""

    kind: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `value` is None for a flag, `help` is what `--help` says, defaults included."""

    names: tuple[str, ...]
    value: Value | None
    metavar: str
    help: str
    own_help: str
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Argument:
    """One positional argument, as often as it may stand."""

    metavar: str
    value: Value
    many: bool
    required: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A command, or a group of them; the root has an empty path."""

    path: tuple[str, ...]
    aliases: tuple[str, ...]
    line: str
    text: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    nodes: tuple[Node, ...]

    @property
    def name(self) -> str:
        """As it is typed; nothing for the root."""
        return " ".join(self.path)

    def walk(self) -> Iterator[Node]:
        """This one and all below it."""
        yield self
        for node in self.nodes:
            yield from node.walk()


def tree() -> Node:
    """The whole table; imports every command."""
    return _node(cli, (), _context(cli, "orchctl", None))


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(command, parent, info_name=name, **command.context_settings)


def _node(command: click.Command, path: tuple[str, ...], context: click.Context) -> Node:
    nodes: list[Node] = []
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                nodes.append(_node(below, (*path, name), _context(below, name, context)))
    params = command.get_params(context)
    top = path[0] if path else ""
    return Node(
        path=path,
        aliases=tuple(alias for alias, name in ALIASES.items() if path == (name,)),
        line=COMMANDS[top][1] if len(path) == 1 else command.get_short_help_str(limit=100),
        text=command.help or "",
        options=tuple(one for param in params if isinstance(param, click.Option) for one in _options(param, context)),
        arguments=tuple(_argument(param, context, top) for param in params if isinstance(param, click.Argument)),
        nodes=tuple(nodes),
    )


def _options(param: click.Option, context: click.Context) -> Iterator[Option]:
    """One, or two where a flag has a name to switch it off."""
    record = param.get_help_record(context)
    if record is None:  # hidden
        return
    flag = param.is_flag or param.count
    metavar = "" if flag else param.make_metavar(context)
    top = context.command_path.split()[1:2]
    value = None if flag else _value(param, metavar, top[0] if top else "")
    for names in (param.opts, param.secondary_opts):
        if names:
            order = tuple(sorted(names, key=lambda name: (name.startswith("--"), names.index(name))))
            yield Option(order, value, metavar, record[1], param.help or "", param.multiple or param.count)


def _argument(param: click.Argument, context: click.Context, top: str) -> Argument:
    shown = param.metavar or (param.name or "").upper()
    return Argument(
        metavar=shown.strip("[]."),
        value=_value(param, shown, top),
        many=param.nargs == -1,
        required=param.required,
    )


def _value(param: click.Parameter, metavar: str, top: str) -> Value:
    """By its type, then by its metavar, then by its name: the words that the whole command line uses."""
    kind = param.type
    if isinstance(kind, click.Choice):
        return Value("words", tuple(str(one) for one in kind.choices))
    if kind.name == "signal" or metavar in _SIGNALS:
        return Value("words", SIGNALS)
    if metavar in _FOLDERS or (isinstance(kind, click.Path) and not kind.file_okay):
        return Value("folder")
    if metavar in _FILES or isinstance(kind, click.Path | click.File):
        return Value("file")
    if "|" in metavar and (words := [found[1] for part in metavar.split("|") if (found := _WORD.fullmatch(part))]):
        return Value("words", tuple(words))
    return Value(_candidates(param, metavar.strip("[]."), (param.name or "").lower(), top))


def _candidates(param: click.Parameter, metavar: str, name: str, top: str) -> str:
    if isinstance(param, click.Argument) and param.nargs == -1 and name == "command":
        return "command"
    if name == "manager" or metavar == "MANAGER":
        return "managers"
    if metavar not in ("SESSION", "SESSIONS") and name not in ("session", "sessions"):
        return "text"
    if top in BY_FILES_ALONE:
        return "any-by-name"
    return f"{'any' if top in OF_ENDED_TOO else 'live'}{'-many' if param.nargs == -1 else ''}"

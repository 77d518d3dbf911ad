"""The tables of docs/PROTOCOL.md, made from the code."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchctl.protocol import frames, messages
from orchctl.protocol.codec import Hello

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "PROTOCOL.md"
BEGIN = "<!-- made by python -m tests.generate; not to be edited -->\n"
END = "<!-- end of what is made -->\n"
REQUESTS: tuple[type[Any], ...] = typing.get_args(messages.Request)
ANSWERS: tuple[type[Any], ...] = typing.get_args(messages.Answer)
ANSWERED_BY: dict[type[Any], str] = {
    messages.SpawnSession: "`session`",
    messages.ListSessions: "`sessions`, in pages",
    messages.SelectSessions: "`sessions`, in pages",
    messages.RenameSession: "`session`",
    messages.LabelSession: "`session`",
    messages.GetSession: "`session`",
    messages.WaitSession: "`session`, once it is closed",
    messages.ReadOutput: "a stream: `stream.begins`, perhaps `stream.snapshot`, then data frames with `stream.gap`, "
    "`stream.time` and `stream.command` between them, `stream.ends`",
    messages.AckOutput: "`done`",
    messages.ReadEvents: "`events`, again and again",
    messages.Prune: "`pruned`",
    messages.SendInput: "`done`, once the terminal has taken all of it",
    messages.InterruptSession: "`done`",
    messages.ControlSession: "`session`",
    messages.RestartSession: "`session`",
    messages.KillSessions: "`killed`",
    messages.KillByManager: "`killed`",
    messages.ExecCommand: "`command.waits` if asked for, `command.begins`, data frames with `stream.gap` between them, "
    "`command.ends`",
    messages.PutSpool: "`done`",
    messages.DetachCommand: "`done`",
    messages.InterruptCommand: "`command.interrupted`",
    messages.GetHistory: "`commands`, in pages",
    messages.WaitFor: "`fired`",
    messages.GetTerminal: "`terminal`",
    messages.OpenView: "`lease.news`, now and at each change; the one with the reason `closed` is the last",
    messages.TakeLease: "`lease`",
    messages.ReleaseLease: "`lease`",
    messages.TransferLease: "`lease`",
    messages.GetLease: "`lease`",
    messages.GetPending: "`pending`",
    messages.ReplyTo: "`pending`, with the request that was replied to",
    messages.ListHarnesses: "`harnesses`",
    messages.GetStatus: "`status`",
    messages.StopSupervisor: "`done`, and then the supervisor hangs up",
    messages.RestartSupervisor: "`done`, from the next supervisor",
}
_PLAIN = {str: "text", int: "integer", float: "number", bool: "boolean"}
_COMMENT = re.compile(r"^    (\w+): [^#\n]*#\s*(?:noqa\S*\s*)?(.*)$", re.MULTILINE)


def tables() -> str:
    """All messages and what they are made of, as Markdown."""
    parts = ["### Requests\n"]
    parts += [_section(one, f"Answered by {ANSWERED_BY[one]}.") for one in sorted(REQUESTS, key=_kind)]
    parts += ["### Answers\n", *(_section(one) for one in sorted(ANSWERS, key=_kind))]
    parts += ["### Values\n", _section(Hello), *(_section(one) for one in _values())]
    return "\n".join(parts)


def limits() -> Iterator[tuple[str, int]]:
    """The numbers that the text has to have, with their names."""
    for name, value in vars(frames).items():
        if name.endswith("_BYTES"):
            yield name, value


def _kind(message: type[Any]) -> str:
    return str(message.kind)


def _section(kind: type[Any], more: str = "") -> str:
    title = f"`{kind.kind}`" if hasattr(kind, "kind") else kind.__name__
    words = _renamed(inspect.cleandoc(kind.__doc__ or ""))
    if issubclass(kind, enum.Enum):
        return f"#### {title}\n\n{words} One of {', '.join(f'`{one.value}`' for one in kind)}.\n"
    rows = list(_rows(kind))
    table = "| field | type | default | |\n|---|---|---|---|\n" + "".join(rows) if rows else "No fields.\n"
    return f"#### {title}\n\n{words}\n{f'{chr(10)}{more}{chr(10)}' if more else ''}\n{table}"


def _rows(kind: type[Any]) -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    comments = dict(_COMMENT.findall(inspect.getsource(kind)))
    for field in dataclasses.fields(kind):
        said = _renamed(comments.get(field.name, "")).replace("|", "\\|")
        yield f"| `{field.name}` | {_type(hints[field.name])} | {_default(field)} | {said} |\n"


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory()
        return "`{}`" if made == {} else "of its own" if dataclasses.is_dataclass(made) else f"`{made!r}`"
    if field.default is dataclasses.MISSING:
        return "required"
    words = {None: "`null`", True: "`true`", False: "`false`", (): "`[]`"}
    value = field.default.value if isinstance(field.default, enum.Enum) else field.default
    if isinstance(value, bool) or value is None or value == ():
        return words[value]
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _type(hint: Any) -> str:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return " or ".join("null" if one is types.NoneType else _type(one) for one in args)
    if origin is tuple:
        return f"list of {_type(args[0])}"
    if origin is dict:
        return f"map of text to {_type(args[1])}"
    return _PLAIN.get(hint) or f"`{hint.__name__}`"


def _values() -> list[type[Any]]:
    """Every type that a message is made of, by name."""
    found, todo = set[type[Any]](), [*REQUESTS, *ANSWERS]
    while todo:
        one = todo.pop()
        for hint in typing.get_type_hints(one).values() if dataclasses.is_dataclass(one) else ():
            new = {inner for inner in _inner(hint) if inner not in found and inner not in _PLAIN}
            found |= new
            todo += new
    return sorted(found, key=lambda kind: kind.__name__)


def _inner(hint: Any) -> Iterator[type[Any]]:
    args = typing.get_args(hint)
    if args:
        for one in args:
            yield from _inner(one)
    elif isinstance(hint, type) and hint is not types.NoneType:
        yield hint


def _renamed(text: str) -> str:
    """Classes of ours are known by their kinds on the wire."""
    names = {one.__name__: one.kind for one in (*REQUESTS, *ANSWERS)}
    return re.sub(r"`(\w+)`", lambda found: f"`{names.get(found[1], found[1])}`", text)


def document(text: str) -> str:
    """The document with the tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"

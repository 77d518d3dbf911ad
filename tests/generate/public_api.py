"""The public library as plain text, compared with tests/public_api.txt.

A line that goes or changes is a break for somebody's program; a new one is a promise. Both are looked at in review.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import orchctl
from orchctl.errors import OrchctlError

MADE_BY_USERS = ("Client", "AsyncClient")
PINNED = Path(__file__).parent.parent / "public_api.txt"


def described() -> str:
    """Every public name, and what of it a program can use."""
    lines = []
    for name in sorted(orchctl.__all__):
        found = getattr(orchctl, name)
        if isinstance(found, ModuleType):
            lines += [*_module(name, found), ""]
        elif isinstance(found, type):
            lines += [f"class {name}{_bases(found)}", *(f"    {line}" for line in _members(found)), ""]
        else:
            lines += [f"{name}: {type(found).__name__}", ""]
    return "\n".join(lines)


def _bases(kind: type) -> str:
    names = [base.__name__ for base in kind.__bases__ if base.__name__ in orchctl.__all__]
    return f"({', '.join(names)})" if names else ""


def _members(kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{one.name} = {one.value!r}" for one in kind)
        return
    if dataclasses.is_dataclass(kind):
        yield from (_field(field) for field in dataclasses.fields(kind))
    else:
        yield from _attributes(kind)
    if kind.__name__ in MADE_BY_USERS:
        yield f"__init__{_signature(inspect.getattr_static(kind, '__init__'))}"
    for name in sorted(dir(kind)):
        if name in ("__iter__", "__aiter__", "__enter__", "__aenter__") or not name.startswith("_"):
            yield from _member(name, inspect.getattr_static(kind, name))


def _attributes(kind: type) -> Iterator[str]:
    """What `__init__` gives every one of them."""
    made = [vars(one)["__init__"] for one in kind.__mro__ if inspect.isfunction(vars(one).get("__init__"))]
    names = {name for one in made for name in re.findall(r"self\.([a-z]\w*)(?:: [^=\n]+)? =", inspect.getsource(one))}
    yield from (f"self.{name}" for name in sorted(names))


def _field(field: dataclasses.Field[object]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}: {field.type} = {field.default!r}"
    made = "" if field.default_factory is dataclasses.MISSING else " = …"
    return f"{field.name}: {field.type}{made}"


def _member(name: str, found: object) -> Iterator[str]:
    if isinstance(found, property):
        yield f"{name}: {inspect.signature(found.fget).return_annotation}" if found.fget else name
    elif isinstance(found, classmethod):
        yield f"@classmethod {name}{_signature(found.__func__)}"
    elif inspect.isfunction(found):
        asynchronous = inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)
        yield f"{'async ' if asynchronous else ''}{name}{_signature(found)}"


class _Plain:
    """An annotation as it is written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(function: Callable[..., object]) -> str:
    found = inspect.signature(function)
    parameters = [one.replace(annotation=_plain(one.annotation)) for one in list(found.parameters.values())[1:]]
    return str(found.replace(parameters=parameters, return_annotation=_plain(found.return_annotation)))


def _plain(annotation: object) -> object:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"module {name}"
    for one, kind in sorted(vars(module).items()):
        if isinstance(kind, type) and issubclass(kind, OrchctlError):
            yield f"    class {one}({kind.__bases__[0].__name__}): code {kind.code!r}, exit status {kind.exit_status}"

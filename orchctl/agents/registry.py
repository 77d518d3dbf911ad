"""Which agents there are: the folders beside this file, and backends that other packages bring (`extras`).

A backend is imported when it is used. Names are looked up once in a process.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchctl import extras
from orchctl.agents.interface import Harness
from orchctl.errors import BadInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@functools.cache
def _loaders() -> dict[str, Callable[[], Harness]]:
    """How each is had, by its name. No package takes the name of one that is inside."""
    inside = {name: functools.partial(_inside, name) for name in extras.agents_inside(hidden=True)}
    outside = {name: functools.partial(_outside, entry) for name, entry in extras.agents_outside().items()}
    return {**outside, **inside}


def _inside(name: str) -> Harness:
    harness: Harness = importlib.import_module(f"orchctl.agents.{name}").HARNESS
    return harness


def _outside(entry: EntryPoint) -> Harness:
    try:
        harness: Harness = entry.load()
    except Exception as error:  # of somebody else's package, which may do anything
        what = f"the backend {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}"
        raise BadInput(what, code="bad-backend") from error
    return harness


def names() -> tuple[str, ...]:
    """What `spawn -b` takes, beside `pty` and `pipe`."""
    return tuple(sorted(_loaders()))


def is_agent(backend: str) -> bool:
    """Whether that is an agent's backend; programs, by far the most, are told at once."""
    return backend not in ("pty", "pipe") and backend in _loaders()


def shown() -> tuple[str, ...]:
    """The names of those that are for users and can be loaded."""
    hidden = {*extras.agents_inside(hidden=True)} - {*extras.agents_inside()}
    return tuple(name for name in names() if name not in hidden and name not in broken())


def broken() -> dict[str, str]:
    """What is wrong with those of other packages that cannot be loaded, by name."""
    found = {}
    for name in extras.agents_outside():
        try:
            find(name)
        except BadInput as error:
            found[name] = error.message
    return found


def find(name: str) -> Harness:
    """The harness of that name."""
    if name not in _loaders():
        raise BadInput(f"there is no harness {name!r}; there are {', '.join(shown())}", code="bad-backend")
    return _loaders()[name]()

"""Dataclasses that get their methods when they are first used: writing and compiling those is most of what they cost.

One command imports about a hundred dataclasses and makes values of ten. To whoever uses it, `dataclass` is the
standard library's, always with slots and without bases, and only its `__init__` is compiled. What the zygote imports
keeps to the standard library's own: there it is better to have everything before the first fork.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")
Fields = tuple[dataclasses.Field[Any], ...]


def lazily(
    *, slots: bool, frozen: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass`."""
    assert slots
    methods: dict[str, Any] = {"__repr__": _repr, "__getstate__": _get_state, "__setstate__": _set_state}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if eq:
        methods |= {"__eq__": _equal, "__hash__": _hash if frozen else None}

    def decorate(plain: type[T]) -> type[T]:
        assert plain.__bases__ == (object,)
        fields = tuple(name for name, hint in plain.__annotations__.items() if not hint.startswith("ClassVar["))
        body = methods | _body(plain) | {"__slots__": fields}
        for name in fields:
            body.pop(name, None)
        for name in ("__init__", "__dataclass_fields__"):  # nobody makes a value or looks at the class without these
            body[name] = _Unfinished(name, plain, frozen, kw_only)
        made: type[T] = type(plain.__name__, (), body)
        made.__qualname__ = plain.__qualname__
        return made

    return decorate


class _Unfinished:
    """Stands for what is not there yet: whoever asks for it has it made."""

    def __init__(self, name: str, plain: type[Any], *how: bool) -> None:
        self._name, self._plain, self._how = name, plain, how

    def __get__(self, value: object, made: type[Any]) -> Any:
        _finish(made, self._plain, *self._how)
        return getattr(made if value is None else value, self._name)


def _finish(made: type[Any], plain: type[Any], frozen: bool, kw_only: bool) -> None:
    """Threads may do this at the same time: each has a twin of its own to ask, and all set the same."""
    twin: type[Any] = type(plain.__name__, (), _body(plain))
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(twin)
    twin.__dataclass_params__.frozen = frozen  # said afterwards, it compiles nothing
    for name in ("__dataclass_params__", "__match_args__", "__dataclass_fields__"):
        setattr(made, name, getattr(twin, name))
    made.__init__ = _init(plain, dataclasses.fields(twin), kw_only)


def _init(plain: type[Any], fields: Fields, kw_only: bool) -> Callable[..., None]:
    """Compiled, so that values are made fast and errors and signatures are Python's own."""
    names: dict[str, Any] = {"_put": object.__setattr__, "_LATER": _LATER}
    head, lines = ["self", "*"] if kw_only else ["self"], []
    for one in fields:
        value = one.name
        if one.default_factory is not dataclasses.MISSING:
            names[f"_make_{one.name}"] = one.default_factory
            head.append(f"{one.name}=_LATER")
            value = f"_make_{one.name}() if {one.name} is _LATER else {one.name}"
        elif one.default is not dataclasses.MISSING:
            names[f"_default_{one.name}"] = one.default
            head.append(f"{one.name}=_default_{one.name}")
        else:
            head.append(one.name)
        lines.append(f" _put(self, {one.name!r}, {value})")
    exec(f"def __init__({', '.join(head if fields else head[:1])}):\n" + ("\n".join(lines) or " pass"), names)  # noqa: S102
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{plain.__qualname__}.__init__"
    made.__annotations__ = {**{one.name: one.type for one in fields}, "return": None}
    return made


class _Later:
    def __repr__(self) -> str:
        return "<factory>"


_LATER = _Later()


def _body(kind: type[Any]) -> dict[str, Any]:
    body = dict(vars(kind))
    del body["__dict__"], body["__weakref__"]
    return body


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _compared(value: Any) -> tuple[object, ...]:
    return tuple(getattr(value, one.name) for one in dataclasses.fields(value) if one.compare)


def _equal(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = lazily

"""Frozen dataclasses to and from plain JSON values, checked field by field. Pure.

Unknown fields are ignored and new fields have defaults, so that old and new builds understand
each other; a wrong type or a missing field is `PeerBroke`, never a half-made value.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import types
import typing
from functools import cache
from typing import Any, TypeVar

from orchctl.errors import PeerBroke

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """What `json.dumps` can take, for a value made of dataclasses, enums, tuples and dicts."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value


def text_or_base64(name: str, data: bytes) -> dict[str, str]:
    """A field of JSON: text, or base64 under another name where the bytes are none."""
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        import base64

        return {f"{name}_b64": base64.b64encode(data).decode("ascii")}


def from_plain(kind: type[T], data: object) -> T:
    """The dataclass `kind` made from parsed JSON."""
    if not isinstance(data, dict):
        raise PeerBroke(f"{kind.__name__} is not an object")
    hints = _hints(kind)  # type: ignore[arg-type]
    found = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in data:
            found[field.name] = _value(hints[field.name], data[field.name], f"{kind.__name__}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise PeerBroke(f"{kind.__name__}.{field.name} is missing")
    return kind(**found)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(hint: Any, data: Any, where: str) -> Any:
    if hint is Any:
        return data
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType or origin is typing.Union:
        if data is None:
            return None
        (inner,) = [arg for arg in args if arg is not types.NoneType]
        return _value(inner, data, where)
    if origin is tuple and isinstance(data, list):
        return tuple(_value(args[0], item, where) for item in data)
    if origin is dict and isinstance(data, dict):
        return {key: _value(args[1], item, where) for key, item in data.items()}
    if origin is None:
        return _scalar(hint, data, where)
    raise PeerBroke(f"{where} has the wrong type")


def _finite(data: float, where: str) -> float:
    try:
        number = float(data)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise PeerBroke(f"{where} is too large")
    return number


def _scalar(hint: Any, data: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast("type[Any]", hint), data)
    if hint is float and type(data) in (int, float):
        return _finite(data, where)
    if type(data) is hint:
        return data
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(data)
        except ValueError:
            raise PeerBroke(f"{where} is not one of {', '.join(str(one.value) for one in hint)}") from None
    raise PeerBroke(f"{where} has the wrong type")

"""JSON Schema (draft 2020-12) made from dataclasses and their types."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, Literal

from orchctl.cli.shapes import SHAPES

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_OURS = "orchctl.cli."  # shapes that commands make: there a default means that a field may be missing
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", types.NoneType: "null"}


def document(name: str | None = None) -> Schema:
    """The schema of one shape with all that it refers to, or of all of them."""
    made: Schema = {}
    for one in [name] if name else SHAPES:
        shape, printed_by = SHAPES[one]
        schema = _schema(shape() if isinstance(shape, types.FunctionType) else shape, made)
        what = ", ".join(f"'orchctl {command} --json'" for command in printed_by)
        made[one] = {"title": f"printed by {what}" if what else "printed on stderr with --json"} | schema
    head = {"$schema": DRAFT, "$id": f"urn:orchctl:schema{f':{name}' if name else ''}"}
    return head | ({"$ref": f"#/$defs/{name}"} if name else {}) | {"$defs": dict(sorted(made.items()))}


def _schema(hint: Any, made: Schema) -> Schema:  # noqa: PLR0911 - one for each kind of type
    """For a type; classes go to `made`, under their names, and are referred to."""
    if hint is Any:
        return {}
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union(args, made)
    if origin is tuple:
        return _array(args, made)
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], made)}
    if dataclasses.is_dataclass(hint):
        return {"$ref": f"#/$defs/{_object(typing.cast('type[Any]', hint), made)}"}
    if values := args if origin is Literal else _members(hint):
        return {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return {"type": _SCALARS[hint]}


def _members(hint: Any) -> tuple[Any, ...]:
    return tuple(one.value for one in typing.cast("type[enum.Enum]", hint)) if isinstance(hint, enum.EnumType) else ()


def _union(args: tuple[Any, ...], made: Schema) -> Schema:
    if all(arg in _SCALARS for arg in args):
        return {"type": [_SCALARS[arg] for arg in args]}
    return {"anyOf": [_schema(arg, made) for arg in args]}


def _array(args: tuple[Any, ...], made: Schema) -> Schema:
    if args[-1] is Ellipsis:
        return {"type": "array", "items": _schema(args[0], made)}
    items = [_schema(arg, made) for arg in args]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _object(kind: type[Any], made: Schema) -> str:
    """Put the schema of a dataclass into `made`; its name there. Fields that are not known yet may come."""
    name = kind.__name__
    if name not in made:
        made[name] = {}  # it may refer to itself
        hints = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        made[name] = {
            "description": " ".join((kind.__doc__ or "").split()),
            "type": "object",
            "properties": {field.name: _schema(hints[field.name], made) for field in fields},
            "required": [field.name for field in fields if not _may_miss(kind, field)],
        }
    return name


def _may_miss(kind: type[Any], field: dataclasses.Field[Any]) -> bool:
    home = next(one for one in kind.__mro__ if field.name in inspect.get_annotations(one))
    return home.__module__.startswith(_OURS) and field.default is not dataclasses.MISSING

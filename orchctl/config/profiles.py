"""`[profiles.NAME]` in the config file: how a harness is to be run under that name."""

from __future__ import annotations

from typing import Any

from orchctl.session.agent import Permission, Profile

_TABLES = ("env", "options")
_ALL = ("harness", "argv", "env", "model", "permission", "options")


def read(data: Any) -> tuple[dict[str, Profile], list[tuple[str, str]]]:
    """The profiles, and what is wrong with others: its place and why."""
    found: dict[str, Profile] = {}
    wrong: list[tuple[str, str]] = []
    for name, table in data.items() if isinstance(data, dict) else ():
        reason = _wrong(table)
        if reason is not None:
            wrong.append((f"profiles.{name}", reason))
            continue
        permission = table.get("permission")
        found[name] = Profile(
            name=name,
            harness=table["harness"],
            argv=tuple(table.get("argv", ())),
            env=table.get("env", {}),
            model=table.get("model"),
            permission=Permission(permission) if permission is not None else None,
            options=table.get("options", {}),
        )
    if not isinstance(data, dict):
        wrong.append(("profiles", "not a table, written [profiles.NAME]"))
    return found, wrong


def _wrong(table: Any) -> str | None:
    """The first thing that is."""
    if not isinstance(table, dict) or not isinstance(table.get("harness"), str):
        return 'it needs harness = NAME, such as "codex"'
    unknown = next((key for key in table if key not in _ALL), None)
    argv, permission = table.get("argv", []), table.get("permission", "ask")
    tables = [table.get(key, {}) for key in _TABLES]
    checks = {
        f"there is no {unknown!r} in a profile; there are {', '.join(_ALL)}": unknown is None,
        "its model is not a text": isinstance(table.get("model", ""), str),
        "its argv is not a list of words": isinstance(argv, list) and all(isinstance(word, str) for word in argv),
        "its env and options are not tables of texts": all(map(_is_texts, tables)),
        f"its permission is none of {', '.join(Permission)}": permission in list(Permission),
    }
    return next((reason for reason, holds in checks.items() if not holds), None)


def _is_texts(table: Any) -> bool:
    return isinstance(table, dict) and all(isinstance(value, str) for value in table.values())

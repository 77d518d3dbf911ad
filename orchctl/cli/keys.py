"""Keys by name, as the bytes a terminal sends for them: `C-c`, `M-x`, `Enter`, `Up`, `F5`. Pure."""

from __future__ import annotations

import click

_NAMED = {
    "enter": b"\r",
    "return": b"\r",
    "tab": b"\t",
    "btab": b"\x1b[Z",
    "escape": b"\x1b",
    "esc": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
    "bspace": b"\x7f",
    "delete": b"\x1b[3~",
    "insert": b"\x1b[2~",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pgup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "pgdn": b"\x1b[6~",
    "f1": b"\x1bOP",
    "f2": b"\x1bOQ",
    "f3": b"\x1bOR",
    "f4": b"\x1bOS",
} | {
    f"f{number}": b"\x1b[%d~" % code
    for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
}
_CONTROL = {"space": 0, "@": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31, "?": 127}


class Key(click.ParamType[bytes]):
    """The name of a key."""

    name = "key"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """What a terminal sends for it."""
        found = value if isinstance(value, bytes) else key_bytes(str(value))
        if found is None:
            self.fail(
                f"{value!r} is not a key such as C-c, M-x, Enter, Tab, Escape, Up, PageDown, F5 or a single character",
                param,
                ctx,
            )
        return found


def key_bytes(name: str) -> bytes | None:
    """What a terminal sends for the key of that name; None if there is none."""
    if len(name) == 1:
        return name.encode("utf-8", "surrogateescape")
    if name.lower() in _NAMED:
        return _NAMED[name.lower()]
    prefix, dash, rest = name[:1], name[1:2], name[2:]
    if dash != "-" or not rest:
        return None
    if prefix in ("C", "c", "^"):
        return _control(rest)
    if prefix in ("M", "m", "A", "a"):
        inner = key_bytes(rest)
        return None if inner is None else b"\x1b" + inner
    return None


def _control(rest: str) -> bytes | None:
    if len(rest) == 1 and rest.isascii() and rest.isalpha():
        return bytes([ord(rest.lower()) & 0x1F])
    code = _CONTROL.get(rest.lower())
    return None if code is None else bytes([code])

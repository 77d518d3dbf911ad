"""Terminals: escape sequences, keys, modes, and views of what a program wrote to one. Pure.

Here is what may be shown on one: what could act on a person's terminal is spelled out.
"""

from __future__ import annotations

import re

# C0 without tab and newline, DEL and C1; marks that reorder what is read; surrogates
HIDDEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_COLOUR_OR_HIDDEN = re.compile(rf"(\x1b\[[0-9;:]{{0,64}}m)|[{HIDDEN}]")


def visible(text: str) -> str:
    """`text` with colour kept and everything else that could act on a terminal spelled out."""
    return _COLOUR_OR_HIDDEN.sub(lambda found: found[1] or spell(found[0]), text)


def one_line(text: str) -> str:
    """For a table: no colour, no newline, no tab."""
    return "".join(spell(char) if char in "\n\t\x1b" else visible(char) for char in text)


def spell(char: str) -> str:
    """A character as text: `^A`, or its number."""
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

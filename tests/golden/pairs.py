"""What a supervisor and a pair say to each other, by kind: what is in each frame, and what answers it.

Written from the comments of the frozen protocol and not from its code. Capitals are the supervisor's.
"""

from __future__ import annotations

import json
import struct
from typing import Any

FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "W": (">Q", ("offset",)),
    "R": (">HH", ("cols", "rows")),
    "S": (">I", ("signal",)),
    "K": (">d", ("grace_s",)),
    "L": (">", ()),
    "X": (">QI", ("since_ticks", "signal")),
    "H": (">Q", ("offset",)),
    "T": (">Q", ("keep_bytes",)),
    "N": (">", ()),
    "P": (">I", ("stop",)),
    "Z": (">I", ("signal",)),
    "Q": (">", ()),
    "E": (">", ()),
    "A": (">Q", ("number",)),
    "O": (">I", ("on",)),
    "F": (">Q", ("epoch",)),
    "I": (">16s", ("once",)),
    "U": (">Q16s", ("epoch", "once")),
    "C": (">Q16s", ("epoch", "once")),
    "g": (">", ()),
    "j": (">", ()),
    "x": (">I", ("count",)),
    "k": (">", ()),
    "a": (">Q", ("number",)),
    "t": (">16sIB", ("once", "taken", "outcome")),
    "h": (">", ()),
    "s": (">", ()),
    "b": (">", ()),
    "q": (">", ()),
}
JSON = ("h", "s", "q", "a")  # what is behind the numbers, if there are any
TEXT = ("b",)
BYTES = ("I", "U")
ANSWERS = {
    "L": "s",
    "X": "x",
    "Q": "q",
    "E": "k",
    "A": "a",
    "I": "t",
    "U": "t",
    "C": "t",
    "W": "g",
    "R": "j",
    "P": "j",
    "K": "j",
}


def meaning(kind: str, payload: bytes) -> dict[str, Any]:
    """What a frame says."""
    form, names = FIELDS[kind]
    size = struct.calcsize(form)
    values = struct.unpack(form, payload[:size])
    said = {name: value.hex() if isinstance(value, bytes) else value for name, value in zip(names, values, strict=True)}
    rest = payload[size:]
    if kind in JSON:
        said["json"] = json.loads(rest)
    elif kind in TEXT:
        said["text"] = rest.decode()
    elif kind in BYTES:
        said["data"] = rest.hex()
    else:
        assert rest == b"", (kind, payload)
    return said

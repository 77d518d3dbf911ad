"""A JSON object with its own checksum in it, so that a changed bit is never believed. Pure.

The checksum is the last field, `crc32`: eight hex digits of the CRC-32 of the object's text without that field. The
file stays a JSON object that every older version reads. Files of older versions have no such field, and are read as
they are.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

FIELD = "crc32"
_DIGITS = 8
_OPEN, _CLOSE = f', "{FIELD}": "'.encode("ascii"), b'"}'
_TAIL_BYTES = len(_OPEN) + _DIGITS + len(_CLOSE)


def dump(data: dict[str, Any]) -> str:
    """The text of an object that is not empty, with its checksum."""
    text = json.dumps(data)
    return f'{text[:-1]}, "{FIELD}": "{zlib.crc32(text.encode("ascii")):08x}"}}'


def load(text: bytes) -> dict[str, Any]:
    """The object; ValueError where it is not as it was written."""
    body, tail = text[:-_TAIL_BYTES] + b"}", text[-_TAIL_BYTES:]
    digits = tail[len(_OPEN) : -len(_CLOSE)]
    right = digits == b"%08x" % zlib.crc32(body)
    try:
        data = json.loads(text.decode("ascii"))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    if (FIELD in data) != right:  # also where the damage is in the name of the field
        raise ValueError("the checksum does not match")
    data.pop(FIELD, None)
    return data

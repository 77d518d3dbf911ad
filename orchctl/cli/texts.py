"""Text of a session among a command's results: in JSON, and in front of a person."""

from __future__ import annotations

import base64
import os
from typing import Any

from orchctl.client.output import write_all
from orchctl.terminal.views import visible


def plain_text(name: str, data: bytes) -> dict[str, Any]:
    """A field of JSON: text, or base64 under another name where the bytes are none."""
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_b64": base64.b64encode(data).decode("ascii")}


def show_text(data: bytes) -> None:
    """On stdout: as it is into a pipe, made safe on a terminal."""
    write_all(1, visible(data.decode("utf-8", "backslashreplace")).encode() if os.isatty(1) else data)

"""A person at the keyboard, on a session in the hands of pexpect: keys go in, output comes out, until the escape."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable
from typing import TYPE_CHECKING

from pexpect import EOF, TIMEOUT

from orchctl.client.output import write_all

if TYPE_CHECKING:
    from orchctl.client.pexpect import SessionSpawn

KEYS_BYTES = 1000
Filter = Callable[[bytes], bytes]


def interact(spawn: SessionSpawn, escape: bytes | None, keys_filter: Filter, output_filter: Filter) -> None:
    """Until the escape is typed, or the session has ended; the terminal is as before afterwards."""
    keyboard = sys.stdin.fileno()
    modes = termios.tcgetattr(keyboard)
    tty.setraw(keyboard)
    try:
        while True:
            ready = select.select([keyboard, *spawn.filenos()], [], [], 0 if spawn.has_come else None)[0]
            if (spawn.has_come or set(ready) - {keyboard}) and not _show(spawn, output_filter):
                return
            if keyboard in ready and not _pass_on(spawn, os.read(keyboard, KEYS_BYTES), escape, keys_filter):
                return
    finally:
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, modes)


def _show(spawn: SessionSpawn, output_filter: Filter) -> bool:
    """What has come; False at the end."""
    try:
        text = spawn.read_nonblocking(1 << 16, 0)
    except TIMEOUT:  # it was no output
        return True
    except EOF:
        return False
    data = text if isinstance(text, bytes) else text.encode(spawn.encoding or "utf-8", spawn.codec_errors)
    write_all(1, output_filter(data))
    return True


def _pass_on(spawn: SessionSpawn, typed: bytes, escape: bytes | None, keys_filter: Filter) -> bool:
    """The keys up to the escape; False once it came."""
    keys = keys_filter(typed)
    at = keys.rfind(escape) if escape is not None else -1
    if at >= 0:
        keys = keys[:at]
    if keys:
        spawn.type_keys(keys)
    return at < 0 and bool(typed)

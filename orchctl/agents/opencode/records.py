"""Our own lines in a server's raw log, between its events: what was asked of it, what it answered, what was read.

They are there because a new supervisor knows only what is in the log: which prompt a message is, that an interrupt was
asked for, that pieces were missed. An event of the server has a `type`; a line of ours has `orchctl` instead. At the
end: what a server is told about our plugin, which gives commands the variables of their conversation.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

_FORM = re.compile(r"[a-z]{3}_([0-9a-f]{12})[0-9A-Za-z]{14}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TAIL = 14
_TIME_BITS = (1 << 36) - 1  # of milliseconds are in an id, which is two years


def _made(kind: str, now_ms: int, seed: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"{kind}:{seed}".encode()).digest(), "big")
    tail = ""
    for _ in range(_TAIL):
        number, digit = divmod(number, len(_ALPHABET))
        tail += _ALPHABET[digit]
    # the server counts from 1 within a millisecond, so what it makes in this one comes after ours
    return f"{kind}_{(now_ms << 12) & 0xFFFF_FFFF_FFFF:012x}{tail}"


def message_id(now_ms: int, seed: str) -> str:
    """For a prompt. The seed makes it unique; the same time and seed give the same id."""
    return _made("msg", now_ms, seed)


def time_after(now_ms: int, newest: str | None) -> int:
    """Now, or just after the newest message where the clock was set back: an older prompt would count as answered."""
    found = _FORM.fullmatch(newest or "")
    ahead_ms = ((int(found[1], 16) >> 12) - now_ms) & _TIME_BITS if found else _TIME_BITS
    return now_ms + ahead_ms + 1 if ahead_ms <= _TIME_BITS >> 1 else now_ms


def part_id(now_ms: int, seed: str) -> str:
    """For a prompt's text: without one, saying the prompt again would add the text a second time."""
    return _made("prt", now_ms, seed)


def before(one: str, other: str) -> bool:
    """Whether one was surely made before the other; ids of any other form are before nothing."""
    first, second = _FORM.fullmatch(one), _FORM.fullmatch(other)
    return first is not None and second is not None and first[1] < second[1]


KIND = "orchctl"
OPENED = "opened"  # session, native, directory, model, version
NOT_OPENED = "not-opened"  # session, code, message
POSTING = "posting"  # session, once, message: written before the prompt is on its way
POSTED = "posted"  # session, once
REFUSED = "refused"  # session, once, code, text
STOPPING = "stopping"  # session: an interrupt was asked for
ANSWERED = "answered"  # session, request, reply: by us, or `withdrawn` when the server does not know it any more
CONNECTED = "connected"  # directory: the stream of events begins, or begins again after a gap
READ = "read"  # session, and what was read to close a gap: see translate.py
CLOSED = "closed"  # session


def line(kind: str, **fields: Any) -> bytes:
    """As it is kept."""
    return json.dumps({KIND: kind, **fields}, separators=(",", ":")).encode()


def parsed(raw: bytes) -> Mapping[str, Any] | None:
    """An event or a record; None for anything else."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and (isinstance(value.get("type"), str) or isinstance(value.get(KIND), str)):
        return value
    return None


CONTENT = "OPENCODE_CONFIG_CONTENT"
KEPT = "orchctl_env"  # under which a conversation bears what its commands are to see
_FILE = pathlib.Path(__file__).with_name("tools.js")
# A conversation is given a minute to begin. Not for commands: the plugin takes these away again.
_NPM = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "15000"}


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """What is added to a server's environment; nothing where the user's configuration in it is not plain JSON."""
    npm = {name: value for name, value in _NPM.items() if name not in env}
    try:
        config = json.loads(env.get(CONTENT) or "{}")
    except ValueError:
        return {}
    own = config.get("plugin", []) if isinstance(config, dict) else None
    if not isinstance(own, list):
        return {}
    ours = [_FILE.as_uri(), {"hidden": [*npm]}]
    return {**npm, CONTENT: json.dumps({**config, "plugin": [*own, ours]})}

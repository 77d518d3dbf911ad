"""Every setting there is: its name in the file, what it may be, how it is written, and what it is for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from orchctl import units
from orchctl.lazy_dataclass import dataclass
from orchctl.session.limits import IDLE, LOG, SESSIONS, TIME, TOTAL
from orchctl.terminal import keys

Path = tuple[str, ...]
SMALLEST_RING, LARGEST_RING = 1 << 14, 1 << 50
MOST_SESSIONS = 1_000_000
NONE = "none"  # a limit that is not there; TOML has no word for it
_MANAGER = re.compile(r"[A-Za-z0-9._-]+(?::[A-Za-z0-9._-]+)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them. `convert` takes what TOML gives and raises `ValueError`; `show` gives what can be written there."""

    path: Path
    field: str
    convert: Callable[[Any], Any]
    show: Callable[[Any], str]
    what: str
    later: str = ""  # what goes on with the old value for a while

    @property
    def name(self) -> str:
        """As people write it, and as it may stand in the file."""
        return dotted(self.path)


def dotted(path: Path) -> str:
    """A path as TOML writes it."""
    return ".".join(part if _BARE.fullmatch(part) else '"' + part.replace('"', '\\"') + '"' for part in path)


def find(path: Path) -> Setting | None:
    """The setting at this place of the file, also one for a single manager."""
    if path in SETTINGS:
        return SETTINGS[path]
    if len(path) == 3 and path[0] == "limits" and path[2] in PER_MANAGER and _MANAGER.fullmatch(path[1]):
        base = PER_MANAGER[path[2]]
        return Setting(path, base.field, base.convert, base.show, f"the same for {path[1]} and below", base.later)
    return None


def split(name: str) -> Path:
    """The path that a person means by a name: `limits.agent:a.b.sessions` too, where TOML would want quotes."""
    if name.startswith("limits.") and name.count(".") > 1:
        middle, _, kind = name.removeprefix("limits.").rpartition(".")
        return ("limits", middle.strip("\"'"), kind)
    return tuple(name.split("."))


def is_table(path: Path) -> bool:
    """Whether other settings lie below it."""
    if path in SETTINGS:
        return False
    return any(known[: len(path)] == path for known in SETTINGS) or (path[0] == "limits" and len(path) == 2)


def advice(path: Path) -> str:
    """What to do about a name that is none: the nearest that is one, if one is near."""
    import difflib

    if path in {(known[0],) for known in SETTINGS if len(known) > 1}:
        return f"it is a table, written [{path[0]}]"
    if path[0] == "limits" and len(path) > 3:
        return 'a manager\'s name stands in quotes, as in [limits."agent:one"]'
    if path[0] == "limits" and len(path) == 3 and not _MANAGER.fullmatch(path[1]):
        return f"{path[1]!r} is no manager: segments of [A-Za-z0-9._-] joined by ':'"
    names = [setting.name for setting in SETTINGS.values()] + [known[0] for known in SETTINGS if len(known) > 1]
    if len(path) == 3 and path[0] == "limits":
        names = [dotted(("limits", path[1], kind)) for kind in PER_MANAGER]
    near = [name for name in names if len(path) == 1 and name.rpartition(".")[2] == path[0]]
    near = near or difflib.get_close_matches(dotted(path), names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else "'orchctl config show' lists all of them"


def _size(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    try:
        return units.parse_size(value)
    except (ValueError, TypeError):
        raise ValueError("not a size such as 64M or 4G") from None


def _ring(value: Any) -> int:
    size = _size(value)
    if not SMALLEST_RING <= size <= LARGEST_RING:
        raise ValueError(f"not from {units.format_size(SMALLEST_RING)} to {units.format_size(LARGEST_RING)}")
    return size


def _duration(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= units.LONGEST_S:
        return float(value)
    try:
        return units.parse_duration(value)
    except (ValueError, TypeError):
        raise ValueError("not a duration such as 12h or 7d, up to ten years") from None


def _span(value: Any) -> float:
    seconds = _duration(value)
    if seconds == 0:
        raise ValueError("a session cannot end before it begins")
    return seconds


def _count(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_SESSIONS:
        raise ValueError(f"not a number from 0 to {MOST_SESSIONS}")
    return value


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def either(value: Any) -> Any:
        if value == NONE:
            return None
        try:
            return convert(value)
        except ValueError as error:
            raise ValueError(f"{error}, nor 'none'") from None

    return either


def _durability(value: Any) -> str:
    if value not in ("relaxed", "strict"):
        raise ValueError("neither 'relaxed' nor 'strict'")
    return str(value)


def _shell(value: Any) -> str | None:
    if value == NONE:
        return None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("not the path or the name of a shell, nor 'none'")
    if "/" in value and not value.startswith("/"):
        raise ValueError("a path that does not begin with '/'; a name without one is looked for in PATH")
    return value


def _detach_keys(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not keys such as 'ctrl-p,ctrl-q'")
    keys.parse(value)
    return value


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in_quotes(show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: _quoted(NONE if value is None else show(value))


def _number(value: Any) -> str:
    return str(value) if value is not None else _quoted(NONE)


_SIZES, _DURATIONS, _TEXT = _in_quotes(units.format_size), _in_quotes(units.format_duration), _in_quotes(str)
_NEXT = "sessions that run keep what they began with"
_ALL = (
    Setting(("durability",), "durability", _durability, _TEXT, '"strict": nothing is shown before it is safe'),
    Setting(("idle_exit",), "idle_exit_s", _duration, _DURATIONS, "a supervisor that nobody needs ends after that"),
    Setting(("shell",), "shell", _shell, _TEXT, "what spawn starts without a command; none: the login shell"),
    Setting(("detach_keys",), "detach_keys", _detach_keys, _TEXT, "what leaves an attached session"),
    Setting(("retention", "session"), "session_bytes", _ring, _SIZES, "output kept of one session", _NEXT),
    Setting(("retention", "total"), "total_bytes", _ring, _SIZES, "output kept of all"),
    Setting(("retention", "ended"), "ended_s", _duration, _DURATIONS, "how long a session that is over is kept"),
    Setting(("retention", "events"), "events_bytes", _ring, _SIZES, "events kept"),
    Setting(("retention", "events_age"), "events_s", _duration, _DURATIONS, "how long events are kept"),
    Setting(
        ("harness", "idle"), "server_idle_s", _duration, _DURATIONS, "an agent server without a session ends after that"
    ),
    Setting(
        ("harness", "answer"), "server_answer_s", _span, _DURATIONS, "one that is silent for so long, and owes, hangs"
    ),
    Setting(("limits", TOTAL), TOTAL, _optional(_count), _number, "live sessions in all"),
    Setting(("limits", SESSIONS), SESSIONS, _optional(_count), _number, "live sessions of a manager and below"),
    Setting(("limits", LOG), LOG, _optional(_size), _SIZES, "output kept of a manager and below"),
    Setting(("limits", TIME), TIME, _optional(_span), _DURATIONS, "the longest a session may run", _NEXT),
    Setting(("limits", IDLE), IDLE, _optional(_span), _DURATIONS, "the longest it may be silent", _NEXT),
)
SETTINGS: dict[Path, Setting] = {setting.path: setting for setting in _ALL}
PER_MANAGER = {path[1]: setting for path, setting in SETTINGS.items() if path[0] == "limits" and path[1] != TOTAL}


_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}=,.\n]|[^\S\n]+"
    r"|[^\s\"'#\[\]{}=,.]+",
    re.DOTALL,
)


def locate(text: str) -> dict[Path, int]:
    """The line, from 1, of every key and every table header; of one that is there several times, the first."""
    lines: dict[Path, int] = {}
    table: Path = ()  # of the last header
    path: Path = ()  # of the last key
    parts: list[str] | None = []  # of the key that is being read; None in a value, and behind a header
    brackets: list[Path | None] = []  # that are open in a value: the path of an inline table, None for an array
    following = 1
    for piece in _TOKEN.findall(text):
        line, following = following, following + piece.count("\n")
        if piece[0] == "#" or (piece.isspace() and piece != "\n"):
            continue
        if piece == "\n":
            parts = parts if brackets else []
        elif piece == "}" or (piece == "]" and brackets):
            brackets.pop()
            parts = None
        elif parts is None:
            if piece in ("[", "{"):
                inside = piece == "{" and None not in brackets
                brackets.append(path if inside else None)
                parts = [] if inside else None
            elif piece == "," and brackets and brackets[-1] is not None:
                parts = []
        elif piece in ("=", "]"):
            above = brackets[-1] if brackets else table
            path = (*(above or ()), *parts) if piece == "=" else tuple(parts)
            table = path if piece == "]" else table
            lines.setdefault(path, line)
            parts = None
        elif piece not in (".", "["):
            parts.append(_unquoted(piece))
    return lines


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"]) if key[0] in "\"'" else key

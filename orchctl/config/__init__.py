"""Settings of one state directory, in one `config.toml`. What is missing or wrong there is as it is by default.

`paths.find_config` says where the file is: whoever uses the same state directory has the same settings. An option of a
command comes before the environment, that before the file, and that before the defaults.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from orchctl.config import profiles, table
from orchctl.config.table import (
    LARGEST_RING,
    PER_MANAGER,
    SETTINGS,
    SMALLEST_RING,
    Path,
    Setting,
    advice,
    dotted,
    find,
    is_table,
)
from orchctl.errors import NotPermitted
from orchctl.lazy_dataclass import dataclass
from orchctl.paths import Root
from orchctl.session.agent import Profile
from orchctl.session.limits import TOTAL, Limits
from orchctl.terminal import keys as detach_keys

__all__ = ["LARGEST_RING", "SMALLEST_RING", "Config", "Found", "Problem", "load", "of", "parse", "read", "read_text"]
LONGEST_FILE_BYTES = 1 << 20
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings; `problems` says what was wrong in the file."""

    durability: str = "relaxed"  # or "strict"
    session_bytes: int = 64 << 20  # output kept of one session
    total_bytes: int = 4 << 30  # output kept of all
    ended_s: float = 7 * 86400.0  # how long a session that is over is kept
    events_bytes: int = 256 << 20
    events_s: float = 30 * 86400.0
    idle_exit_s: float = 600.0  # with no session and no client the supervisor ends after that; 0: never
    shell: str | None = None  # None: the password entry's
    detach_keys: str = detach_keys.DEFAULT
    server_idle_s: float = 600.0  # an agent server that holds no session ends after that
    server_answer_s: float = 60.0  # one that owes an answer and says nothing for so long hangs
    limits: Limits = field(default_factory=Limits)
    profiles: dict[str, Profile] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def strict(self) -> bool:
        """Whether nothing is shown before it is safe from power loss."""
        return self.durability == "strict"

    def value(self, path: Path) -> Any:
        """What holds at this place of the file."""
        setting = find(path)
        assert setting is not None
        if path[0] != "limits":
            return getattr(self, setting.field)
        if path[1:] == (TOTAL,):
            return self.limits.total
        rule = self.limits.managers.get(path[1], {}) if len(path) == 3 else self.limits.default
        return rule.get(setting.field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with the file; lines and columns count from 1."""

    message: str
    line: int | None = None
    column: int | None = None
    name: str | None = None
    file: str = "config.toml"  # or config-path, which says where that is

    def __str__(self) -> str:
        place = f" line {self.line}" if self.line is not None else ""
        place += f", column {self.column}" if self.column is not None else ""
        return f"{self.file}{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Found:
    """The settings, what is wrong, and the line of each setting that the file has."""

    config: Config
    problems: tuple[Problem, ...] = ()
    lines: dict[Path, int] = field(default_factory=dict)


def of(root: Root) -> Found:
    """The settings of a state directory; where `config-path` does not say which file, that is the problem."""
    try:
        return load(root.config)
    except NotPermitted as error:
        return _bad(Problem(message=error.message, file="config-path"))


def read(path: str) -> Config:
    """The settings in a file; a file that is not there says nothing."""
    return load(path).config


def load(path: str) -> Found:
    """The same, with where everything stands."""
    try:
        with open(path, "rb", opener=_open) as file:
            data = file.read(LONGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        return Found(Config())
    except OSError as error:
        return _bad(Problem(message=f"it cannot be read: {error.strerror}"))
    if len(data) > LONGEST_FILE_BYTES:
        return _bad(Problem(message=f"it cannot be read: it is longer than {LONGEST_FILE_BYTES} bytes"))
    return read_text(data)


def _open(path: str, flags: int) -> int:
    """Without waiting for somebody to write, should it be a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_text(data: bytes) -> Found:
    """The same for what a file holds."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        return _bad(Problem(message="it cannot be read: this is not UTF-8", line=line, column=column))
    except tomllib.TOMLDecodeError as error:
        return _bad(_not_toml(str(error), text))
    except (ValueError, RecursionError) as error:  # a number that is too long, tables that are too deep
        return _bad(Problem(message=f"it cannot be read: {error}"))
    return parse(values, table.locate(text))


def parse(data: dict[str, Any], lines: dict[Path, int] | None = None) -> Found:
    """The settings in a file's values, and what is wrong with them."""
    lines = lines or {}
    values: dict[Path, Any] = {}
    known, wrong = profiles.read(data.get("profiles", {}))
    problems = [
        Problem(message=f"{name}: {why}", line=lines.get(tuple(name.split("."))), name=name) for name, why in wrong
    ]
    for path, value in _leaves({name: value for name, value in data.items() if name != "profiles"}):
        setting = find(path)
        line = next((lines[path[:size]] for size in range(len(path), 0, -1) if path[:size] in lines), None)
        if setting is None:
            name = dotted(path)
            problems.append(Problem(message=f"there is no setting {name}; {advice(path)}", line=line, name=name))
            continue
        try:
            values[path] = setting.convert(value)
        except (ValueError, OverflowError) as error:
            message = f"{setting.name} is {short(value)}: {error}"
            problems.append(Problem(message=message, line=line, name=setting.name))
    config = replace(_config(values), profiles=known, problems=tuple(map(str, problems)))
    return Found(config, tuple(problems), {path: lines[path] for path in values if path in lines})


def short(value: Any) -> str:
    """Enough of a value to know it by; a number may be too long to be written."""
    try:
        return repr(value)[:40]
    except ValueError:
        return "a very long number"


def settings_of(found: Found) -> list[Setting]:
    """Every setting, and those for single managers that the file has."""
    single = [setting for path in found.lines if path not in SETTINGS and (setting := find(path)) is not None]
    return [*SETTINGS.values(), *single]


def differences(before: Config, now: Config) -> list[str]:
    """The names of the settings that two files say differently."""
    managers = sorted(set(before.limits.managers) | set(now.limits.managers))
    paths = [*SETTINGS, *(("limits", name, kind) for name in managers for kind in PER_MANAGER)]
    return [dotted(path) for path in paths if before.value(path) != now.value(path)]


def _config(values: dict[Path, Any]) -> Config:
    plain = {SETTINGS[path].field: value for path, value in values.items() if path[0] != "limits"}
    default, managers = dict(Limits().default), dict[str, dict[str, float | None]]()
    for path, value in values.items():
        if path[0] == "limits" and len(path) == 3:
            managers.setdefault(path[1], {})[path[2]] = value
        elif path[0] == "limits" and path[1] != TOTAL:
            default[path[1]] = value
    return Config(**plain, limits=Limits(total=values.get(("limits", TOTAL)), default=default, managers=managers))


def _leaves(data: dict[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in data.items():
        path = (*above, name)
        if isinstance(value, dict) and (value or is_table(path)):
            yield from _leaves(value, path)
        else:
            yield path, value


def _not_toml(message: str, text: str) -> Problem:
    found = _PLACE.fullmatch(message)
    what = found[1] if found else message
    if found and found[2]:
        line, column = int(found[2]), int(found[3])
    else:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    return Problem(message=f"it cannot be read: {what[:1].lower()}{what[1:]}", line=line, column=column)


def _bad(problem: Problem) -> Found:
    return Found(Config(problems=(str(problem),)), (problem,))

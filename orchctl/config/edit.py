"""Changing one setting in the file: comments, order and all the rest stay, and the file is whole at any moment."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator

from orchctl import config
from orchctl.config.table import Setting, dotted
from orchctl.config.toml_text import Entry, Header, scan
from orchctl.errors import BadInput

Change = Callable[[str], str]


def put(text: str, setting: Setting, value: str) -> str:
    """The text with the setting at this value, which is written as TOML wants it."""
    entries, headers = scan(text)
    there = [entry for entry in entries if entry.path == setting.path]
    if there:
        return text[: there[-1].value] + value + text[there[-1].end :]
    table, name = setting.path[:-1], dotted(setting.path[-1:])
    inline = [entry for entry in entries if entry.path == table and text[entry.value] == "{"]
    if inline:
        return _into_inline_table(text, inline[-1], entries, f"{name} = {value}")
    found = [header for header in headers if header.path == table]
    for header in found:
        if header.many:
            message = f"config.toml line {header.line}: [[{dotted(table)}]] is a list of tables; nothing was changed"
            raise BadInput(message, code="bad-config")
    if table and not found:
        beside = [one for one in entries if one.path[: len(table)] == table and not one.inline]
        base = max((one for one in headers if beside and one.start < beside[-1].start), key=_start, default=None)
        above = base.path if base is not None else ()
        if beside and len(above) < len(table):  # its table is made by dotted keys, and may not have a header
            return _behind_last(text, beside[-1:], 0, f"{dotted(setting.path[len(above) :])} = {value}\n")
        return _apart(text, f"[{dotted(table)}]\n{name} = {value}\n")
    end = headers[0].start if not table and headers else len(text)
    if table:
        end = next((header.start for header in headers if header.start > found[-1].start), len(text))
    first = found[-1].end if table else 0
    return _behind_last(text, [one for one in entries if first <= one.start < end], first, f"{name} = {value}\n")


def take(text: str, name: str) -> str:
    """The text without the setting; its table's header and all comments stay, unless the name is the table's."""
    entries, headers = scan(text)
    for entry in reversed([entry for entry in entries if dotted(entry.path) == name]):
        text = _without_inline(text, entry) if entry.inline else _without_line(text, entry.start, entry.end)
    for header in reversed([header for header in headers if dotted(header.path) == name]):
        text = text[: header.start] + text[header.end :]
    return text


def change(path: str, edit: Change) -> config.Found:
    """Do it to the file, one editor at a time; what the file says then."""
    with _alone(path):
        try:
            with open(path, encoding="utf-8", newline="") as file:
                before = file.read()
        except FileNotFoundError:
            before = ""
        except UnicodeDecodeError:
            raise BadInput("config.toml is not UTF-8; nothing was changed", code="bad-config") from None
        _readable(config.read_text(before.encode()))
        after = edit(before)
        found = config.read_text(after.encode())
        _readable(found)
        if after != before:
            _write(path, after)
    return found


def _readable(found: config.Found) -> None:
    """Nothing is changed in a file that is not TOML, and none becomes so."""
    for problem in found.problems:
        if problem.name is None:
            raise BadInput(f"{problem}; nothing was changed", code="bad-config")


def _start(header: Header) -> int:
    return header.start


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """The directory is locked, because the file itself is replaced."""
    fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _write(path: str, text: str) -> None:
    """By rename, so that nobody ever reads half of it; a link stays a link."""
    path = os.path.realpath(path)
    temporary = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # of an editor that was killed
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _behind_last(text: str, entries: list[Entry], first: int, line: str) -> str:
    """Behind the last setting of the same table, or where that begins."""
    if entries:
        end = text.find("\n", entries[-1].end)
        first = len(text) if end < 0 else end + 1
    if first and not text[:first].endswith("\n"):
        line = "\n" + line
    return text[:first] + line + text[first:]


def _apart(text: str, table: str) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    return f"{text}\n{table}" if text else table


def _into_inline_table(text: str, table: Entry, entries: list[Entry], pair: str) -> str:
    size = len(table.path)
    inside = [one for one in entries if one.path[:size] == table.path and table.value < one.start < table.end]
    if not inside:
        return f"{text[: table.value]}{{ {pair} }}{text[table.end :]}"
    return f"{text[: inside[-1].end]}, {pair}{text[inside[-1].end :]}"


def _without_line(text: str, start: int, end: int) -> str:
    start, end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return text[:start] + (text[end + 1 :] if end >= 0 else "")


def _without_inline(text: str, entry: Entry) -> str:
    """With the comma behind it, else with the one before it."""
    before, after = text[: entry.start], text[entry.end :]
    if after.lstrip().startswith(","):
        return before + after.lstrip()[1:].lstrip()
    return before.rstrip().removesuffix(",").rstrip() + " " + after.lstrip()

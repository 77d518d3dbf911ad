"""Change one setting in the file: comments, order and all the rest stay, and the file is whole at any moment.

tomlkit reads and writes the text, and nothing else imports it: it is slow to load, and only `config set` and
`config unset` change a file. Where a new setting goes is decided here: behind the last one of its table, before the
blank lines and comments that follow, which tomlkit counts to that table and people to the next one. A document is
edited in the lists that it is written from, and is of no other use afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Item, Key, Table

from orchctl import config
from orchctl.config import table as toml_text
from orchctl.config.table import Path, Setting, dotted
from orchctl.errors import BadInput
from orchctl.paths import locked, make_folder, write_whole

Change = Callable[[str], str]
Body = list[tuple[Key | None, Item]]
Place = tuple[Container | InlineTable, Key, Item]  # an entry, and what it is in: the document, a table, braces


def put(text: str, setting: Setting, value: str) -> str:
    """The text with the setting at this value, which is written as TOML wants it."""
    document = tomlkit.parse(text)
    table, name = setting.path[:-1], setting.path[-1]
    places = _places(document, setting.path)
    tables = [place for place in _places(document, table) if _is_written(place)]
    if places:
        _replace(places[-1], value)
    elif not table:
        _insert(document, name, value)
    elif not tables:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return before + ("\n" if text else "") + f"[{dotted(table)}]\n{dotted((name,))} = {value}\n"
    elif isinstance(tables[-1][2], AoT):
        line = toml_text.locate(text)[table]
        message = f"config.toml line {line}: [[{dotted(table)}]] is a list of tables; nothing was changed"
        raise BadInput(message, code="bad-config")
    else:
        _insert_below(tables[-1], name, value)
    return document.as_string()


def take(text: str, name: str) -> str:
    """The text without the setting; its table's header and all comments stay, unless the name is the table's."""
    document = tomlkit.parse(text)
    for folder, key, item in _places(document, name):
        if isinstance(folder, InlineTable):
            folder.remove(key)
            continue
        index = _index(folder.body, item)
        folder.body[index : index + 1] = _tail(item)
    return document.as_string()


def change(path: str, edit: Change) -> config.Found:
    """Do it to the file, one editor at a time; what the file says then."""
    make_folder(os.path.dirname(path))
    with locked(os.path.dirname(path)):
        try:
            with open(path, encoding="utf-8", newline="") as file:
                before = file.read()
        except FileNotFoundError:
            before = ""
        except UnicodeDecodeError:
            raise BadInput("config.toml is not UTF-8; nothing was changed", code="bad-config") from None
        _readable(config.read_text(before.encode()))
        try:
            after = edit(before)
        except TOMLKitError as error:
            raise BadInput(f"config.toml: {error}; nothing was changed", code="bad-config") from None
        found = config.read_text(after.encode())
        _readable(found)
        if after != before:
            write_whole(os.path.realpath(path), after.encode())  # a link stays a link
    return found


def _readable(found: config.Found) -> None:
    """Nothing is changed in a file that is not TOML, and none becomes so."""
    for problem in found.problems:
        if problem.name is None:
            raise BadInput(f"{problem}; nothing was changed", code="bad-config")


def _places(folder: Container | InlineTable, wanted: Path | str, above: Path = ()) -> list[Place]:
    """Every entry with this path, or with this name as it is written; a table may be in several pieces."""
    found: list[Place] = []
    for key, item in _body(folder):
        if key is None:
            continue
        path = (*above, key.key)
        if wanted in (path, dotted(path)):
            found.append((folder, key, item))
        elif isinstance(item, Table | InlineTable):
            found += _places(item.value if isinstance(item, Table) else item, wanted, path)
    return found


def _body(folder: Container | InlineTable) -> Body:
    return folder.body if isinstance(folder, Container) else folder.value.body


def _index(body: Body, item: Item) -> int:
    return next(index for index, (_, one) in enumerate(body) if one is item)


def _is_written(place: Place) -> bool:
    """Whether a table has a header, braces or dotted keys, and is not only part of the name of others."""
    _, key, item = place
    if isinstance(item, Table):
        return key.is_dotted() or not item.is_super_table()
    return isinstance(item, InlineTable | AoT)


def _replace(place: Place, value: str) -> None:
    folder, key, old = place
    new = tomlkit.value(value)
    for name in ("indent", "comment_ws", "comment", "trail"):
        setattr(new.trivia, name, getattr(old.trivia, name))
    _body(folder)[_index(_body(folder), old)] = (key, new)


def _insert_below(place: Place, name: str, value: str) -> None:
    _, _, table = place
    if isinstance(table, Table):
        _insert(table.value, name, value)
        table.trivia.trail = table.trivia.trail or "\n"  # a header may be all there is
    else:  # in braces
        inside = table.as_string().removeprefix("{").removesuffix("}").strip()
        _replace(place, "{ " + inside + (", " if inside else "") + f"{dotted((name,))} = {value} }}")


def _insert(container: Container, name: str, value: str) -> None:
    item, end = tomlkit.value(value), _end(container.body)
    if end:
        _end_line(container.body[end - 1][1])
    container.body.insert(end, (tomlkit.key(name), item))


def _end(body: Body) -> int:
    """Behind the last entry; tables with headers, and what stands before them, come after that."""
    end = 0
    for index, (key, item) in enumerate(body):
        if key is not None and isinstance(item, Table | AoT) and not key.is_dotted():
            break
        end = index + 1 if key is not None else end
    return end


def _tail(item: Item) -> Body:
    """The blank lines and comments at the end of a table, which belong to what follows."""
    table = item.body[-1] if isinstance(item, AoT) else item
    if not isinstance(table, Table):
        return []
    body = table.value.body
    last = max((index for index, (key, _) in enumerate(body) if key is not None), default=-1)
    return body[last + 1 :] or (_tail(body[last][1]) if last >= 0 else [])


def _end_line(item: Item) -> None:
    """The last line of a file need not have an end."""
    while isinstance(item, Table):
        item = item.value.body[_end(item.value.body) - 1][1]
    item.trivia.trail = item.trivia.trail or "\n"

"""`config`: the settings of the state directory, where each comes from, and how to change one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from orchctl import config
from orchctl.cli.output import Form, forms, table
from orchctl.config.table import NONE, Setting, advice, find, split
from orchctl.errors import BadInput, NotPermitted
from orchctl.paths import Root, check, find_root, misplaced, prepare, set_config

Row = dict[str, Any]


@click.group("config")
def config_command() -> None:
    """Show and change the settings of the state directory.

    They are in one file: config.toml in ORCHCTL_STATE_DIR if that is set, else in ~/.config/orchctl, or in
    $XDG_CONFIG_HOME/orchctl. Its path is written to config-path in the state directory when that is made, and read from
    there ever after, so that a login shell, cron and the supervisor agree; 'config path --set' changes it.
    An option of a command comes before the environment, that before the file, that before the default.
    A running supervisor takes up at once what 'config set' changes, and in a few seconds what an editor does; while
    something is wrong in the file, what was before holds.

    \b
    orchctl config show --origin
    orchctl config set retention.session 16M
    orchctl config set limits.orchestrator:coordinator-001.sessions 20
    orchctl config unset retention.session

    \b
    Exit codes: 0; 1 something is wrong in the file; 2 usage, no such setting, or a value that it cannot have;
    4 the state directory cannot be used.
    """


@config_command.command("show")
@click.option("--origin", is_flag=True, help="Where each value comes from.")
@forms
def show_command(origin: bool, form: Form) -> int:
    """Show every setting and its value, written as in the file.

    \b
    orchctl config show --origin
    orchctl config show --json | jq -r '.settings[] | select(.origin == "file").name'

    \b
    Exit codes: 0; 1 something is wrong in the file (it is said on stderr, and the default holds); 2 usage;
    4 the state directory cannot be used.
    """
    root, found = _load()
    rows = _rows(root, found)
    problems = [{"line": one.line, "column": one.column, "message": one.message} for one in found.problems]
    lines = [[row["name"], row["shown"], _where(row)] if origin else [row["name"], row["shown"]] for row in rows]
    form.one(
        {"path": root.config, "settings": rows, "problems": problems},
        lambda: table(["SETTING", "VALUE", "ORIGIN"] if origin else ["SETTING", "VALUE"], lines),
    )
    return _complain(found, form)


@config_command.command("path")
@click.option("--set", "chosen", metavar="PATH", help="Read the settings from PATH from now on; no file is moved.")
@forms
def path_command(chosen: str | None, form: Form) -> None:
    """Print where the file is; it need not be there.

    A running supervisor takes up at once what --set changes.

    \b
    ${EDITOR:-vi} "$(orchctl config path)"; orchctl config check
    orchctl config path --set ~/dotfiles/orchctl.toml

    \b
    Exit codes: 0; 2 usage; 4 the state directory, its config-path or PATH cannot be used.
    """
    root = find_root(os.environ)
    if chosen is not None:
        set_config(root, os.path.abspath(chosen))
    path = root.config
    hint = "; ".join(filter(None, misplaced(root) or ()))
    told = {"path": path, "exists": os.path.exists(path)}
    form.one(told | ({"hint": hint} if hint else {}), lambda: click.echo(path))
    if hint and form.words:
        click.echo(f"orchctl: {hint}", err=True)
    if chosen is not None:
        _complain(config.load(path), form)


@config_command.command("get")
@click.argument("name")
@forms
def get_command(name: str, form: Form) -> int:
    """Print one value, written as in the file but without quotes.

    \b
    orchctl config get retention.total

    \b
    Exit codes: 0; 1 something is wrong in the file; 2 there is no such setting; 4 the state directory cannot be used.
    """
    root, found = _load()
    rows = {row["name"]: row for row in _rows(root, found)}
    if name not in rows:
        setting = _setting(name)
        rows[name] = _row(setting, found)
    form.one(rows[name], lambda: click.echo(rows[name]["value"]))
    return _complain(found, form)


@config_command.command("set")
@click.argument("name")
@click.argument("value")
@forms
def set_command(name: str, value: str, form: Form) -> None:
    """Write one setting to the file; comments, order and all the rest of it stay.

    A running supervisor takes it up at once. Sizes are written 64K, 10M, 4G; durations 500ms, 30s, 5m, 2h, 7d.
    'none' takes a limit away.

    \b
    orchctl config set retention.total 1G
    orchctl config set limits.user:ci.time 2h

    \b
    Exit codes: 0; 2 there is no such setting, it cannot have this value, or the file is not TOML; 4 the state
    directory cannot be used.
    """
    from orchctl.config.edit import put

    setting = _setting(name)
    try:
        converted = setting.convert(value)
    except ValueError as error:
        raise BadInput(f"{setting.name} cannot be {config.short(value)}: {error}", code="bad-value") from None
    if setting.field == "shell" and converted is not None:
        _check_shell(converted)
    root = find_root(os.environ)
    prepare(root)
    found = _change(root, lambda text: put(text, setting, setting.show(converted)))
    _say(_row(setting, found), setting, form)
    _complain(found, form)


@config_command.command("unset")
@click.argument("name")
@forms
def unset_command(name: str, form: Form) -> None:
    """Take one setting out of the file, so that the default holds again.

    One that is not in the file is fine.

    \b
    orchctl config unset retention.total

    \b
    Exit codes: 0; 2 there is no such setting, or the file is not TOML; 4 the state directory cannot be used.
    """
    from orchctl.config.edit import take

    root, before = _load()
    wrong = name in {problem.name for problem in before.problems}  # also one that there is not
    setting = find(split(name)) if wrong else _setting(name)
    written = setting.name if setting is not None else name
    found = _change(root, lambda text: take(text, written)) if os.path.exists(root.config) else before
    if setting is None:
        form.one({"name": written, "value": NONE, "origin": "default"})
    else:
        _say(_row(setting, found), setting, form)
    _complain(found, form)


@config_command.command("check")
@forms
def check_command(form: Form) -> int:
    """Say what is wrong in the file: each with its line, and the nearest name that there is.

    \b
    orchctl config check && orchctl supervisor start

    \b
    Exit codes: 0 nothing is wrong, or there is no file; 1 something is; 2 usage; 4 the state directory cannot be used.
    """
    root, found = _load()
    problems = [
        {"line": one.line, "column": one.column, "name": one.name, "message": one.message} for one in found.problems
    ]
    fine = f"{root.config}: {len(found.lines)} settings, nothing is wrong"
    words = "\n".join(map(str, found.problems)) or fine
    form.one({"path": root.config, "problems": problems}, lambda: click.echo(words))
    return 1 if found.problems else 0


def _load() -> tuple[Root, config.Found]:
    root = find_root(os.environ)
    check(root)
    return root, config.load(root.config)


def _setting(name: str) -> Setting:
    path = split(name)
    if name in _surroundings(find_root(os.environ)):
        raise BadInput(f"{name} is not in the file: it is said by the environment", code="no-such-setting")
    setting = find(path)
    if setting is None:
        raise BadInput(f"there is no setting {name}; {advice(path)}", code="no-such-setting")
    return setting


def _change(root: Root, edit: Callable[[str], str]) -> config.Found:
    from orchctl.config.edit import change

    try:
        return change(root.config, edit)
    except OSError as error:
        code = "bad-state-dir" if root.config == root.own_config else "bad-config-path"
        raise NotPermitted(f"cannot write {root.config}: {error.strerror}", code=code) from None


def _check_shell(shell: str) -> None:
    import shutil

    if shutil.which(shell) is None:
        raise BadInput(f"there is no shell {shell!r} that can be executed", code="bad-value")


def _rows(root: Root, found: config.Found) -> list[Row]:
    return [*_surroundings(root).values(), *(_row(setting, found) for setting in config.settings_of(found))]


def _row(setting: Setting, found: config.Found) -> Row:
    value = found.config.value(setting.path)
    line = found.lines.get(setting.path)
    shown = setting.show(value)
    return {
        "name": setting.name,
        "value": shown.strip('"') if value is not None else NONE,
        "shown": shown,
        "origin": "file" if line is not None else "default",
        "line": line,
        "variable": None,
        "what": setting.what,
    }


def _surroundings(root: Root) -> dict[str, Row]:
    """What the environment says, and no file can."""
    said = {
        "state_dir": ("ORCHCTL_STATE_DIR", root.path, "where everything is kept"),
        "manager": ("ORCHCTL_MANAGER", os.environ.get("ORCHCTL_MANAGER") or "user", "whose sessions are spawned"),
    }
    return {
        name: {
            "name": name,
            "value": value,
            "shown": f'"{value}"',
            "origin": "environment" if os.environ.get(variable) else "default",
            "line": None,
            "variable": variable if os.environ.get(variable) else None,
            "what": what,
        }
        for name, (variable, value, what) in said.items()
    }


def _where(row: Row) -> str:
    if row["origin"] == "file":
        return f"config.toml:{row['line']}"
    return f"${row['variable']}" if row["variable"] else "default"


def _say(row: Row, setting: Setting, form: Form) -> None:
    later = f"; {setting.later}" if setting.later else ""
    form.one(row, lambda: click.echo(f"{row['name']} = {row['shown']}  ({_where(row)}){later}"))


def _complain(found: config.Found, form: Form) -> int:
    """On stderr, in words; with --json the document has them already."""
    if not form.as_json:
        for problem in found.problems:
            click.echo(f"orchctl: {problem}", err=True)
    return 1 if found.problems else 0

"""Settings taken up while a supervisor runs: whole files at once, half-written ones never, wrong ones not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from orchctl.paths import Root, set_config
from orchctl.supervisor.context import Configuration
from tests.world import until

DAY_S = 86400.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('retention.ended = "90d"\n')
    return path


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_a_file_that_is_replaced_holds_at_once(file: Path) -> None:
    settings = Configuration(str(file))
    before = settings.now
    assert before.ended_s == 90 * DAY_S
    assert settings.now is before
    for days in range(1, 20):
        _replace(file, f'retention.ended = "{days}d"\n')
        assert settings.now.ended_s == days * DAY_S


def test_a_file_that_comes_where_there_was_none_holds_at_once(tmp_path: Path) -> None:
    settings = Configuration(str(tmp_path / "config.toml"))
    assert settings.now.ended_s == 7 * DAY_S
    _replace(tmp_path / "config.toml", 'retention.ended = "1d"\n')
    assert settings.now.ended_s == DAY_S


def test_a_file_that_is_written_in_place_holds_when_nothing_more_comes(file: Path) -> None:
    settings = Configuration(str(file))
    fd = os.open(file, os.O_WRONLY | os.O_TRUNC)
    assert settings.now.ended_s == 90 * DAY_S  # empty, which would mean the default
    os.write(fd, b'retention.ended = "')
    assert settings.now.ended_s == 90 * DAY_S
    os.write(fd, b'80d"\n')
    os.close(fd)
    assert settings.now.ended_s == 90 * DAY_S
    until(lambda: settings.now.ended_s == 80 * DAY_S)


def test_a_file_that_is_gone_for_a_moment_was_never_gone(file: Path) -> None:
    settings = Configuration(str(file))
    file.rename(f"{file}~")
    assert settings.now.ended_s == 90 * DAY_S
    file.write_text("")  # as editors do that keep a copy of the old one
    assert settings.now.ended_s == 90 * DAY_S
    file.write_text('retention.ended = "60d"\n')
    until(lambda: settings.now.ended_s != 90 * DAY_S)
    assert settings.now.ended_s == 60 * DAY_S
    file.unlink()
    began = time.monotonic()
    until(lambda: settings.now.ended_s == 7 * DAY_S)
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("text", ['retention.ended = "90x"\n', "no TOML\n", 'durability = "strict"\nsurprise = 1\n'])
def test_while_something_is_wrong_what_was_before_holds(file: Path, text: str) -> None:
    settings = Configuration(str(file))
    _replace(file, text)
    found = settings.now
    assert (found.ended_s, found.durability, len(found.problems)) == (90 * DAY_S, "relaxed", 1)
    assert Configuration(str(file)).now.ended_s == 7 * DAY_S  # a new supervisor knows of nothing before
    _replace(file, 'durability = "strict"\n')
    found = settings.now
    assert (found.ended_s, found.durability, found.problems) == (7 * DAY_S, "strict", ())


def _named(tmp_path: Path, days: int) -> Path:
    file = tmp_path / f"{days}.toml"
    file.write_text(f'retention.ended = "{days}d"\n')
    return file


def test_another_file_that_is_named_holds_at_once(tmp_path: Path) -> None:
    root = Root(f"{tmp_path}/state")
    set_config(root, str(_named(tmp_path, 90)))
    settings = Configuration(root)
    for days in (1, 2, 3):
        file = _named(tmp_path, days)
        set_config(root, str(file))
        assert (settings.now.ended_s, settings.path) == (days * DAY_S, str(file))
    _replace(file, 'retention.ended = "4d"\n')
    assert settings.now.ended_s == 4 * DAY_S


def test_while_no_file_is_named_what_was_before_holds(tmp_path: Path) -> None:
    root = Root(f"{tmp_path}/state")
    file = _named(tmp_path, 90)
    set_config(root, str(file))
    settings = Configuration(root)
    os.unlink(root.config_path)
    assert (settings.now.ended_s, settings.now.problems, settings.path) == (90 * DAY_S, (), str(file))
    Path(root.config_path).write_text("relative")
    found = settings.now
    assert (found.ended_s, len(found.problems), settings.path) == (90 * DAY_S, 1, None)
    assert Configuration(root).now.ended_s == 7 * DAY_S  # a new supervisor knows of nothing before
    set_config(root, str(file))
    assert (settings.now.ended_s, settings.now.problems, settings.path) == (90 * DAY_S, (), str(file))

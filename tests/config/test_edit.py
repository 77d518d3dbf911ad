"""One setting changed in a file: nothing else of it moves, and the file says what was meant."""

from __future__ import annotations

import os
import stat
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl import config
from orchctl.config import edit as editing
from orchctl.config.table import SETTINGS, Setting, dotted, find
from orchctl.errors import BadInput

TEXT = """# what this machine keeps
durability = "strict" # safe

[retention] # of output
# one session
session = "16M"   # small
total = "1G"

# limits
[limits."agent:one"]
sessions = 3
"""


def known(*path: str) -> Setting:
    found = find(path)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("retention", "session"), '"1M"', 'session = "16M"   # small', 'session = "1M"   # small'),
        (("durability",), '"relaxed"', '"strict" # safe', '"relaxed" # safe'),
        (("retention", "ended"), '"1d"', 'total = "1G"\n', 'total = "1G"\nended = "1d"\n'),
        (("idle_exit",), '"1m"', "# safe\n", '# safe\nidle_exit = "1m"\n'),
        (("limits", "agent:one", "log"), '"1M"', "sessions = 3\n", 'sessions = 3\nlog = "1M"\n'),
        (("limits", "agent:one", "sessions"), "4", "sessions = 3", "sessions = 4"),
        (("limits", "total"), "9", "sessions = 3\n", "sessions = 3\n\n[limits]\ntotal = 9\n"),
        (("limits", "b", "time"), '"1h"', "sessions = 3\n", 'sessions = 3\n\n[limits.b]\ntime = "1h"\n'),
    ],
)
def test_a_setting_is_put_where_its_like_are(path: tuple[str, ...], value: str, old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert editing.put(TEXT, known(*path), value) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("retention.session", 'session = "16M"   # small\n'),
        ("durability", 'durability = "strict" # safe\n'),
        ('limits."agent:one".sessions', "sessions = 3\n"),
        ("retention.ended", ""),
    ],
)
def test_a_setting_is_taken_with_its_line(name: str, gone: str) -> None:
    assert editing.take(TEXT, name) == TEXT.replace(gone, "")


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("[retension]\n# in it\n", "retension"),
        ("[retension]\nsession = 1\n", "retension"),
        ("[[retention]]\nsession = 1\n[[retention]]\n", "retention"),
        ("[profiles.a]\nmodel = 1\n[profiles.a.env]\nA = 1\n", "profiles.a"),
    ],
)
def test_a_table_is_taken_with_all_that_is_in_it_and_the_comment_behind_it_stays(table: str, name: str) -> None:
    before, after = "idle_exit = 1 # x\n\n", "\n# about the next\n[limits]\ntotal = 1\n"
    taken = editing.take(before + table + after, name)
    assert taken.replace("# in it\n", "").replace("[profiles]\n", "") == before + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[retention]\nended = "1d"\n'),
        ("a = 1", 'a = 1\n\n[retention]\nended = "1d"\n'),
        ("[retention]", '[retention]\nended = "1d"\n'),
        ('retention.total = "1G"\nx = 1', 'retention.total = "1G"\nretention.ended = "1d"\nx = 1'),
        ('retention = { total = "1G" }', 'retention = { total = "1G", ended = "1d" }'),
        ("retention = {}", 'retention = { ended = "1d" }'),
        ('retention = { ended = "2d", total = "1G" }', 'retention = { ended = "1d", total = "1G" }'),
    ],
)
def test_every_way_to_write_a_table_is_understood(before: str, after: str) -> None:
    assert editing.put(before, known("retention", "ended"), '"1d"') == after
    assert tomllib.loads(after)["retention"]["ended"] == "1d"
    without = tomllib.loads(editing.take(after, "retention.ended"))
    assert "ended" not in without.get("retention", {})


values = {"1G": '"1G"', "1d": '"1d"', "strict": '"strict"', "5": "5"}
styles = st.sampled_from(
    ["", TEXT, "[retention]\n", "retention = {}\n", 'retention.total = "2G"\n', "# c\n\n", "[limits]\n"]
)


@settings(max_examples=300)
@given(styles, st.lists(st.tuples(st.sampled_from(sorted(SETTINGS)), st.booleans()), max_size=8))
def test_any_changes_in_any_order_say_what_was_meant(text: str, changes: list[tuple[tuple[str, ...], bool]]) -> None:
    comments = [line for line in text.splitlines() if line.startswith("#")]
    expected = config.read_text(text.encode()).config
    for path, putting in changes:
        setting = SETTINGS[path]
        wanted = expected.value(path)
        text = editing.put(text, setting, setting.show(wanted)) if putting else editing.take(text, setting.name)
        found = config.read_text(text.encode())
        assert found.problems == ()
        assert (path in found.lines) == putting
        assert not putting or found.config.value(path) == wanted
        expected = found.config
    assert [line for line in text.splitlines() if line.startswith("#")] == comments


keys = st.sampled_from(
    ["total", "session", "ended", "x", "retention.ended", "retention.total", "limits.a.log", '"b c".d']
)
written = st.sampled_from(
    ['"1d"', "5", "[1, # in\n 2]", '"""\n# no\n"""', "{}", '{ x = 1, ended = "2d" }', "{total=1}"]
)
lines = st.one_of(
    st.tuples(keys, written).map(lambda pair: f"{pair[0]} = {pair[1]} # said"),
    st.sampled_from(["[retention]", "[limits]", "[limits.a]", "[[x]]", "[retention.x]", "[ x . retention ] # head"]),
    st.sampled_from(['retention = { total = "1G" }', "", "# above", "  # within"]),
)
targets = st.sampled_from([("retention", "ended"), ("limits", "a", "log"), ("limits", "total"), ("idle_exit",)])


def _leaves(data: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every value by its path; a table without any counts for nothing."""
    if not isinstance(data, dict):
        return {path: data}
    return {leaf: value for name, inner in data.items() for leaf, value in _leaves(inner, (*path, name)).items()}


@settings(max_examples=300)
@given(st.lists(lines, max_size=7), targets, st.booleans())
def test_nothing_else_in_a_file_changes(parts: list[str], path: tuple[str, ...], end: bool) -> None:
    text = "\n".join(parts) + ("\n" if end else "")
    try:
        before = _leaves(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return
    if any(path[:size] in before for size in range(1, len(path))):  # what is no table is in the way
        return
    put = editing.put(text, known(*path), '"7d"')
    after = _leaves(tomllib.loads(put))
    taken = editing.take(put, dotted(path))
    others = {leaf: value for leaf, value in before.items() if leaf[: len(path)] != path}
    assert after == others | {path: "7d"}
    assert _leaves(tomllib.loads(taken)) == others
    comments = [part for part in parts if part.strip().startswith("#")]
    assert [line for line in put.split("\n") if line.strip().startswith("#") and line in comments] == comments
    assert [line for line in taken.split("\n") if line.strip().startswith("#") and line in comments] == comments


@pytest.mark.parametrize("path", sorted(SETTINGS), ids=dotted)
def test_what_is_shown_can_be_read_back(path: tuple[str, ...]) -> None:
    setting = SETTINGS[path]
    value = config.Config().value(path)
    data = tomllib.loads(f"{setting.name} = {setting.show(value)}")
    for name in path:
        data = data[name]
    assert setting.convert(data) == value


def _put(value: str) -> editing.Change:
    return lambda text: editing.put(text, known("retention", "ended"), value)


def test_the_file_is_made_and_changed_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    old = os.umask(0)
    try:
        found = editing.change(str(path), _put('"1d"'))
    finally:
        os.umask(old)
    assert found.config.ended_s == 86400
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == '[retention]\nended = "1d"\n'
    path.write_bytes(b"# a\r\n" + path.read_bytes())
    editing.change(str(path), _put('"2d"'))
    assert path.read_bytes() == b'# a\r\n[retention]\nended = "2d"\n'
    assert os.listdir(tmp_path) == ["config.toml"]


def test_a_link_stays_a_link_and_nothing_changed_is_nothing_written(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text('[retention]\nended = "1d"\n')
    (tmp_path / "config.toml").symlink_to(real)
    before = real.stat().st_ino
    editing.change(str(tmp_path / "config.toml"), _put('"1d"'))
    assert real.stat().st_ino == before
    editing.change(str(tmp_path / "config.toml"), _put('"3d"'))
    assert (tmp_path / "config.toml").is_symlink()
    assert '"3d"' in real.read_text()


@pytest.mark.parametrize("text", [b"this is no TOML\n", b"\xff\n", b"[[retention]]\nsession = 1\n"])
def test_a_file_that_cannot_be_changed_rightly_is_left_alone(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text)
    with pytest.raises(BadInput, match="nothing was changed") as caught:
        editing.change(str(path), _put('"1d"'))
    assert caught.value.code == "bad-config"
    assert path.read_bytes() == text


def test_two_editors_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "config.toml")
    names = [f"agent-{number}" for number in range(20)]

    def edit(name: str) -> None:
        editing.change(path, lambda text: editing.put(text, known("limits", name, "sessions"), "7"))

    threads = [threading.Thread(target=edit, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(config.read(path).limits.managers) == set(names)

"""A session's commands on disk: what was written is read, and files come whole from their parts."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log.commands import CommandStore, TypedLog
from orchctl.session import layout

PROPERTY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
Record = dict[str, Any]

system_text = st.binary(max_size=40).map(os.fsdecode)
records = st.fixed_dictionaries({"type": st.sampled_from(["begin", "end"]), "text": system_text, "n": st.integers()})


@contextlib.contextmanager
def opened() -> Iterator[CommandStore]:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        yield made(folder)


def made(folder: str) -> CommandStore:
    """A store in a session's directory as it is created."""
    os.mkdir(f"{folder}/{layout.SHELL}", 0o700)
    return CommandStore(folder)


def journal_of(store: CommandStore) -> Path:
    return Path(store.shell).parent / layout.COMMANDS


@pytest.fixture
def store(tmp_path: Path) -> CommandStore:
    return made(str(tmp_path))


@PROPERTY
@given(st.lists(records, max_size=6))
def test_records_are_read_as_they_were_written_oldest_first(written: list[Record]) -> None:
    with opened() as store:
        for record in written:
            store.append(record)
        assert store.read().records == written
        assert CommandStore(str(Path(store.shell).parent)).read().records == written


@PROPERTY
@given(st.binary(max_size=200), st.data())
def test_parts_make_the_whole_in_any_order_and_however_often_they_come(whole: bytes, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 60))
    offsets = range(0, max(1, len(whole)), size)
    order = data.draw(st.permutations(offsets)) + data.draw(st.lists(st.sampled_from(offsets), max_size=4))
    with opened() as store:
        for offset in order:
            store.put_part("i1", offset, whole[offset : offset + size])
        assert store.read_part("i1", 0, 1000) == whole
        assert store.read_text("i1") == os.fsdecode(whole)


@PROPERTY
@given(st.binary(max_size=100), st.integers(0, 120), st.integers(0, 120))
def test_a_part_is_read_from_its_place_and_no_longer_than_asked(whole: bytes, offset: int, limit: int) -> None:
    with opened() as store:
        store.put_part("o1", 0, whole)
        assert store.read_part("o1", offset, limit) == whole[offset : offset + limit]


@PROPERTY
@given(system_text, system_text)
def test_a_file_for_the_shell_has_just_the_bytes_of_its_text(first: str, second: str) -> None:
    with opened() as store:
        store.put("c1", first)
        path = store.put("c1", second)
        assert path == f"{store.shell}/c1"
        assert Path(path).read_bytes() == os.fsencode(second)
        assert store.read_text("c1") == second


def test_a_session_in_which_nothing_was_run_has_no_records(store: CommandStore) -> None:
    assert store.read().records == []


def test_a_file_that_is_not_there_yet_has_no_bytes(store: CommandStore) -> None:
    assert store.read_part("o1", 0, 100) == b""
    assert store.read_part("o1", 7, 100) == b""


def test_only_what_is_named_is_removed_and_removing_it_twice_is_no_error(store: CommandStore) -> None:
    for name in ("c1", "i1", "c2"):
        store.put(name, "x")
    store.remove("c1", "i1", "t1")
    store.remove("c1", "i1", "t1")
    assert os.listdir(store.shell) == ["c2"]


def test_nobody_else_may_read_commands_or_their_files(store: CommandStore) -> None:
    umask = os.umask(0)
    try:
        store.append({"type": "begin"})
        paths = [str(journal_of(store)), store.put("c1", "secret")]
        store.put_part("i1", 0, b"secret")
    finally:
        os.umask(umask)
    for path in [*paths, f"{store.shell}/i1"]:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_the_journal_looks_as_it_has_always_looked(store: CommandStore) -> None:
    store.append({"type": "begin", "prompts": 3})
    assert journal_of(store).read_bytes() == b'e5621c1a {"type":"begin","prompts":3}\n'


def test_a_record_of_a_later_version_is_no_typed_line(store: CommandStore) -> None:
    typed = TypedLog(os.path.dirname(store.shell), "bash")
    store.append({"type": "from-the-future", "what": 1})
    typed.look()
    assert typed.lines == []

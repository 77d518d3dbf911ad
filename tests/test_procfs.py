"""Who descends from whom, among real processes."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchctl.procfs import descends_from, told_below

_NEST = 'echo $$; [ "$1" = 0 ] || { "$0" -c "$2" "$0" $(($1 - 1)) "$2"; exit; }; read -r _'


@contextlib.contextmanager
def nested(depth: int, shell: str = "bash") -> Iterator[list[int]]:
    """A process, its child, its grandchild and so on, as pids; all end with the block."""
    words = [shell, "-c", _NEST, shell, str(depth), _NEST]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        yield [int(top.stdout.readline()) for _ in range(depth + 1)]


@pytest.mark.parametrize("name", ["bash", "a b", "x) S 1 (", "1)"])
def test_a_process_descends_from_itself_and_all_above_it_whatever_they_are_called(tmp_path: Path, name: str) -> None:
    shell = tmp_path / name
    shell.symlink_to("/bin/bash")
    with nested(3, str(shell)) as pids:
        for at, pid in enumerate(pids):
            assert [descends_from(pid, above) for above in pids] == [place <= at for place in range(len(pids))]
        assert descends_from(pids[-1], os.getpid())
        assert not descends_from(os.getpid(), pids[0])


def test_siblings_do_not_descend_from_each_other() -> None:
    with nested(1) as one, nested(1) as other:
        for pid in one:
            assert not any(descends_from(pid, above) for above in other)


def test_a_process_that_is_gone_descends_from_nobody_but_itself() -> None:
    with nested(0) as (pid,):
        pass
    assert not descends_from(pid, os.getpid())
    assert descends_from(pid, pid)


def test_nobody_descends_from_a_process_that_is_not_there() -> None:
    with nested(0) as (gone,):
        pass
    assert not descends_from(os.getpid(), gone)
    assert not descends_from(0, os.getpid())  # how the kernel names a process of another namespace
    assert not descends_from(-1, os.getpid())
    assert not descends_from(1, os.getpid())


def test_the_nearest_process_below_the_ancestor_that_was_told_something_tells_it() -> None:
    inner = 'echo $$; env -u NAME sh -c "echo \\$\\$; read -r _; :"; :'  # `:`, or the shell would become its command
    script = f"echo $$; NAME=near sh -c {shlex.quote(inner)}; :"
    env = {**os.environ, "NAME": "far"}
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as top:
        assert top.stdout is not None
        outer, middle, last = (int(top.stdout.readline()) for _ in range(3))
        assert outer == top.pid
        assert told_below(last, outer, "NAME") == told_below(middle, outer, "NAME") == "near"
        assert told_below(last, os.getpid(), "NAME") == "near"
        assert told_below(outer, os.getpid(), "NAME") == "far"
        assert told_below(last, middle, "NAME") is None
        assert told_below(outer, outer, "NAME") is None  # what the ancestor itself was told is not asked for
        assert told_below(last, outer, "NAM") is None
    assert told_below(last, outer, "NAME") is None

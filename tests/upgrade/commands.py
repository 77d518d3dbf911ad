"""Many commands of an installation for the price of one start: `python commands.py FOLDER` in its environment.

Each line of stdin is the arguments of one `orchctl`, as JSON. Each runs in a process of its own, forked from this one,
which has the modules loaded and has done nothing else. What the N-th writes is in FOLDER/N.out and FOLDER/N.err, and
each exit code is a line of stdout. This file imports nothing of the tests: it runs where they are not installed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Callable
from importlib.metadata import entry_points

AT_ONCE = 2


def main() -> None:
    """All of them, a few at a time, and their exit codes in order."""
    folder, lines = sys.argv[1], [json.loads(line) for line in sys.stdin]
    (script,) = entry_points(group="console_scripts", name="orchctl")
    run, running, codes = script.load(), dict[int, int](), dict[int, int]()
    _load_commands(script.module.rpartition(".")[0])
    for number, words in enumerate(lines):
        if len(running) == AT_ONCE:
            _reap(running, codes)
        pid = os.fork()
        if pid == 0:
            _be_command(run, words, f"{folder}/{number}")
        running[pid] = number
    while running:
        _reap(running, codes)
    print(*(codes[number] for number in range(len(lines))), sep="\n")


def _load_commands(package: str) -> None:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def _be_command(run: Callable[[], object], words: list[str], name: str) -> None:
    """In the child: never returns."""
    code = 70
    try:
        for fd, path in enumerate((os.devnull, f"{name}.out", f"{name}.err")):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if fd else os.O_RDONLY, 0o600)
            os.dup2(opened, fd)
            os.close(opened)
        sys.argv = ["orchctl", *words]
        try:
            run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(code)


def _reap(running: dict[int, int], codes: dict[int, int]) -> None:
    pid, status = os.wait()
    codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()

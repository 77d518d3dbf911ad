"""Run the command lines of a snapshot and write down what they did."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cli.snapshot import normal
from tests.cli.snapshot.forks import Done, Forks
from tests.cli.snapshot.layout import Part, laid_out, parts, stream
from tests.cli.snapshot.lines import (
    ERRORS,
    EVERY,
    FORMS,
    JSON,
    QUIET,
    READERS,
    SPENDERS,
    TEXT,
    groups,
    speaks_of_agents,
)
from tests.cli.snapshot.lines import lines as of_form
from tests.cli.surface.row import Row
from tests.cli.surface.scene import FIXED, scene
from tests.world import DEADLINE_S, ORCHCTL, World

HERE = Path(__file__).parent
# it looks at the environment that the kernel keeps of a process, and a forked one has its parent's
NOT_FORKED = frozenset(["doctor"])
Stage = tuple[World, dict[str, str]]
Check = Callable[[Row, Done], None]


def path_of(name: str) -> Path:
    """The file of a command."""
    return HERE / f"{name.replace(' ', '-')}.txt"


def help_path_of(name: str) -> Path:
    """The file of a command's help; that of orchctl itself has its name."""
    return HERE / "help" / f"{name.replace(' ', '-') or 'orchctl'}.txt"


@contextlib.contextmanager
def stage_for(name: str, readers: Stage | None = None) -> Iterator[Stage]:
    """A world for the command; those that only read may share one."""
    if name in READERS and readers is not None:
        yield readers
    else:
        with scene(agents=speaks_of_agents(name)) as made:
            yield made


def record(name: str, forms: tuple[str, ...], forks: Forks, readers: Stage | None = None) -> dict[str, str]:
    """The parts of a command's file, each form in the world that is due to it."""
    shares = [(TEXT,), (JSON,), (QUIET, ERRORS)] if name in SPENDERS else [(TEXT,), (JSON, QUIET, ERRORS)]
    found: dict[str, str] = {}
    for share in shares:
        if chosen := [form for form in share if form in forms]:
            with stage_for(name, readers) as stage:
                found |= {form: perform(name, form, stage, forks) for form in chosen}
    return found


def perform(name: str, form: str, stage: Stage, forks: Forks, check: Check | None = None, first: Any = None) -> str:
    """One form in one world. `first` runs the first line in place of the fork; `check` sees each line's end."""
    world, known = stage
    reading = normal.Normal(world, name)
    part = Part(form)
    for row in of_form(name, form):
        words = shlex.split(row.line.format(**known))
        stdin = None if row.stdin is None else row.stdin.format(**known)
        run = installed if name in NOT_FORKED else first or forks.run
        done = run(words, env=world.env, cwd=world.folder, stdin=stdin)
        first = None
        if check is not None:
            check(row, done)
        streams = [*_stream("stdout", name, done.stdout, reading), *_stream("stderr", name, done.stderr, reading)]
        part.block(f"orchctl {_shown(row)}", done.status, streams)
    return part.text()


def installed(words: list[str], *, env: dict[str, str], cwd: str, stdin: str | None = None) -> Done:
    """By the installed program."""
    done = subprocess.run(
        [ORCHCTL, *words], env=env, cwd=cwd, input=(stdin or "").encode(), capture_output=True,
        timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    out, err = (data.decode(errors="backslashreplace") for data in (done.stdout, done.stderr))
    return Done(done.returncode, out, err)


def record_help(name: str, forks: Forks) -> str:
    """What `--help` prints where nothing is to be seen of a terminal."""
    done = forks.run([*name.split(), "--help"], env=FIXED | {"HOME": "/nowhere"}, cwd="/")
    assert (done.status, done.stderr) == (0, ""), done
    return done.stdout


def helps() -> list[str]:
    """Everything that has a help."""
    return [*groups(), *(name for name in EVERY if name != "global")]


def kept(name: str) -> dict[str, str]:
    """The parts of a file as they were accepted."""
    path = path_of(name)
    return parts(path.read_text(encoding="utf-8")) if path.exists() else {}


def difference(name: str, form: str, now: str) -> str:
    """What has changed, as a person wants to see it; empty if nothing has."""
    before = kept(name).get(form, "")
    return changes(os.path.relpath(path_of(name)), before, now, name)


def changes(path: str, before: str, now: str, name: str) -> str:
    """A unified diff, and how to accept it."""
    if before == now:
        return ""
    diff = difflib.unified_diff(
        before.splitlines(), now.splitlines(), f"{path} (accepted)", f"{path} (now)", lineterm=""
    )
    return "\n".join([*diff, "", f"if this is meant, accept it: python -m tests.cli.snapshot {shlex.quote(name)}"])


def write(name: str, forks: Forks, readers: Stage | None = None) -> None:
    """Accept what the command does now."""
    found = record(name, FORMS, forks, readers)
    path_of(name).write_text("\n".join(found.values()), encoding="utf-8")


def _shown(row: Row) -> str:
    """The line as it is typed, with the names of what the placeholders stand for."""
    named = {"dir": "<world>/dir", "file": "<world>/file", "live_id": "<id of live>"}
    line = _placeholders(row.line, named)
    if row.stdin is None:
        return line
    given = _placeholders(row.stdin, named)
    return f"{line} <<< {json.dumps(given if len(given) < 100 else f'{given[:10]}... {len(given)} bytes')}"


def _placeholders(text: str, named: dict[str, str]) -> str:
    class Names(dict[str, str]):
        def __missing__(self, key: str) -> str:
            return key

    return text.format_map(Names(named))


def _stream(which: str, name: str, text: str, reading: normal.Normal) -> list[str]:
    how, documents = _documents(text)
    if not documents:
        plain = normal.table(reading.text(text))
        return stream(which, normal.REDUCED.get(name, str)(plain))
    values = [reading.document(one) for one in documents]
    return stream(f"{which}, {how}", "".join(laid_out(one) + "\n" for one in values))


def _documents(text: str) -> tuple[str, list[Any]]:
    """JSON and how it was printed: one document a line, or one over several lines; none if it is anything else."""
    if text.startswith(("{", "[")) and text.endswith("\n"):
        lines = text.splitlines()
        with contextlib.suppress(ValueError):
            return f"{len(lines)} line{'s' if len(lines) > 1 else ''} of JSON", [json.loads(line) for line in lines]
        with contextlib.suppress(ValueError):
            return "JSON over several lines", [json.loads(text)]
    return "", []

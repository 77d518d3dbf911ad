"""Generated scripts: `exec` and the same texts typed into a plain shell of the kind agree in output, status, state."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from tests.conformance.dialects import DIALECTS, Dialect
from tests.conformance.plain_shell import PlainShell
from tests.needs import marks
from tests.world import DEADLINE_S, World

EXAMPLES, LONG_EXAMPLES = 3, 150
LONG_S = 1200.0  # a run that finds the machine busy ends with fewer examples, and says with how many


def _environment(folder: str) -> dict[str, str]:
    return {"HOME": folder, "TMPDIR": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def _common(output: bytes, folder: str, dialect: Dialect) -> bytes:
    """Without what tells a typed line from a file: where a message comes from, how deep a trace is, numbers of
    processes, and what is told of jobs.
    """
    output = output.replace(folder.encode(), b"~")
    for pattern in dialect.own:
        output = re.sub(pattern, b"", output)
    output = re.sub(rb"(?m)^\++ ", b"+ ", output)
    output = re.sub(rb"\d{4,}", b"N", output)
    return re.sub(rb"(?m)^(\[\d+\]|[^\n]*Killed)[^\n]*\n", b"", output)


def _agree(world: World, dialect: Dialect, script: Sequence[str]) -> None:
    steps = [step for text in script for step in (text, dialect.state)]
    with tempfile.TemporaryDirectory(dir=world.folder) as mine, tempfile.TemporaryDirectory(dir=world.folder) as plain:
        typed = PlainShell(dialect, _environment(plain))
        try:
            expected = [typed.run(step) for step in steps]
        finally:
            typed.close()
        with world.client() as client:
            shell = client.spawn(dialect.kind.command, cwd=mine, env=_environment(mine))
            try:
                shell.exec(dialect.first)
                done = [shell.exec(step, timeout_s=DEADLINE_S) for step in steps]
            finally:
                shell.kill(grace_s=0)
        for step, one, (status, output) in zip(steps, done, expected, strict=True):
            found, wanted = _common(one.output, mine, dialect), _common(output, plain, dialect)
            if re.search(r"[|&]", step):  # its parts may be written in any order, and a trace in pieces
                found, wanted = bytes(sorted(found)), bytes(sorted(wanted))
            assert (one.exit_code, found) == (dialect.code(status), wanted), (step, steps)


@pytest.mark.parametrize(
    "dialect", [pytest.param(one, id=one.kind.name, marks=marks(one.kind.name)) for one in DIALECTS]
)
def test_a_script_does_what_it_does_in_a_plain_shell(shared_world: World, dialect: Dialect, long_form: bool) -> None:
    """Half of its steps look at the state: `$?`, variables, directory, options, jobs, traps, functions."""
    until, tried = time.monotonic() + LONG_S, 0

    def agree(script: list[str]) -> None:
        nonlocal tried
        if time.monotonic() < until:
            tried += 1
            _agree(shared_world, dialect, script)

    for script in dialect.examples:
        agree = example(list(script))(agree)
    given(dialect.scripts)(
        settings(
            derandomize=True,
            max_examples=LONG_EXAMPLES if long_form else EXAMPLES,
            phases=[Phase.explicit, Phase.generate],  # to make one smaller takes as long again as all of them
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
        )(agree)
    )()
    print(f"{dialect.kind.name}: {tried} scripts")

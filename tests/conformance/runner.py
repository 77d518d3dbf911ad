"""Runs cases in orchctl's sessions through the Python library."""

from __future__ import annotations

import os
import tempfile

from orchctl import OrchctlError, Result, SessionHandle
from tests.conformance.case import Case, Step
from tests.world import World

PATIENCE_S = 30.0  # a step that takes longer hangs; its time-out shows as a wrong exit code


def run(
    world: World, case: Case, *, files: tuple[tuple[str, bytes], ...] = (), size: tuple[int, int] = (80, 24)
) -> list[str]:
    """What went wrong, step by step; `files` are there before the case's own."""
    home = _home(world, (*files, *case.files))
    env = {"HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8"}
    faults = list[str]()
    with world.client() as client:
        shell = client.spawn(["bash"], cwd=home, env=env, size=size)
        try:
            for step in (*case.steps, *case.after):
                done = _exec(shell, step, home)
                faults += [f"{step.text[:100]!r}: {fault}" for fault in _faults(step, done, world.state)]
                if step.ends or done.completion == "process":
                    break
        except OrchctlError as refused:
            if not (case.refusable and refused.code == "marks-gone"):
                faults.append(f"{step.text[:100]!r}: {refused.code}: {refused}")
        finally:
            shell.kill(grace_s=0)
    return faults


def _exec(shell: SessionHandle, step: Step, home: str) -> Result:
    return shell.exec(
        step.text,
        stdin=step.stdin,
        env=dict(step.env),
        cwd=step.cwd and step.cwd.replace("~", home, 1),
        timeout_s=step.timeout_s or PATIENCE_S,
    )


def _faults(step: Step, done: Result, state: str) -> list[str]:
    """Wrong by the table; wrong because something of ours shows; wrong about the shell's end."""
    found = step.faults(done.exit_code, done.output)
    ours = ("__oc",) if step.match is not None else ("__oc", state)  # in its own messages bash names what it reads
    found += [f"{one!r} in the output" for one in ours if one.encode() in done.output]
    if (done.completion == "process") != step.ends:
        found.append(f"known by {done.completion}, but the shell {'ends' if step.ends else 'does not end'} here")
    return found


def _home(world: World, files: tuple[tuple[str, bytes], ...]) -> str:
    home = tempfile.mkdtemp(prefix="home-", dir=world.folder)
    for name, content in files:
        with open(os.path.join(home, name), "wb") as file:
            file.write(content)
    return home

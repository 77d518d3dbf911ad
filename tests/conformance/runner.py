"""Runs cases in orchctl's sessions through the Python library."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace

from orchctl import OrchctlError, Result, SessionHandle
from tests.conformance.case import ALIVE, Case, Step
from tests.conformance.kinds import BASH, Kind
from tests.world import World

PATIENCE_S = 60.0  # a step that takes longer hangs; its time-out shows as a wrong exit code
MORE_TIME = (1, 6, 36)  # where a limit is tested: times as long, for a machine on which the shell had not even begun


def run(
    world: World,
    case: Case,
    *,
    kind: Kind = BASH,
    files: tuple[tuple[str, bytes], ...] = (),
    size: tuple[int, int] = (80, 24),
    differs: bool = False,
) -> list[str]:
    """What went wrong, step by step; `files` are there before the case's own.

    Where the shell `differs`, its answer is its own: it has to come, with nothing of ours in it, and to leave
    a shell that can be used.
    """
    limited = any(step.timeout_s is not None for step in case.steps)
    faults = list[str]()
    for times in MORE_TIME if limited else (1,):
        faults = _once(world, _with_limits(case, times), kind, files, size, differs=differs)
        if not faults:
            break
    return faults


def _with_limits(case: Case, times: int) -> Case:
    steps = [replace(step, timeout_s=step.timeout_s and min(PATIENCE_S, step.timeout_s * times)) for step in case.steps]
    return replace(case, steps=tuple(steps))


def _once(
    world: World,
    case: Case,
    kind: Kind,
    files: tuple[tuple[str, bytes], ...],
    size: tuple[int, int],
    *,
    differs: bool,
) -> list[str]:
    home = _home(world, (*files, *case.files))
    env = {"HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8"}
    env |= {name: value.replace("~", home) for name, value in kind.env if files}
    faults = list[str]()
    with world.client() as client:
        shell = client.spawn(kind.command, cwd=home, env=env, size=size)
        if shell.value.shell != kind.name:
            faults.append(f"it is said to be {shell.value.shell}")
        try:
            for step in (*case.steps, *(case.after if not differs else (ALIVE,) if case.after else ())):
                done = _exec(shell, step, home)
                found = _faults(step, done, world.state) if not differs or step is ALIVE else _ours(done)
                faults += [f"{step.text[:100]!r}: {fault}" for fault in found]
                if step.ends or done.completion == "process":
                    break
        except OrchctlError as refused:
            if not ((case.refusable or differs) and refused.code in ("marks-gone", "not-at-prompt")):
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
    ours = ("__oc",) if step.match is not None else ("__oc", state)  # in its own messages a shell names what it reads
    found += [f"{one!r} in the output" for one in ours if one.encode() in done.output]
    if (done.completion == "process") != step.ends:
        found.append(f"known by {done.completion}, but the shell {'ends' if step.ends else 'does not end'} here")
    return found


def _ours(done: Result) -> list[str]:
    """What is wrong with any answer at all; the line that is typed may be in a list of such lines."""
    ours = re.search(rb"__oc(?!_s=\$\?;)", done.output)
    found = [f"{done.output[-200:]!r} has something of ours"] if ours else []
    return found + (["it hangs"] if done.status == "timeout" and (done.duration_s or 0) >= PATIENCE_S else [])


def _home(world: World, files: tuple[tuple[str, bytes], ...]) -> str:
    home = tempfile.mkdtemp(prefix="home-", dir=world.folder)
    for name, content in files:
        os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
        with open(os.path.join(home, name), "wb") as file:
            file.write(content)
    return home

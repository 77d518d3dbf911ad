"""What the tests of `doctor` share: ask it, look for a finding, and do what it advises."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from tests.world import DEADLINE_S, ORCHCTL, World

Found = dict[str, Any]


def as_user(uid: int) -> list[str]:
    """Run what follows as somebody else, who can still read our interpreter, wherever that is installed."""
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *reading]


class Visit:
    """One run of `orchctl doctor --json`."""

    def __init__(self, world: World, *before: str, **env: str) -> None:
        self._world = world
        self._env = world.env | env
        argv = [*before, ORCHCTL, "doctor", "--json"]
        done = subprocess.run(argv, env=self._env, capture_output=True, check=False, timeout=DEADLINE_S)
        assert done.stderr == b"", done
        self.said = json.loads(done.stdout)
        self.findings: list[Found] = self.said["findings"]
        problems = [one for one in self.findings if one["level"] == "problem"]
        assert done.returncode == (1 if problems else 0)
        assert self.said["problems"] == len(problems)
        assert not [one for one in self.findings if "this check failed" in one["what"]], self.findings

    def of(self, check: str, level: str | None = None) -> list[Found]:
        """What one check found; of one level only if that is given."""
        return [one for one in self.findings if one["check"] == check and level in (None, one["level"])]

    def one(self, check: str, level: str) -> Found:
        """The only one of its kind."""
        found = self.of(check, level)
        assert len(found) == 1, self.findings
        return found[0]

    def follow(self, finding: Found) -> None:
        """Do what a finding advises, as a user would who copies it."""
        env = self._env | {"PATH": f"{os.path.dirname(ORCHCTL)}:{self._env['PATH']}"}
        subprocess.run(["/bin/sh", "-ec", finding["fix"]], env=env, check=True, timeout=DEADLINE_S, capture_output=True)

"""What cannot be handed over: told to whoever has it otherwise, and to nobody else."""

from __future__ import annotations

import json
import os
import resource

from orchctl.procfs import differences, security_context
from tests.world import World


def test_only_what_both_know_and_have_otherwise_differs() -> None:
    assert differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "0", "d": "4"}) == [
        "b: 2 where you are, 0 in the session"
    ]
    assert differences({"groups": ""}, {"groups": "7"}) == ["groups: none where you are, 7 in the session"]


def test_this_process_has_limits_groups_and_namespaces() -> None:
    found = security_context()
    assert found["groups"] == " ".join(map(str, sorted(os.getgroups())))
    assert found["mnt namespace"].isdigit()
    assert "hard limit nofile" in found


def test_a_client_that_differs_is_warned_and_the_session_runs(world: World) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    same = world.run("spawn", "--follow", "echo", "ran")
    assert (same.stdout, same.stderr) == (b"ran\n", b"")

    def less() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))

    other = world.run("spawn", "--follow", "sh", "-c", "ulimit -Hn; ulimit -Sn", preexec_fn=less)
    shown = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    assert other.returncode == 0
    assert other.stdout.decode().split() == [shown, "100"]
    assert b"environment-differs: hard limit nofile: 200 where you are" in other.stderr
    quiet = world.run("spawn", "--json", "true", preexec_fn=less)
    assert quiet.stderr == b""
    assert json.loads(quiet.stdout)["id"]

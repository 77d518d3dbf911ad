"""Where systemd runs, the daemon is started in a scope of its own; what goes wrong there costs nobody a supervisor.

There is a stand-in for `systemd-run`, and a /run and a list of lingering users that only the command under test sees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.needs import needs
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of

pytestmark = needs("namespaces")
_NAMESPACE = """
import os, pwd, socket, subprocess, sys
lingers, *words = sys.argv[1:]
for folder in ("/run", "/var/lib/systemd"):
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
runtime = f"/run/user/{os.getuid()}"
for folder in ("/run/systemd/system", runtime, "/var/lib/systemd/linger"):
    os.makedirs(folder)
if lingers == "lingers":
    open(f"/var/lib/systemd/linger/{pwd.getpwuid(os.getuid()).pw_name}", "w").close()
bus = socket.socket(socket.AF_UNIX)
bus.bind(f"{runtime}/bus")
os.execvp(words[0], words)
"""
_RUNS = 'printf "%s\\n" "$@" > {noted}; env > {noted}.env; while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
_FAILS = 'echo called >> {noted}; echo "Failed to connect to bus" >&2; exit 1'
_HANGS = "echo called >> {noted}; sleep 1000; true"
_SLOW = 'echo called >> {noted}; sleep 4; while [ "$1" != -- ]; do shift; done; shift; exec "$@"'


def _start(world: World, script: str, *, lingers: str = "lingers", **env: str) -> subprocess.CompletedProcess[bytes]:
    """`supervisor start` with that stand-in first on the path; what it notes is in the file `noted`."""
    tools = f"{world.folder}/tools"
    os.mkdir(tools)
    with open(f"{tools}/systemd-run", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + script.format(noted=f"{world.folder}/noted") + "\n")
    os.chmod(f"{tools}/systemd-run", 0o755)
    return _in_namespace(world, lingers, **{"PATH": f"{tools}:{world.env['PATH']}"} | env)


def _in_namespace(world: World, lingers: str, *before: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    words = ["unshare", "--mount", sys.executable, "-c", _NAMESPACE, lingers]
    words += [*before, ORCHCTL, "supervisor", "start", "--json"]
    return subprocess.run(words, env=world.env | env, capture_output=True, timeout=DEADLINE_S, check=False)


def _noted(world: World, name: str = "noted") -> list[str]:
    try:
        with open(f"{world.folder}/{name}", encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def _works(world: World, done: subprocess.CompletedProcess[bytes]) -> None:
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["running"] is True
    assert world.json("supervisor", "status")["pid"] == json.loads(done.stdout)["pid"]
    assert world.run("spawn", "--wait", "sh", "-c", "exit 7").returncode == 7


def test_the_daemon_is_started_in_a_scope_and_sees_nothing_of_what_that_needs(world: World) -> None:
    done = _start(world, _RUNS, XDG_RUNTIME_DIR="/run/user/4711")  # somebody else's, as `su` leaves it
    _works(world, done)
    words = _noted(world)
    assert words[: words.index("--")] == [
        "--user",
        "--scope",
        "--quiet",
        "--collect",
        "--description=orchctl supervisor",
    ]
    assert words[-4:-1] == ["orchctl.pair", world.state, "--ready"]
    needed = {
        f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}",
        f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{os.getuid()}/bus",
    }
    assert needed <= set(_noted(world, "noted.env"))
    for pid in processes_of(world.folder):
        with open(f"/proc/{pid}/environ", "rb") as file:
            assert not {line.partition(b"=")[0] for line in file.read().split(b"\0")} & {
                b"XDG_RUNTIME_DIR",
                b"DBUS_SESSION_BUS_ADDRESS",
            }


def test_a_systemd_run_that_fails_is_done_without(world: World) -> None:
    _works(world, _start(world, _FAILS))
    assert _noted(world) == ["called"]
    with open(f"{world.state}/supervisor.log", encoding="utf-8") as file:
        assert "Failed to connect to bus" in file.read()


@pytest.mark.parametrize("script", [_HANGS, _SLOW], ids=["hangs", "is slow"])
def test_a_systemd_run_that_does_not_answer_is_not_waited_for(world: World, script: str) -> None:
    _works(world, _start(world, script))
    assert _noted(world) == ["called"]
    ours = world.json("supervisor", "status")
    assert sorted(processes_of(world.folder)) == sorted([ours["pid"], ours["zygote"]])  # nothing of it is left


def test_there_is_none_where_it_would_end_with_the_last_login_or_is_turned_off(world: World) -> None:
    _works(world, _start(world, _RUNS, lingers="goes"))
    assert _noted(world) == []
    world.ok("supervisor", "stop")
    os.unlink(f"{world.folder}/tools/systemd-run")
    os.rmdir(f"{world.folder}/tools")
    _works(world, _start(world, _RUNS, ORCHCTL_SCOPE="no"))
    assert _noted(world) == []


@pytest.mark.parametrize("path", ["{folder}", "/usr/bin:/bin"], ids=["is not there", "has no manager to ask"])
def test_a_systemd_run_that_cannot_work_is_done_without(world: World, path: str) -> None:
    """The second is the real one, if it is installed: the bus is there, but nobody listens."""
    _works(world, _in_namespace(world, "lingers", "/usr/bin/env", f"PATH={path.format(folder=world.folder)}"))

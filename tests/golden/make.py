"""Make the recordings again, from nothing: `python -m tests.golden.make [store] [wire]`, all of them without a word.

It needs the agents that `.ci/harnesses` installs. What is made lies in `tests/golden/v2`; a format that has changed on
purpose gets another folder, because what is committed stays as it is for ever.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.golden import conversations, readings, terminals, wire_client, wire_pair, zygotes
from tests.golden.place import BASE, ENVIRONMENT, PYTHON, WORK, Place, leaks, machine_words, make_python, place
from tests.world import until

V2 = Path(__file__).parent / "v2"
LEFT_OUT = ("supervisor.log", "supervisor.log.1", "start.lock", "supervisor.lock")  # of processes, not of the store


def store() -> None:
    """A state directory with every kind of file, and what was said of it."""
    shutil.rmtree(V2 / "state", ignore_errors=True)
    shutil.rmtree(V2 / "ephemeral", ignore_errors=True)
    words = machine_words()
    os.environ.pop("XDG_CACHE_HOME", None)
    with place() as here:
        os.chdir(WORK)
        os.makedirs(here.state, mode=0o700)
        with conversations.kits(here) as made:
            config = "".join(kit.config for kit in made.values()) + conversations.plain_agent(here)
            with open(f"{here.state}/config.toml", "w", encoding="utf-8") as file:
                file.write(terminals.CONFIG + config)
            terminals.make(here)
            conversations.make(here, made)
            terminals.leave_live(here)
            conversations.leave_live(here)
            _until_safe(here)
            _freeze(here.state, V2 / "state")
            _ephemeral(here)
    assert (found := leaks(str(V2), words)) == [], found
    readings.record(V2)


def wire() -> None:
    """What processes said to each other; the store has to be there, because old sessions are begun from it."""
    target = V2 / "wire"
    shutil.rmtree(target, ignore_errors=True)
    words = machine_words()
    os.environ.pop("XDG_CACHE_HOME", None)
    for make in (wire_client.make, wire_pair.make):
        with place() as here:
            os.chdir(WORK)
            os.makedirs(target, exist_ok=True)
            make(here, target)
            os.chdir("/")
    with place() as here:
        said = {}
        for number, (name, act) in enumerate(zygotes.ACTS.items()):
            ground = zygotes.Ground(f"{here.state}/{number}", here.env)
            said[name] = act(ground)
            ground.close()
    (target / "zygote.json").write_text(json.dumps(said, indent=1) + "\n")
    assert (found := leaks(str(target), words)) == [], found


def _until_safe(here: Place) -> None:
    """What has ended is put away, and what goes on is sealed: nothing is written any more."""
    ended = [one["id"] for one in here.json("list", "-a") if one["state"] == "closed"]
    until(lambda: all(os.path.exists(f"{here.state}/sessions/{one}/ended.json") for one in ended))
    before = None
    while (sizes := _sizes(here.state)) != before:
        before = sizes
        here.ok("wait", "left-held", "--for", "quiet=2s")


def _sizes(folder: str) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in Path(folder).rglob("*.jnl")}


def _freeze(state: str, target: Path) -> None:
    """The files as they are at this moment; what only living processes use is left out."""

    def unwanted(folder: str, names: list[str]) -> list[str]:
        sockets = [name for name in names if stat.S_ISSOCK(os.lstat(f"{folder}/{name}").st_mode)]
        return [*sockets, *(name for name in names if name in LEFT_OUT)]

    shutil.copytree(state, target, ignore=unwanted)


def _ephemeral(here: Place) -> None:
    """The state directory of a command with a supervisor of its own."""
    env = {name: value for name, value in here.env.items() if name != "ORCHCTL_STATE_DIR"}
    words = ("--host", "ephemeral", "spawn", "--follow", "--name", "owned", "--", "sh", "-c", "echo up; exec cat")
    running = here.start(*words, env=env)
    try:
        assert running.stdout is not None
        assert running.stdout.readline().strip() == b"up"
        (folder,) = Path(env["TMPDIR"]).glob("orchctl-*")
        until(lambda: any(path.stat().st_size for path in folder.rglob("*.idx")))
        _freeze(str(folder), V2 / "ephemeral")
    finally:
        running.terminate()
        running.communicate()


def main() -> None:
    """In a clean environment, by a Python with a neutral path."""
    if sys.argv[1:2] == ["inside"]:
        for name in sys.argv[2:]:
            {"store": store, "wire": wire}[name]()
        return
    try:
        make_python()
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        words = [PYTHON, "-m", "tests.golden.make", "inside", *(sys.argv[1:] or ["store", "wire"])]
        sys.exit(subprocess.run(words, env=ENVIRONMENT | {"XDG_CACHE_HOME": cache}, check=False).returncode)
    finally:
        shutil.rmtree(BASE, ignore_errors=True)


if __name__ == "__main__":
    main()

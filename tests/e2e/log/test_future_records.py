"""Records that only a later version knows, in every journal (F30): passed over, kept, and never in the way."""

from __future__ import annotations

import os
import signal
import zlib

from orchctl.log import journal
from tests.world import World, until

JOURNALS = ("run.jnl", "lease.jnl", "seals.jnl", "commands.jnl")
FUTURE = {"type": "from-the-future", "payload": {"deep": [1, None, "two"]}, "offset": -1}


def _put(path: str) -> bytes:
    """One more line; what the file was."""
    line = journal.encode(FUTURE)
    assert line.startswith(b"%08x " % zlib.crc32(line[9:-1]))
    with open(path, "ab") as file:
        file.write(line)
    with open(path, "rb") as file:
        return file.read()


def test_records_of_a_later_version_are_passed_over_and_kept(world: World) -> None:
    shell = world.ok("spawn", "--name", "shell", "bash")
    assert world.ok("exec", shell, "echo one") == "one"
    held = world.ok("spawn", "--name", "held", "cat")
    world.ok("lease", "take", held, "--ttl", "1h")
    over = world.ok("spawn", "--wait", "--", "sh", "-c", "echo out; exit 0")
    folder = f"{world.state}/sessions"
    until(lambda: os.path.exists(f"{folder}/{over}/ended.json"))
    paths = [f"{folder}/{one}/{name}" for one in (shell, held, over) for name in JOURNALS]
    before = {path: _put(path) for path in paths if os.path.exists(path)}
    assert len(before) >= 5, before.keys()
    for what in ("spec.json", "ended.json"):  # a field more, with a checksum that knows of it
        path = f"{folder}/{over}/{what}"
        with open(path, "rb") as file:
            known = journal.load(file.read())
        with open(path, "w", encoding="ascii") as text:
            text.write(journal.dump(known | {"from_the_future": {"deep": 1}}))
    os.kill(world.supervisor(), signal.SIGKILL)
    assert world.ok("exec", shell, "echo two") == "two"
    assert [one["exit_code"] for one in world.json("history", shell)] == [0, 0]
    assert world.run("send", held, "refused").returncode == 5
    assert world.ok("tail", "-n", "all", over) == "out"
    assert (world.json("info", over)["exit_code"], world.json("info", over)["end_reason"]) == (0, "exited")
    assert world.ok("kill", shell, held) == "2"
    for path, data in before.items():
        with open(path, "rb") as file:
            assert file.read().startswith(data), path
    verified = world.run("verify")
    assert verified.returncode == 0, verified
    assert b"Traceback" not in _log(world)


def _log(world: World) -> bytes:
    with open(f"{world.state}/supervisor.log", "rb") as file:
        return file.read()

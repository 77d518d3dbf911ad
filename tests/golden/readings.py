"""What every reading verb says about a recorded state directory, in a form that can be compared on any day.

Times that are not in the recording were made when it was opened: they, and what is counted from them, become "new".
JSON is compared by what was recorded: later versions may say more, and must not say less. Text is compared exactly.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.world import World, fresh_world, until

SAID = "said.jsonl"
NEW = "new"
SHORT_BYTES, LONG_BYTES = 400, 12000  # of text and of JSON: what is longer is known by its hash
AGAIN = "left-always"
Said = dict[str, Any]
_STAMP = re.compile(rb"\b\d{10}\.\d+")
_COUNTED = ("uptime", "duration_s")  # from a time to now
_MEASURED = ("pid", "cpu", "memory", "io", "processes", "waiting")  # of what runs now
_WITHOUT_SUPERVISOR = ("verify --json", "audit --verify")
_OF_ALL = (
    "verify --json",
    "list -a --template {id}|{name}|{managed_by}|{backend}|{state}|{end_reason}|{exit_code}|{signal}|{run}",
    "list -a -q -m orchestrator:golden",
    "list -a -q -l team=storage",
    "pending --json",
    "limits --json",
    "config get retention.session",
    "search --json words",
    "search -n -c run",
    *(f"tail {how} {name}" for how in ("-t -n 3", "--plain -n 5") for name in ("work", "pipes", "codex")),
    "tail --json -n 3 pipes",
    "tail --command 1 left",
    "tail --stream err pipes",
)
_OF_EACH = ("info --json", "tail --raw -n all", "tail -n all", "history --json")
_OF_SOME = {  # what takes long, or says the same of most
    "lease show --json": ("leased", "left-held"),
    **{f"export --as {form}": ("work", "pipes", "cut", "codex") for form in ("raw", "text", "asciicast", "jsonl")},
}


def open_copy(recorded: Path, world: World, *, put_away: bool = True) -> None:
    """Put a copy of a recorded state directory where a world's supervisor will find it, with the modes git forgets.

    Unless `put_away`, without the last words on what has ended: as a crash just before them would have left it.
    """
    shutil.copytree(recorded, world.state)
    for folder, _, names in os.walk(world.state):
        os.chmod(folder, 0o700)
        if not put_away and "ended.json" in names:
            os.unlink(f"{folder}/ended.json")
    world.env |= {"TZ": "UTC", "LANG": "C.UTF-8"}


def settle(world: World) -> None:
    """Start a supervisor and wait until it has told everything about what it found."""
    world.ok("supervisor", "start")
    until(lambda: [one["name"] for one in world.json("list")] == [AGAIN, "left-agent"], "the others are not over")
    until(lambda: world.json("info", AGAIN)["output"]["next_offset"] == 6, "there is no other run")
    closed = [one["id"] for one in world.json("list", "-a") if one["state"] == "closed"]
    until(lambda: all(os.path.exists(f"{world.state}/sessions/{one}/ended.json") for one in closed))
    until(lambda: any('"harness-not-installed"' in line for line in world.ok("events", "left-agent").splitlines()))


def record(version: Path) -> None:
    """Open a copy, ask everything, and write down what was said."""
    with fresh_world() as world:
        open_copy(version / "state", world)
        lines = [json.dumps(one, sort_keys=True) for one in everything(world, stamps(version / "state"))]
    (version / SAID).write_text("\n".join(lines) + "\n")


def everything(world: World, known: set[float], *, exports: bool = True) -> Iterator[Said]:
    """Before a supervisor has looked at it, and after."""
    with _batch(world) as batch:
        yield from _ask(batch, known, [f"before: {words}" for words in _WITHOUT_SUPERVISOR])
        settle(world)
        sessions = [one for one in world.json("list", "-a") if one["name"] != AGAIN]  # of which there is another run
        asked = [f"{words} {one['id']}" for one in sessions for words in _OF_EACH]
        if exports:
            asked += [f"{words} {name}" for words, names in _OF_SOME.items() for name in names]
        yield from _ask(batch, known, [*_OF_ALL, *asked])


@contextlib.contextmanager
def _batch(world: World) -> Iterator[subprocess.Popen[bytes]]:
    argv, pipe = [sys.executable, "-m", "tests.golden.batch"], subprocess.PIPE
    top = Path(__file__).parent.parent.parent
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=world.env, cwd=top) as running:
        try:
            yield running
        finally:
            running.kill()


def _ask(batch: subprocess.Popen[bytes], known: set[float], asked: list[str]) -> Iterator[Said]:
    assert batch.stdin is not None
    assert batch.stdout is not None
    words = [line.removeprefix("before: ").split() for line in asked]
    batch.stdin.write(json.dumps(words).encode() + b"\n")
    batch.stdin.flush()
    for line, (code, out, err) in zip(asked, json.loads(batch.stdout.readline()), strict=True):
        said = {"asked": line, "exit": code, **_form("out", base64.b64decode(out), known)}
        yield said | (_form("err", base64.b64decode(err), known) if err else {})


def _form(name: str, data: bytes, known: set[float]) -> Said:
    """JSON as what it says; other text as it is; what is long by its hash, with its first line to recognise it by."""
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    try:
        values = [json.loads(line) for line in lines]
    except ValueError:
        values = []
    if values and not all(isinstance(one, int | float) for one in values) and len(data) < LONG_BYTES:
        return {f"{name}_json": _settled(values, known)}
    if len(data) <= SHORT_BYTES:
        return {name: data.decode("utf-8", "backslashreplace")}
    digest = hashlib.sha256(data).hexdigest()
    return {f"{name}_sha256": digest, f"{name}_bytes": len(data), f"{name}_begins": ascii(lines[0][:60])}


def _settled(value: Any, known: set[float]) -> Any:
    if isinstance(value, list):
        return [_settled(one, known) for one in value]
    if isinstance(value, dict):
        made = {key: _settled(one, known) for key, one in value.items()}
        if NEW in (made.get("ended_at"), made.get("time")) or made.get("is_alive"):
            counted = (*_COUNTED, *_MEASURED) if made.get("is_alive") else _COUNTED
            made |= {key: NEW for key in counted if made.get(key) is not None}
        return made
    return NEW if isinstance(value, float) and value > 1e9 and value not in known else value


def stamps(state: Path) -> set[float]:
    """Every time that is in a recorded state directory."""
    found: set[float] = set()
    for path in state.rglob("*"):
        if path.suffix in (".jnl", ".json"):
            found |= {float(text) for text in _STAMP.findall(path.read_bytes())}
        elif path.suffix == ".idx":
            found |= {record[2] for record in struct.iter_unpack("<QddII", path.read_bytes())}
    return found


def says_at_least(said: Any, recorded: Any) -> bool:
    """Whether everything that was recorded is still said; objects may have got more fields."""
    if isinstance(recorded, dict) and isinstance(said, dict):
        return all(key in said and says_at_least(said[key], value) for key, value in recorded.items())
    if isinstance(recorded, list) and isinstance(said, list):
        return len(said) == len(recorded) and all(map(says_at_least, said, recorded))
    return bool(said == recorded)


def events(state: Path) -> list[dict[str, Any]]:
    """The events of a recorded state directory, read without any code of ours; not the checkpoints between them."""
    lines = [line for path in sorted(state.glob("events/*.jnl")) for line in path.read_text().splitlines()]
    every: list[dict[str, Any]] = [json.loads(line.partition(" ")[2]) for line in lines]
    return [one for one in every if "session" in one]

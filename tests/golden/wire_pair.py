"""Record what a supervisor and the pair of a session say to each other, by a proxy in the place of the pair's socket.

A supervisor that follows one that was killed connects there. A second pair is made to look like one of the first
version, without any feature, so that what only those are told is recorded too.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from orchctl import Client
from tests.golden.pairs import meaning
from tests.golden.place import Place
from tests.golden.recorder import Entry, Recorder, pair_lines
from tests.world import until


def make(place: Place, target: Path) -> None:
    """Two recordings, one for each pair."""
    os.makedirs(place.state, mode=0o700, exist_ok=True)
    with open(f"{place.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "16K"\n')
    with Client(state_dir=place.state) as client:
        session = place.ok("spawn", "--name", "paired", "bash")
        program = "read -r line; trap '' HUP; sleep 1000 & exit 3"  # what it leaves behind holds the terminal
        other = place.ok("spawn", "--name", "older", "--", "sh", "-c", program)
        recorder = _between(place, session)
        older = Recorder(f"{place.state}/sessions/{other}/pair.sock", pair_lines, _older)
        os.kill(place.supervisor(), signal.SIGKILL)
        until(lambda: recorder.entries and older.entries, "the next supervisor does not come by")
        _everything(place, client, session)
        place.ok("send", "older", "typed")
        until(lambda: place.json("info", "older")["leftover"])
        place.ok("kill", "older")
    for name, one in (("pair", recorder), ("older-pair", older)):
        lines = [_line(entry) for entry in one.take()]
        (target / f"{name}.txt").write_text(f"# {__doc__.splitlines()[0]}\n" + "\n".join(lines) + "\n")
        one.close()


def _between(place: Place, session: str) -> Recorder:
    return Recorder(f"{place.state}/sessions/{session}/pair.sock", pair_lines)


def _older(side: str, data: bytes) -> bytes:
    """No feature that anybody knows; a frame keeps its length."""
    return data.replace(b'["fence"', b'["other"') if side == "<" else data


def _everything(place: Place, client: Client, session: str) -> None:
    place.ok("exec", "--wait-prompt", "60s", "paired", "echo one")
    place.run("exec", "--timeout", "300ms", "--kill-after", "200ms", "paired", "sleep 1000")
    place.ok("resize", "paired", "100x30")
    place.ok("signal", "paired", "WINCH")
    place.ok("pause", "paired")
    place.ok("unpause", "paired")
    client.terminal("paired", echo=False)
    client.terminal("paired", echo=True)
    place.ok("wait", "paired", "--for", "input")
    token = place.ok("lease", "take", "--ttl", "1h", "paired")
    place.ok("send", "--lease", token, "paired", "sleep 1000")
    place.ok("lease", "release", "--lease", token, "paired")
    place.ok("interrupt", "paired")
    place.ok("exec", "--wait-prompt", "60s", "paired", "sleep 1000 & disown; echo left")
    place.ok("tail", "-n", "all", "paired")
    place.ok("prune", "--output", "paired")
    _stall(place, session)
    place.ok("info", "paired")
    place.ok("restart", "paired")
    place.ok("kill", "paired")


def _stall(place: Place, session: str) -> None:
    """The log's folder is away for a moment, so that no new segment can be made."""
    folder = f"{place.state}/sessions/{session}"
    place.ok(
        "exec", "--detach", "--wait-prompt", "60s", "paired", f"until [ -e {folder}/gone ]; do :; done; seq 1 3000"
    )
    os.rename(f"{folder}/out", f"{folder}/gone")
    until(lambda: json.loads(place.ok("info", "paired", "--json"))["stalled"])
    os.rename(f"{folder}/gone", f"{folder}/out")
    until(lambda: json.loads(place.ok("info", "paired", "--json"))["stalled"] is None)


def _line(entry: Entry) -> str:
    """With what it means behind it."""
    if entry.side == "x":
        return entry.line()
    kind, _, payload = entry.text.partition(" ")
    said = json.dumps(meaning(kind, bytes.fromhex(payload)))
    return f"{entry.connection} {entry.side} {kind} {payload or '-'} {said}"

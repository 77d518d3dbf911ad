"""Record what clients and a supervisor say to each other: real commands, and the library where no command says it.

Each scene can be played again on an empty supervisor, because clients choose the names of sessions and commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from orchctl import Client
from tests.golden.conversations import AGENT, plain_agent
from tests.golden.frames import Line
from tests.golden.place import WORK, Place
from tests.golden.recorder import Recorder, client_lines
from tests.golden.terminals import CONFIG, GUEST, HOLDER
from tests.world import until

Scene = Callable[[Place], None]


def make(place: Place, target: Path) -> None:
    """A file for each scene."""
    os.makedirs(place.state, mode=0o700, exist_ok=True)
    with open(f"{place.state}/config.toml", "w", encoding="utf-8") as file:
        file.write(CONFIG + plain_agent(place))
    place.ok("supervisor", "start")
    recorder = Recorder(f"{place.state}/supervisor.sock", client_lines)
    for scene in (sessions, output, shell, leases, agents, events, supervisor):
        recorder.take()
        scene(place)
        lines = [entry.line() for entry in recorder.take()]
        (target / f"{scene.__name__}.txt").write_text(f"# {scene.__doc__}\n" + "\n".join(lines) + "\n")
    recorder.close()


def sessions(place: Place) -> None:
    """Sessions that are started, found, named, controlled, restarted and ended."""
    place.ok("spawn", "--name", "one", "-l", "team=storage", "-m", "golden", "--", "cat")
    place.run("spawn", "--name", "one", "--", "cat")
    place.ok("list", "-a")
    place.ok("list", "-l", "team=storage", "--json")
    place.ok("info", "one")
    place.ok("rename", "one", "two")
    place.ok("label", "two", "tier=1")
    place.ok("resize", "two", "100x30")
    place.ok("pause", "two")
    place.ok("unpause", "two")
    place.ok("signal", "two", "WINCH")
    place.ok("restart", "two")
    place.ok("spawn", "--wait", "--name", "three", "--", "true")
    place.ok("wait", "three")
    place.ok("wait", "two", "--for", "state=live")
    place.ok("kill", "two")
    place.ok("spawn", "--name", "four", "-m", "golden:below", "--", "cat")
    place.ok("kill-by-manager", "golden")
    place.ok("prune", "three")
    place.run("info", "three")


def output(place: Place) -> None:
    """Output that is read, followed, timed, taken with credit, taken away, and shown as a screen."""
    place.ok("spawn", "--no-pty", "--wait", "--name", "written", "--", "sh", "-c", "echo out; echo err >&2")
    place.ok("tail", "-n", "all", "written")
    place.ok("tail", "-t", "written")
    place.ok("spawn", "--follow", "--", "seq", "1", "5")
    session = place.ok("spawn", "--no-pty", "--wait", "--", "seq", "1", "20")
    with Client(state_dir=place.state) as client:
        list(client.output(session, credit_bytes=16))
        terminal = client.spawn(["sh", "-c", "echo shown; exec cat"], cwd=WORK).id
        client.wait_for_output(terminal, "shown")
        client.output(terminal, snapshot=True).screen()
        client.kill(terminal)
    place.ok("prune", "--output", session)
    place.ok("tail", "-n", "all", "--raw", session)


def shell(place: Place) -> None:
    """Commands in a shell: run, run apart, with stdin, out of time, detached, interrupted; keys and conditions."""
    place.ok("spawn", "--name", "shell", "bash")
    place.ok("exec", "--wait-prompt", "60s", "shell", "echo one")
    place.ok("exec", "--pipe", "shell", "echo out; echo err >&2")
    place.ok("exec", "--stdin", "shell", "cat", input=b"from stdin\n", stdin=None)
    place.run("exec", "--timeout", "300ms", "--kill-after", "200ms", "shell", "sleep 1000")
    place.ok("exec", "--detach", "--wait-prompt", "60s", "shell", "sleep 1000")
    place.ok("interrupt", "shell")
    place.ok("wait", "shell", "--for", "prompt")
    place.ok("history", "shell")
    place.ok("send", "shell", "echo typed")
    place.ok("wait", "shell", "--for", "prompt")
    with Client(state_dir=place.state) as client:
        client.terminal("shell", echo=True)
    with Line(f"{place.state}/supervisor.sock") as line, Line(f"{place.state}/supervisor.sock") as other:
        line.answer(id=1, kind="command.exec", session="shell", exec_id="golden-detached", text="sleep 0.5")
        other.answer(id=1, kind="command.detach", session="shell", exec_id="golden-detached")
    place.ok("wait", "shell", "--for", "command")
    place.ok("kill", "shell")


def leases(place: Place) -> None:
    """Who may type: a lease for a time, viewers, one that hands it on and gets it back."""
    session = place.ok("spawn", "--name", "leased", "--", "cat")
    token = place.ok("lease", "take", "--ttl", "1h", "leased")
    place.ok("lease", "show", "leased")
    place.run("send", "leased", "refused")
    place.ok("send", "--lease", token, "leased", "mine")
    place.ok("lease", "release", "--lease", token, "leased")
    socket = f"{place.state}/supervisor.sock"
    with Line(socket) as holder, Line(socket) as guest, Line(socket) as line:
        holder.answer(id=1, kind="view.open", session=session, viewer=HOLDER, terminal="/dev/pts/1", take=True)
        guest.answer(id=1, kind="view.open", session=session, viewer=GUEST, own_manager="user:guest")
        given = {"session": session, "viewer": HOLDER, "once": "handed-on"}
        line.answer(id=1, kind="lease.transfer", to="user:guest", give_back=True, **given)
        line.answer(id=2, kind="lease.release", session=session, viewer=GUEST, once="let-go")
        line.answer(id=3, kind="lease.get", session=session)
    place.ok("kill", "leased")


def agents(place: Place) -> None:
    """A conversation: a prompt, a request, its approval, and what there is to talk to."""
    place.ok("spawn", "--profile", AGENT, "--name", "agent", "-w", WORK)
    place.ok("exec", "--wait-prompt", "60s", "agent", "say hello")
    assert place.run("exec", "--no-wait-input", "agent", "ask file").returncode == 7
    place.ok("pending")
    place.ok("approve", "agent")
    place.ok("wait", "agent", "--for", "turn")
    place.ok("tail", "-n", "all", "agent")
    place.ok("harness", "list")
    place.ok("kill", "agent")


def events(place: Place) -> None:
    """What happened, read by number and by session."""
    place.ok("spawn", "--wait", "--name", "eventful", "--", "true")
    place.ok("events", "eventful")
    place.ok("events", "--since", "1", "--type", "session.state", "eventful")


def supervisor(place: Place) -> None:
    """The supervisor itself: asked, asked for what it does not know, replaced and stopped."""
    place.ok("supervisor", "status")
    with Line(f"{place.state}/supervisor.sock") as line:
        line.answer(id=7, kind="no.such-verb")
    before = place.json("supervisor", "status")["pid"]
    place.ok("supervisor", "restart")
    until(lambda: place.json("supervisor", "status")["pid"] != before)
    place.ok("supervisor", "stop", "--kill")

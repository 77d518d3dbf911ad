"""A server for the `scripted` harness: a prompt is a list of steps, one a line, that the server does one after another.

    say TEXT · think TEXT · tool TITLE · ask TITLE (a permission for a tool) · question TITLE · count N MILLISECONDS
    recall (the prompts it has had) · where (its directory) · fail TEXT · retry · odd · die · hang · garbage · stay
    complain BYTES (to stderr) · noise BYTES (lines that mean nothing) · gate FILE (until that is there) · make FILE
    size (of the prompt) · leave (a process) · # (nothing)

What a conversation has had is kept in $SCRIPTED_HOME, so that it can be resumed by another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from typing import Any

HOME = os.environ.get("SCRIPTED_HOME", "/tmp")
_speaking = threading.Lock()


def say(message: dict[str, Any]) -> None:
    """One line."""
    with _speaking:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


class Interrupted(Exception):
    """The turn is to end."""


class Conversation:
    """One at a time does its steps in a thread."""

    def __init__(self, name: str, cwd: str) -> None:
        self.name = name
        self.cwd = cwd
        self.interrupted = threading.Event()
        self.replies: dict[str, dict[str, Any]] = {}
        self.replied = threading.Condition()
        self.turn = 0
        self.busy = False

    @property
    def file(self) -> str:
        """What it has had."""
        return f"{HOME}/{self.name}.json"

    def history(self) -> list[str]:
        """The prompts so far."""
        try:
            with open(self.file, encoding="utf-8") as file:
                found: list[str] = json.load(file)
                return found
        except FileNotFoundError:
            return []

    def remember(self, text: str) -> None:
        """One more."""
        found = [*self.history(), text]
        with open(f"{self.file}.new", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.rename(f"{self.file}.new", self.file)

    def event(self, kind: str, **fields: Any) -> None:
        """Of this conversation."""
        say({"method": "event", "params": {"conversation": self.name, "kind": kind, **fields}})

    def run(self, text: str) -> None:
        """One turn."""
        turn = f"{self.name}-{len(self.history())}"
        self.event("turn-started", turn=turn)
        end, error = "completed", None
        try:
            for number, step in enumerate(text.splitlines()):
                self.check()
                word, _, rest = step.strip().partition(" ")
                if word == "#":
                    continue
                getattr(self, f"do_{word}", self.do_say_all)(rest if hasattr(self, f"do_{word}") else step, number)
        except Interrupted:
            end = "interrupted"
        except RuntimeError as failure:
            end, error = "failed", str(failure)
        for request in list(self.replies):
            if self.replies.pop(request, None) is not None:
                self.event("answered", request=request, reply="withdrawn")
        self.busy = False
        self.event("turn-ended", turn=turn, end=end, error=error, input=len(text), output=7)
        self.event("checkpoint", native={"id": self.name})

    def check(self) -> None:
        """Stop where an interrupt is asked for."""
        if self.interrupted.is_set():
            raise Interrupted

    def do_say(self, rest: str, number: int) -> None:
        """A message in two pieces."""
        half = len(rest) // 2
        self.event("text", text=rest[:half], part=str(number))
        self.event("text", text=rest[half:] + "\n", part=str(number))

    def do_say_all(self, rest: str, number: int) -> None:
        """A prompt that is no script is echoed."""
        self.do_say(f"you said: {rest}", number)

    def do_think(self, rest: str, number: int) -> None:
        """In two pieces."""
        half = len(rest) // 2
        self.event("reasoning", text=rest[:half])
        self.event("reasoning", text=rest[half:])

    def do_tool(self, rest: str, number: int) -> None:
        """It does nothing, and says so."""
        self.event("tool", id=f"t{number}", phase="started", name="command", title=rest)
        self.event("tool", id=f"t{number}", phase="updated", name="command", output="half\n")
        self.event("tool", id=f"t{number}", phase="finished", name="command", title=rest, output="half\nall\n", ok=True)

    def ask(self, need: str, title: str, number: int, **more: Any) -> dict[str, Any]:
        """Until there is a reply."""
        request = f"{self.name}-{len(self.history())}-{number}"
        self.replies[request] = {}
        self.event("asks", request=request, need=need, title=title, **more)
        with self.replied:
            while not self.replies[request]:
                self.check()
                self.replied.wait(0.05)
        reply = self.replies.pop(request)
        self.event("answered", request=request, reply=reply.get("choice") or reply.get("text"))
        return reply

    def do_ask(self, rest: str, number: int) -> None:
        """A tool that needs a permission; what it does is a line in a file of that name."""
        tool = f"t{number}"
        self.event("tool", id=tool, phase="started", name="touch", title=rest)
        allowed = self.ask("permission", f"May I touch {rest}?", number, tool=tool).get("choice") in ("yes", "always")
        if allowed:
            with open(os.path.join(self.cwd, rest), "a", encoding="utf-8") as file:
                file.write("touched\n")
        self.event("tool", id=tool, phase="finished", name="touch", title=rest, ok=allowed)

    def do_asks(self, rest: str, number: int) -> None:
        """So many permissions at once, by easy names."""
        requests = [f"r{one}" for one in range(int(rest))]
        for request in requests:
            self.replies[request] = {}
            self.event("asks", request=request, need="permission", title=f"May I {request}?")
        while any(request in self.replies for request in requests):
            self.check()
            for request in [one for one in requests if self.replies.get(one)]:
                reply = self.replies.pop(request)
                self.event("answered", request=request, reply=reply.get("choice"))
            time.sleep(0.01)

    def do_subask(self, rest: str, number: int) -> None:
        """A permission that a child conversation asks for."""
        self.ask("permission", f"May my child {rest}?", number, subagent="child-1")

    def do_question(self, rest: str, number: int) -> None:
        """Says the answer."""
        reply = self.ask("question", rest, number, options=["red", "blue"])
        self.do_say(f"the answer is {reply.get('choice') or reply.get('text')}", number)

    def do_count(self, rest: str, number: int) -> None:
        """Numbers, with pauses."""
        last, pause_ms = rest.split()
        for one in range(int(last)):
            self.check()
            self.event("text", text=f"{one}\n", part=str(number))
            time.sleep(int(pause_ms) / 1000)

    def do_recall(self, rest: str, number: int) -> None:
        """How many prompts it has had, this one included."""
        self.do_say(f"prompt number {len(self.history())}", number)

    def do_where(self, rest: str, number: int) -> None:
        """Its directory."""
        self.do_say(self.cwd, number)

    def do_fail(self, rest: str, number: int) -> None:
        """The turn fails."""
        raise RuntimeError(rest)

    def do_retry(self, rest: str, number: int) -> None:
        """Trouble that passes."""
        self.event("trouble", code="busy", message="once more", again=True)

    def do_odd(self, rest: str, number: int) -> None:
        """What nobody knows."""
        self.event("moonlight")
        self.event("tool", id="x")

    def do_complain(self, rest: str, number: int) -> None:
        """So much to stderr."""
        sys.stderr.write(("x" * 99 + "\n") * (int(rest) // 100))
        sys.stderr.write("that is all\n")
        sys.stderr.flush()

    def do_noise(self, rest: str, number: int) -> None:
        """So much that nobody needs."""
        line = json.dumps({"method": "event", "params": {"conversation": "nobody", "kind": "x" * 900}})
        for _ in range(int(rest) // len(line)):
            with _speaking:
                sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def do_gate(self, rest: str, number: int) -> None:
        """Until the file is there."""
        while not os.path.exists(rest):
            self.check()
            time.sleep(0.01)

    def do_make(self, rest: str, number: int) -> None:
        """The file is there."""
        with open(rest, "w", encoding="ascii"):
            pass

    def do_size(self, rest: str, number: int) -> None:
        """Of the prompt, in characters."""
        self.do_say(f"{len(self.history()[-1])} characters", number)

    def do_leave(self, rest: str, number: int) -> None:
        """A process that goes on without it, and says which."""
        left = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL)
        self.do_say(f"left {left.pid}", number)

    def do_die(self, rest: str, number: int) -> None:
        """At once."""
        os._exit(3)

    def do_hang(self, rest: str, number: int) -> None:
        """For ever, and with it the whole server."""
        _speaking.acquire()
        time.sleep(3600)

    def do_garbage(self, rest: str, number: int) -> None:
        """Lines that are no messages."""
        with _speaking:
            sys.stdout.write("\x00\xff not json\n[1,2]\n{}\n\n")
            sys.stdout.flush()

    def do_stay(self, rest: str, number: int) -> None:
        """Until an interrupt."""
        self.do_say("here", number)
        while True:
            self.check()
            time.sleep(0.01)


class Server:
    """All conversations of this process."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}

    def hear(self, message: dict[str, Any]) -> None:
        """One line from the other side."""
        params = message.get("params") or {}
        answer = getattr(self, str(message.get("method")))(params)
        if "id" in message:
            say({"id": message["id"], **answer})

    def hello(self, params: dict[str, Any]) -> dict[str, Any]:
        """Who we are."""
        return {"result": {"version": os.environ.get("SCRIPTED_VERSION", "1.2")}}

    def open(self, params: dict[str, Any]) -> dict[str, Any]:
        """New, or known."""
        name = params.get("conversation") or f"c{uuid.uuid4().hex[:12]}"
        found = Conversation(name, params["cwd"])
        if params.get("conversation") and not os.path.exists(found.file):
            return {"error": {"code": -1, "message": f"no conversation {name}"}}
        if not params.get("conversation"):
            _touch(found.file)
        self.conversations[name] = found
        return {"result": {"conversation": name, "model": params.get("model") or "fake"}}

    def prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        """Begun in a thread."""
        found = self.conversations[params["conversation"]]
        if found.busy:
            return {"error": {"code": -2, "message": "busy"}}
        found.busy = True
        found.interrupted.clear()
        found.remember(params["text"])
        threading.Thread(target=found.run, args=(params["text"],), daemon=True).start()
        return {"result": {}}

    def reply(self, params: dict[str, Any]) -> dict[str, Any]:
        """To a request of one of them."""
        for found in self.conversations.values():
            if params["request"] in found.replies:
                with found.replied:
                    found.replies[params["request"]] = params
                    found.replied.notify_all()
        return {}

    def interrupt(self, params: dict[str, Any]) -> dict[str, Any]:
        """Of one turn."""
        self.conversations[params["conversation"]].interrupted.set()
        return {}

    def close(self, params: dict[str, Any]) -> dict[str, Any]:
        """Let it go."""
        found = self.conversations.pop(str(params["conversation"]), None)
        if found is not None:
            found.interrupted.set()
        return {"result": {}}


def _touch(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("[]")


def main() -> None:
    """Until stdin ends."""
    if sys.argv[1:] == ["--version"]:
        print("scripted", os.environ.get("SCRIPTED_VERSION", "1.2"))
        return
    server = Server()
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            sys.stderr.write(f"a line of {len(line)} characters was not understood\n")
            continue
        server.hear(message)


if __name__ == "__main__":
    main()

"""An agent of the Agent Client Protocol without a model: a prompt is a list of steps, one a line, done in order.

    say TEXT · think TEXT · tool TITLE · ask FILE (touched, if it may) · question TEXT (a form) · qwen TEXT (a question
    in a permission) · count N MILLISECONDS · recall · where · fail TEXT · refuse · odd · garbage · stay · die · hang
    deaf (stays, and passes over a cancel)

With $ACP_HOME it keeps what it was told there, for other processes of it. $ACP_CAN says what it can (`load resume
close`), $ACP_SPEAKS the version of the protocol, $ACP_MODES its modes, the first of which it begins in. With $ACP_AUTH
somebody would have to log in first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import uuid
from collections.abc import Coroutine
from typing import Any

HOME = os.environ.get("ACP_HOME")
CAN = os.environ.get("ACP_CAN", "load resume close").split()
MODES = os.environ.get("ACP_MODES", "").split()
OPTIONS = [
    {"optionId": "forever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
Message = dict[str, Any]


def say(message: Message) -> None:
    """One line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


class Wrong(Exception):
    """An error for an answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class Conversation:
    """What it was told, and what it does."""

    def __init__(self, agent: Agent, name: str, cwd: str) -> None:
        self.agent, self.name, self.cwd = agent, name, cwd
        self.turn: asyncio.Task[str] | None = None
        self.deaf = False
        self.told: list[str] = []

    def update(self, what: str, /, **fields: Any) -> None:
        """Of this conversation."""
        update = {"sessionUpdate": what, **fields}
        say({"method": "session/update", "params": {"sessionId": self.name, "update": update}})

    def text(self, kind: str, text: str, part: int | None = None) -> None:
        """A piece of it."""
        message = {} if part is None else {"messageId": f"{len(self.told)}.{part}"}
        self.update(kind, content={"type": "text", "text": text}, **message)

    async def run(self, text: str) -> str:
        """All steps; why it stopped."""
        for number, step in enumerate(text.splitlines()):
            word, _, rest = step.strip().partition(" ")
            done = getattr(self, f"do_{word}", self.do_say)
            reason = await done(rest if hasattr(self, f"do_{word}") else f"you said: {step}", number)
            if reason is not None:
                return str(reason)
        return "end_turn"

    async def do_say(self, rest: str, number: int) -> None:
        """In two pieces."""
        half = len(rest) // 2
        self.text("agent_message_chunk", rest[:half], number)
        self.text("agent_message_chunk", rest[half:] + "\n", number)

    async def do_think(self, rest: str, number: int) -> None:
        """In two pieces."""
        half = len(rest) // 2
        self.text("agent_thought_chunk", rest[:half])
        self.text("agent_thought_chunk", rest[half:])

    async def do_tool(self, rest: str, number: int) -> None:
        """It does nothing, and says so."""
        tool = f"t{len(self.told)}.{number}"
        half, whole = (
            [{"type": "content", "content": {"type": "text", "text": text}}] for text in ("half\n", "half\nall\n")
        )
        self.update(
            "tool_call", toolCallId=tool, title=rest, kind="execute", status="pending", rawInput={"command": rest}
        )
        self.update("tool_call_update", toolCallId=tool, status="in_progress", content=half)
        self.update("tool_call_update", toolCallId=tool, status="completed", content=whole)

    async def do_ask(self, rest: str, number: int) -> None:
        """A tool that is first heard of when it asks, and when it is denied never again."""
        tool = f"t{len(self.told)}.{number}"
        call = {"toolCallId": tool, "title": f"touch {rest}", "kind": "edit", "status": "pending"}
        answer = await self.agent.ask("session/request_permission", sessionId=self.name, toolCall=call, options=OPTIONS)
        if answer["outcome"].get("optionId") in ("yes", "forever"):
            with open(os.path.join(self.cwd, rest), "a", encoding="utf-8") as file:
                file.write("touched\n")
            self.update("tool_call_update", toolCallId=tool, status="completed")

    async def do_question(self, rest: str, number: int) -> None:
        """A form."""
        schema = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}}
        answer = await self.agent.ask(
            "elicitation/create", mode="form", sessionId=self.name, message=rest, requestedSchema=schema
        )
        await self.do_say(f"the answer is {(answer.get('content') or {}).get('colour')}", number)

    async def do_qwen(self, rest: str, number: int) -> None:
        """A permission that is a question."""
        options = [{"label": "red"}, {"label": "blue"}]
        call = {
            "toolCallId": f"q{number}",
            "title": "ask",
            "rawInput": {"questions": [{"question": rest, "options": options}]},
        }
        answer = await self.agent.ask(
            "session/request_permission", sessionId=self.name, toolCall=call, options=OPTIONS[1:]
        )
        self.update("tool_call_update", toolCallId=f"q{number}", status="completed")
        await self.do_say(f"the answer is {(answer.get('answers') or {}).get('0')}", number)

    async def do_count(self, rest: str, number: int) -> None:
        """Numbers, with pauses."""
        last, pause_ms = rest.split()
        for one in range(int(last)):
            self.text("agent_message_chunk", f"{one}\n", number)
            await asyncio.sleep(int(pause_ms) / 1000)

    async def do_recall(self, rest: str, number: int) -> None:
        """How many prompts there were, this one included."""
        await self.do_say(f"prompt number {len(self.told)}", number)

    async def do_where(self, rest: str, number: int) -> None:
        """Its directory."""
        await self.do_say(self.cwd, number)

    async def do_fail(self, rest: str, number: int) -> None:
        """The turn fails."""
        raise Wrong(-32603, rest)

    async def do_refuse(self, rest: str, number: int) -> str:
        """It will not."""
        return "refusal"

    async def do_odd(self, rest: str, number: int) -> None:
        """What nobody knows: told, and asked."""
        self.update("moonlight", phase="full")
        say({"method": "_agent/gossip", "params": {"sessionId": self.name}})
        with contextlib.suppress(Wrong):
            await self.agent.ask("fs/read_text_file", sessionId=self.name, path="/etc/passwd")

    async def do_garbage(self, rest: str, number: int) -> None:
        """Lines that are no messages."""
        sys.stdout.write("\x00\u00ff not json\n[1,2]\n{}\n\n")
        sys.stdout.flush()

    async def do_stay(self, rest: str, number: int) -> None:
        """Until it is cancelled."""
        await self.do_say("staying", number)
        await asyncio.Event().wait()

    async def do_deaf(self, rest: str, number: int) -> None:
        """For ever."""
        await self.do_say("staying", number)
        self.deaf = True
        await asyncio.Event().wait()

    async def do_die(self, rest: str, number: int) -> None:
        """At once."""
        os._exit(3)

    async def do_hang(self, rest: str, number: int) -> None:
        """For ever, and with it the whole agent."""
        import time

        time.sleep(3600)


class Agent:
    """All conversations of this process."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self.asked: dict[int, asyncio.Future[Any]] = {}

    async def ask(self, method: str, **params: Any) -> Any:
        """The other side; numbered from 0, as agents do."""
        number = len(self.asked)
        self.asked[number] = asyncio.get_running_loop().create_future()
        say({"id": number, "method": method, "params": params})
        return await self.asked[number]

    async def answer(self, message: Message) -> None:
        """One request."""
        try:
            result = {"result": await self.serve(str(message["method"]), message.get("params") or {})}
        except Wrong as wrong:
            result = {"error": wrong.error}
        say({"id": message["id"], **result})

    async def serve(self, method: str, params: Message) -> Message:
        """What it is asked."""
        if method == "initialize":
            sessions = {name: dict[str, Any]() for name in CAN if name != "load"}
            can = {"loadSession": "load" in CAN, "sessionCapabilities": sessions}
            speaks = int(os.environ.get("ACP_SPEAKS", "1"))
            return {
                "protocolVersion": speaks,
                "agentCapabilities": can,
                "agentInfo": {"name": "steps", "version": "1.0"},
            }
        if method == "session/new" and "ACP_AUTH" in os.environ:
            raise Wrong(-32000, "Authentication required")
        if method == "session/new":
            return self.new(f"c{uuid.uuid4().hex[:12]}", params["cwd"])
        if method in ("session/load", "session/resume") and method.removeprefix("session/") in CAN:
            return self.again(params["sessionId"], params["cwd"], replayed=method == "session/load")
        found = self.conversations.get(str(params.get("sessionId")))
        if method in ("session/prompt", "session/set_mode", "session/close") and found is None:
            raise Wrong(-32002, "Resource not found")
        if method == "session/prompt" and found is not None:
            return await self.prompt(found, "".join(block.get("text", "") for block in params["prompt"]))
        if method == "session/set_mode" and params["modeId"] in MODES:
            return {}
        if method == "session/close" and "close" in CAN:
            self.conversations.pop(params["sessionId"])
            return {}
        raise Wrong(-32601, f"Method not found: {method}")

    def new(self, name: str, cwd: str) -> Message:
        """A conversation."""
        self.conversations[name] = Conversation(self, name, cwd)
        _keep(self.conversations[name])
        modes = (
            {"currentModeId": MODES[0], "availableModes": [{"id": mode, "name": mode} for mode in MODES]}
            if MODES
            else None
        )
        return {"sessionId": name, "modes": modes}

    def again(self, name: str, cwd: str, *, replayed: bool) -> Message:
        """One of another process; with all that was said in it, where that is how it is done."""
        path = f"{HOME}/{name}.json"
        if HOME is None or not os.path.exists(path):
            raise Wrong(-32002, "Resource not found")
        found = self.conversations[name] = Conversation(self, name, cwd)
        with open(path, encoding="utf-8") as file:
            found.told = json.load(file)
        for number, text in enumerate(found.told if replayed else []):
            found.text("user_message_chunk", text)
            found.text("agent_message_chunk", f"(said before: {text})")
            found.update("tool_call", toolCallId=f"old{number}", title="old", status="pending")
        return {}

    async def prompt(self, found: Conversation, text: str) -> Message:
        """One turn."""
        found.told.append(text)
        _keep(found)
        found.turn = asyncio.ensure_future(found.run(text))
        try:
            reason = await found.turn
        except asyncio.CancelledError:
            reason = "cancelled"
        return {
            "stopReason": reason,
            "usage": {"inputTokens": len(text), "outputTokens": 7, "totalTokens": len(text) + 7},
        }

    def told(self, method: str, params: Message) -> None:
        """What it is told."""
        found = self.conversations.get(str(params.get("sessionId")))
        if method == "session/cancel" and found is not None and found.turn is not None and not found.deaf:
            found.turn.cancel()

    def hear(self, message: Message, start: Any) -> None:
        """One line from the other side."""
        if "method" not in message:
            waiting = self.asked.get(message["id"])
            if waiting is not None and not waiting.done() and "error" in message:
                waiting.set_exception(Wrong(message["error"]["code"], message["error"]["message"]))
            elif waiting is not None and not waiting.done():
                waiting.set_result(message["result"])
        elif "id" in message:
            start(self.answer(message))
        else:
            self.told(message["method"], message["params"])


def _keep(found: Conversation) -> None:
    if HOME is not None:
        with open(f"{HOME}/{found.name}.new", "w", encoding="utf-8") as file:
            json.dump(found.told, file)
        os.rename(f"{HOME}/{found.name}.new", f"{HOME}/{found.name}.json")


async def main() -> None:
    """Until stdin ends."""
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    agent, running = Agent(), set[asyncio.Task[None]]()

    def start(work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        running.add(task)
        task.add_done_callback(running.discard)

    while line := await reader.readline():
        if line.strip():
            agent.hear(json.loads(line), start)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print("steps 1.0")
    else:
        asyncio.run(main())

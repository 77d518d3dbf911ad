"""One process of Claude Code, which is one conversation."""

from __future__ import annotations

import json
from typing import Any

from orchctl.agents.claude import requests
from orchctl.agents.claude.translate import Translator
from orchctl.agents.interface import Host, Opening, Prompt, Reply
from orchctl.agents.jsonrpc import Name, name_of
from orchctl.session.events import AgentEvent, Closed, NotOpened, Opened, Trouble, TurnEnded, TurnStarted, Unknown

MODE = "default"  # in which a human is asked
Record = dict[str, Any]
_ODD = (AttributeError, KeyError, TypeError, ValueError, IndexError)


class ClaudeServer:
    """`native` is the id that the process was started with."""

    def __init__(self, host: Host, native: str) -> None:
        self._host = host
        self._native = native
        self._session: str | None = None
        self._opened = False
        self._talk = Translator()
        self._sent = False  # a prompt that has not come to its end
        self._stopping = False
        self._due: set[str] = set()  # requests of ours that are not answered yet

    @property
    def owes(self) -> bool:
        """A turn may be silent for minutes, and a beginning has a time of its own; all else is answered at once."""
        return (self._opened and bool(self._due)) or self._stopping

    def begin(self) -> None:
        self._ask(Name(what="hello"), {"subtype": "initialize"})

    def know(self, opening: Opening) -> None:
        self._session, self._opened = opening.session, True

    def open(self, opening: Opening) -> None:
        """The process has the conversation since it was started; the mode is what it forgets."""
        self._session = opening.session
        resumed = opening.native.get("begun", "yes") == "yes" and "id" in opening.native
        mode = opening.options.get("mode", MODE)
        more = json.dumps({"model": opening.model, "begun": "yes" if resumed else "no"})
        name = Name(what="open", session=opening.session, more=more)
        self._ask(name, {"subtype": "set_permission_mode", "mode": mode})

    def send(self, session: str, prompt: Prompt) -> None:
        """With an id, by which Claude takes it once and says what becomes of it."""
        self._sent = True
        message = {"role": "user", "content": prompt.text}
        self._write(
            {"type": "user", "uuid": prompt.once, "session_id": "", "parent_tool_use_id": None, "message": message}
        )

    def reply(self, session: str, request: str, reply: Reply) -> None:
        """Claude passes over a second answer to the same request."""
        asked = self._talk.open.get(request)
        if asked is not None:
            answer = {"subtype": "success", "request_id": request, "response": requests.response(asked, reply)}
            self._write({"type": "control_response", "response": answer})

    def interrupt(self, session: str) -> None:
        """Now, and once more when it has begun: one that is still queued is not reached."""
        self._stopping = self._sent or self._talk.turn is not None
        self._ask(Name(what="interrupt", session=session), {"subtype": "interrupt"})

    def close(self, session: str) -> None:
        self._stopping = False
        self._ask(Name(what="close", session=session), {"subtype": "interrupt"})

    def hear(self, line: bytes) -> None:
        try:
            message = json.loads(line) if line.strip() else None
            if message is None:
                return
            name = name_of(message["response"]["request_id"]) if message.get("type") == "control_response" else None
            if name is not None:
                self._hear_answer(name, message["response"])
            else:
                self._hear_message(message)
        except (*_ODD, RecursionError):
            self._emit([Unknown(kind="garbage")])

    async def attend(self) -> None:
        """It has no I/O of its own."""

    def _ask(self, name: Name, request: Record) -> None:
        self._due.add(name.id)
        self._write({"type": "control_request", "request_id": name.id, "request": request})

    def _write(self, message: Record, session: str | None = None) -> None:
        self._host.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"), session)

    def _hear_answer(self, name: Name, response: Record) -> None:
        self._due.discard(name.id)
        failed = str(response.get("error")) if response.get("subtype") == "error" else None
        given = response.get("response")
        if name.what == "hello" and failed is not None:
            self._host.broken(f"claude does not say hello: {failed}")
        elif name.what == "hello":
            version = given.get("claude_code_version") if isinstance(given, dict) else None
            self._host.ready(str(version) if version else None)
        elif name.what == "open":
            self._session = name.session
            self._emit([self._open_now(json.loads(name.more), failed)])
        elif name.what == "close":
            self._session = name.session
            self._emit([Closed()])

    def _open_now(self, wanted: Record, failed: str | None) -> AgentEvent:
        if failed is not None:
            return NotOpened(code="not-offered", message=f"claude does not take a setting: {failed}")
        self._opened = True
        return Opened(native={"id": self._native, "begun": wanted["begun"]}, model=wanted["model"])

    def _hear_message(self, message: Record) -> None:
        told = self._talk.hear(message)
        if message.get("type") == "control_request" and any(isinstance(one, Unknown) for one in told):
            refusal = {"subtype": "error", "request_id": message["request_id"], "error": "not known here"}
            self._write({"type": "control_response", "response": refusal}, self._session)
        if not self._opened:  # it says what is wrong, and ends
            told = [
                NotOpened(code="not-resumed", message=one.message) if isinstance(one, Trouble) else one for one in told
            ]
        self._emit(told)
        if any(isinstance(one, TurnEnded) for one in told):
            self._sent = self._stopping = False
        if self._stopping and any(isinstance(one, TurnStarted) for one in told) and not self._host.replaying:
            self._ask(Name(what="interrupt", session=self._session or ""), {"subtype": "interrupt"})

    def _emit(self, told: list[AgentEvent]) -> None:
        if told and self._session is not None:
            self._host.emit(self._session, *told)

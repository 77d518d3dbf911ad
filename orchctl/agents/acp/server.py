"""One agent process and all conversations on it.

The ids of our requests say all that is needed to understand their answers: which session, which prompt, which reply.
What an agent would never speak of, a mark tells: a request that no agent knows, in front of what it marks and in one
piece with it. Agents read in order, so its refusal stands in the log before anything that follows from what it marks.
"""

from __future__ import annotations

import json
from typing import Any

from orchctl.agents import jsonrpc
from orchctl.agents.acp import requests
from orchctl.agents.acp.open import MARK, WHATS, Openings
from orchctl.agents.acp.translate import Translator, message_of
from orchctl.agents.interface import Host, Opening, Prompt, Reply
from orchctl.agents.jsonrpc import Name
from orchctl.session.events import AgentEvent, Closed, Delivered, Unknown
from orchctl.version import VERSION

PROTOCOL = 1
JSON_RPC = {"jsonrpc": "2.0"}
REPLY = 500  # characters of a reply that its mark carries
# Files and terminals are the agent's own business: it is on the same machine. Questions come as forms.
CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False, "elicitation": {"form": {}}}
Message = dict[str, Any]
_ODD = (AttributeError, KeyError, TypeError, ValueError)  # what a message of another shape than promised leads to


class AcpServer:
    """Conversations are told apart by the id that the agent gave them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._peer = jsonrpc.Peer(host.write, JSON_RPC)
        self._openings = Openings(host, self._peer, self._bind)
        self._native: dict[str, str] = {}  # our session → the agent's id
        self._sessions: dict[str, str] = {}
        self._talks: dict[str, Translator] = {}
        self._due: set[str] = set()  # marks that are not refused yet
        self._sent: set[str] = set()  # sessions whose prompt is not answered yet
        self._stopping: set[str] = set()  # sessions whose turn was told to stop

    @property
    def owes(self) -> bool:
        """A turn may be silent for minutes, and a beginning has a time of its own; a mark is refused at once."""
        return bool(self._due) or bool(self._stopping)

    def begin(self) -> None:
        about = {"name": "orchctl", "version": VERSION}
        params = {"protocolVersion": PROTOCOL, "clientCapabilities": CAPABILITIES, "clientInfo": about}
        self._peer.ask(Name(what="hello"), "initialize", params)

    def know(self, opening: Opening) -> None:
        self._openings.know(opening.native)
        self._bind(opening.session, opening.native.get("id", ""))

    def open(self, opening: Opening) -> None:
        """Begin or resume. Until it is there, what is told of it is a replay, and no news."""
        self._forget(opening.session)
        self._openings.open(opening)

    def send(self, session: str, prompt: Prompt) -> None:
        """Its answer is the end of the turn, so none is due: nobody knows when it comes."""
        self._sent.add(session)
        name = Name(what="prompt", session=session, more=prompt.once)
        params = {"sessionId": self._native[session], "prompt": [{"type": "text", "text": prompt.text}]}
        mark = Name(what="taken", session=session, more=prompt.once)
        self._write(self._mark(mark), {"id": name.id, "method": "session/prompt", "params": params})

    def reply(self, session: str, request: str, reply: Reply) -> None:
        """An agent passes over a second answer to the same request."""
        asked = self._talks[session].open.get(request)
        if asked is not None:
            said = (reply.choice if reply.choice is not None else reply.text) or ""
            mark = Name(what="replied", session=session, more=json.dumps([request, said[:REPLY]]))
            self._write(self._mark(mark), {"id": asked.number, "result": requests.result(asked, reply)})

    def interrupt(self, session: str) -> None:
        """Now, and once more when it has begun."""
        if session in self._sent or self._talks[session].turn is not None:
            self._stopping.add(session)
        self._stop(session)

    def close(self, session: str) -> None:
        """Agents that hold a conversation until it is closed say so."""
        self._stopping.discard(session)
        if session in self._native:
            self._write(*self._cancels(session))
        if session in self._native and "close" in self._openings.can:
            self._peer.ask(Name(what="close", session=session), "session/close", {"sessionId": self._native[session]})
        else:
            self._peer.ask(Name(what="close", session=session), MARK)

    def hear(self, line: bytes) -> None:
        heard = jsonrpc.read(line)
        try:
            if isinstance(heard, jsonrpc.Answer):
                if self._peer.take(heard):
                    self._hear_answer(heard)
            elif isinstance(heard, jsonrpc.Told):
                self._hear_told(heard)
            elif isinstance(heard, jsonrpc.Asked):
                self._hear_asked(heard)
            elif line.strip():
                self._hear_garbage()
        except _ODD:
            self._hear_garbage()

    async def attend(self) -> None:
        """It has no I/O of its own."""

    def _write(self, *messages: Message, session: str | None = None) -> None:
        """In one piece: a supervisor that dies leaves all of it or nothing."""
        lines = [json.dumps({**JSON_RPC, **message}, ensure_ascii=False) for message in messages]
        self._host.write("\n".join(lines).encode("utf-8", "replace"), session)

    def _mark(self, name: Name) -> Message:
        self._due.add(name.id)
        return {"id": name.id, "method": MARK, "params": {}}

    def _stop(self, session: str) -> None:
        self._write(self._mark(Name(what="stopped", session=session)), *self._cancels(session))

    def _cancels(self, session: str) -> list[Message]:
        """The turn with all that it asks: some agents wait for that."""
        turn: Message = {"method": "session/cancel", "params": {"sessionId": self._native[session]}}
        asked = self._talks[session].open.values()
        return [turn, *({"id": one.number, "result": requests.cancelled(one)} for one in asked)]

    def _bind(self, session: str, native: str) -> None:
        self._forget(session)
        self._native[session] = native
        self._sessions[native] = session
        self._talks[session] = Translator()

    def _forget(self, session: str) -> None:
        self._sessions.pop(self._native.pop(session, ""), None)
        self._talks.pop(session, None)
        self._sent.discard(session)
        self._stopping.discard(session)

    def _hear_garbage(self) -> None:
        """Nobody knows whose it is: it is counted where a turn is open."""
        for session, talk in self._talks.items():
            if talk.turn is not None:
                self._host.emit(session, Unknown(kind="garbage"))

    def _hear_told(self, told: jsonrpc.Told) -> None:
        session = self._sessions.get(str(told.params.get("sessionId")))
        if told.method == "$/cancel_request":
            for name, talk in self._talks.items():
                self._emit(name, talk.withdrawn(told.params.get("requestId")))
        elif session is not None and told.method == "session/update":
            self._emit(session, self._talks[session].update(told.params["update"]))
        elif session is not None:
            self._emit(session, [Unknown(kind=told.method)])

    def _hear_asked(self, asked: jsonrpc.Asked) -> None:
        session = self._sessions.get(str(asked.params.get("sessionId")))
        if session is None or asked.method not in (requests.PERMISSION, requests.FORM):
            refusal = {"code": jsonrpc.UNKNOWN_METHOD, "message": f"Method not found: {asked.method}"}
            self._write({"id": asked.id, "error": refusal}, session=session)
            self._emit(session or "", [Unknown(kind=asked.method)] if session is not None else [])
            return
        self._emit(session, self._talks[session].asked(asked.id, asked.method, asked.params))
        if session in self._stopping and not self._host.replaying:
            self._stop(session)

    def _hear_answer(self, answer: jsonrpc.Answer) -> None:
        name = answer.name
        self._due.discard(name.id)
        if name.what == "hello":
            self._hello(answer)
        elif name.what in WHATS:
            self._emit(name.session, self._openings.hear(name, answer))
        elif name.what == "close":
            self._forget(name.session)
            self._emit(name.session, [Closed()])
        elif name.session in self._talks:
            self._emit(name.session, self._hear_turn(name, answer, self._talks[name.session]))

    def _hear_turn(self, name: Name, answer: jsonrpc.Answer, talk: Translator) -> list[AgentEvent]:
        if name.what == "taken":
            return talk.taken(name.more)
        if name.what == "replied":
            request, said = json.loads(name.more)
            return talk.answered(request, said)
        if name.what == "stopped":
            talk.stopping = talk.turn is not None
        if name.what != "prompt":
            return []
        self._sent.discard(name.session)
        self._stopping.discard(name.session)
        return talk.ended(name.more, answer)

    def _hello(self, answer: jsonrpc.Answer) -> None:
        if answer.code is not None:
            self._host.broken(f"the agent does not say hello: {message_of(answer)}")
            return
        version = answer.result.get("protocolVersion")
        if version != PROTOCOL:
            self._openings.unfit = f"the agent speaks version {version} of the protocol, and not {PROTOCOL}"
        capabilities = answer.result.get("agentCapabilities") or {}
        can = set(capabilities.get("sessionCapabilities") or ()) & {"resume", "close"}
        self._openings.can |= can | ({"load"} if capabilities.get("loadSession") else set())
        about = answer.result.get("agentInfo") or {}
        agent = f" ({about.get('name')} {about.get('version')})" if about else ""
        self._host.ready(f"{version}{agent}")  # of the protocol first: that is what is tested

    def _emit(self, session: str, events: list[AgentEvent]) -> None:
        if events:
            self._host.emit(session, *events)
        begun = any(isinstance(one, Delivered) for one in events)
        if begun and session in self._stopping and not self._host.replaying:
            self._stop(session)  # it was told before it had begun, and may have passed over it

"""One conversation of ours at the server, with its sub-agents: what it tells, and what is read again, as events. Pure.

The stream of a directory tells everything in order, and forgets what nobody heard; what was missed is read again.
Both are upserts by id, so it does not matter how much of it is known already. Between turns nothing is told: what
comes then is the tail of something that has been told.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchctl.agents.opencode import requests
from orchctl.agents.opencode.records import before
from orchctl.agents.opencode.turn import Fields, Turn, one_line, usage
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    Delivered,
    NeedsInput,
    Trouble,
    TurnStarted,
    Unknown,
)

# The server tells these too; they mean nothing for a conversation, or are said again in another event.
SILENT = frozenset(
    {
        "catalog.updated",
        "command.executed",
        "file.edited",
        "file.watcher.updated",
        "global.disposed",
        "installation.update-available",
        "installation.updated",
        "integration.updated",
        "lsp.client.diagnostics",
        "lsp.updated",
        "mcp.tools.changed",
        "message.part.removed",
        "message.removed",
        "plugin.added",
        "project.updated",
        "pty.created",
        "pty.deleted",
        "pty.exited",
        "pty.updated",
        "reference.updated",
        "server.connected",
        "server.heartbeat",
        "server.instance.disposed",
        "session.diff",
        "session.updated",
        "sync",
        "todo.updated",
        "vcs.branch.updated",
    }
)
TWIN = "session.next."  # the same once more, for the next generation of the server's API


class Conversation:
    """One conversation of ours at the server."""

    def __init__(self, native: str) -> None:
        self.native = native
        self.turn: Turn | None = None
        self.requests: dict[str, NeedsInput] = {}
        self._asked: set[str] = set()  # ever: the server may list what it has forgotten to take back

    @property
    def uneasy(self) -> bool:
        """Whether the end of the turn was announced and has not come: it is to be read what became of it."""
        return self.turn is not None and self.turn.early

    def posting(self, once: str, message: str) -> None:
        """A prompt is on its way, under this id."""
        self.turn = Turn(once=once, message=message)

    def posted(self) -> list[AgentEvent]:
        """The server has taken it."""
        turn = self.turn
        if turn is None or turn.delivered:
            return []
        turn.delivered = True
        return [Delivered(once=turn.once)]

    def refused(self) -> None:
        """It has not."""
        self.turn = None

    def stopping(self) -> None:
        """We have asked for the end of the turn; not every end that follows says so."""
        if self.turn is not None:
            self.turn.stopping = True

    def gap(self) -> None:
        """Events were missed."""
        if self.turn is not None:
            self.turn.texts.gap()

    def answered(self, request: str, reply: str) -> list[AgentEvent]:
        """The request is no longer open; who hears it first tells."""
        return [Answered(request=request, reply=reply)] if self.requests.pop(request, None) else []

    def event(self, kind: str, fields: Fields, session: str) -> list[AgentEvent]:
        """One event of the server about this conversation, or about a sub-agent of it: `session` says which."""
        if kind in SILENT or kind.startswith(TWIN) or kind == "session.created":
            return []
        handler = _HANDLERS.get(kind)
        if handler is None:
            return [Unknown(kind=kind)]
        if kind == "session.deleted" and session == self.native:
            return self._deleted()
        if self.turn is None or before(_message_of(fields), self.turn.message):
            return []  # the tail of what has been told
        return handler(self, self.turn, fields, session)

    def read(self, found: Fields) -> list[AgentEvent]:
        """What the server has now, read after a gap: `status`, `messages` (of sub-agents too), `permissions` and
        `questions` of this conversation. `status` was read first. `last`: there will be no more tries.
        """
        turn = self.turn
        if turn is None:
            return []
        told: list[AgentEvent] = []
        for message in found.get("messages") or ():
            told += self._read_message(turn, message)
        told += self._read_requests(turn, found)
        status = found.get("status") or {"type": "idle"}
        if status.get("type") != "idle":
            turn.busy, turn.early = turn.busy or turn.seen, False
            return told + self._status(turn, {"status": status}, self.native)
        # between a prompt and its first answer, and between idle and the last answer's end, it looks idle too
        if found.get("last") or (not turn.open and (turn.busy or turn.last is not None)):
            return told + self._lost(turn)
        turn.early = True
        return told

    # -- events

    def _message(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        info: Fields = fields.get("info") or {}
        key = str(info.get("id", ""))
        if info.get("role") != "assistant":
            turn.hidden.add(key)
            return self._came_back(turn, info) if key == turn.message else []
        if session != self.native:
            return []
        if info.get("summary") or info.get("mode") == "compaction":
            turn.hidden.add(key)
        turn.last = key
        turn.note(info.get("error"))
        if (info.get("time") or {}).get("completed"):
            turn.open.discard(key)
        else:
            turn.open.add(key)
        return []

    def _came_back(self, turn: Turn, info: Fields) -> list[AgentEvent]:
        if turn.seen:
            return []
        model: Fields = info.get("model") or {}
        if model.get("modelID"):
            turn.model = f"{model.get('providerID')}/{model['modelID']}"
        # an error before this was the tail of another turn
        turn.seen, turn.error, turn.early = True, None, False
        return self._begun(turn)

    def _begun(self, turn: Turn) -> list[AgentEvent]:
        told = self.posted()
        if not turn.started:
            turn.started = True
            told.append(TurnStarted(turn=turn.message, model=turn.model))
        return told

    def _part(self, turn: Turn, fields: Fields, session: str, *, live: bool = True) -> list[AgentEvent]:
        part: Fields = fields.get("part") or {}
        kind = part.get("type")
        if kind == "tool":
            return turn.tools.part(self._tool_id(session, str(part.get("callID", ""))), part)
        if session != self.native or part.get("messageID") in turn.hidden or part.get("synthetic"):
            return []
        if kind in ("text", "reasoning"):
            return turn.texts.whole(part, live=live)
        if kind == "step-finish":
            turn.usage[str(part.get("id"))] = usage(part)
        return []

    def _piece(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        ours = session == self.native and fields.get("messageID") not in turn.hidden
        if not ours or fields.get("field") != "text":
            return []
        return turn.texts.piece(str(fields.get("partID", "")), str(fields.get("delta") or ""))

    def _status(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        status: Fields = fields.get("status") or {}
        if session != self.native:
            return []
        if status.get("type") == "idle":
            return self._idle(turn, fields, session)
        turn.busy = turn.busy or turn.seen
        attempt = int(status.get("attempt") or 0)
        if status.get("type") != "retry" or attempt <= turn.attempt:
            return []
        turn.attempt = attempt
        return [Trouble(code="retry", message=one_line(status.get("message")), again=True)]

    def _idle(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        if session != self.native or not turn.busy:
            return []  # of the turn before: after an error or an interrupt it is said twice
        if turn.open:
            turn.early = True  # what the answer still has to say comes now, and then idle once more
            return []
        return self._ended(turn)

    def _error(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        if session != self.native:
            return []  # a sub-agent's error is the result of its tool call
        turn.note(fields.get("error"))
        turn.early = turn.early or not turn.busy
        return []

    def _compacted(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        return [self._checkpoint(turn)] if session == self.native else []

    def _permission(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        return self._ask(turn, fields, requests.permission(fields, **self._about(fields, session)))

    def _question(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        return self._ask(turn, fields, requests.question(fields, **self._about(fields, session)))

    def _replied(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        answers = fields.get("answers")
        said = "; ".join(", ".join(map(str, one)) for one in answers) if isinstance(answers, list) else ""
        return self.answered(str(fields.get("requestID", "")), str(fields.get("reply") or said))

    def _dismissed(self, turn: Turn, fields: Fields, session: str) -> list[AgentEvent]:
        return self.answered(str(fields.get("requestID", "")), requests.DISMISSED)

    def _deleted(self) -> list[AgentEvent]:
        turn = self.turn
        gone = Trouble(code="conversation-gone", message=f"the conversation {self.native} was deleted at the server")
        if turn is None:
            return [gone]
        turn.error = turn.error or gone.message
        return [*self._begun(turn), gone, *self._ended(turn, told=True)]

    # -- reading again

    def _read_message(self, turn: Turn, message: Fields) -> list[AgentEvent]:
        info: Fields = message.get("info") or {}
        if before(str(info.get("id", "")), turn.message):
            return []
        session = str(info.get("sessionID") or self.native)
        told = self._message(turn, {"info": info}, session)
        for part in message.get("parts") or () if info.get("role") == "assistant" else ():
            told += self._part(turn, {"part": part}, session, live=False)
        return told

    def _read_requests(self, turn: Turn, found: Fields) -> list[AgentEvent]:
        told: list[AgentEvent] = []
        if "permissions" not in found:
            return told
        permissions, questions = found.get("permissions") or (), found.get("questions") or ()
        listed = {str(one.get("id")) for one in (*permissions, *questions)}
        for gone in [request for request in self.requests if request not in listed]:
            told += self.answered(gone, requests.WITHDRAWN)
        for one in permissions:
            told += self._permission(turn, one, str(one.get("sessionID")))
        for one in questions:
            told += self._question(turn, one, str(one.get("sessionID")))
        return told

    def _lost(self, turn: Turn) -> list[AgentEvent]:
        """The server is idle, so whatever has not come will not come."""
        told = self._begun(turn)
        if turn.open and not turn.stopping and not turn.aborted and turn.error is None:
            turn.aborted = True
            told.append(Trouble(code="turn-lost", message="the server no longer works on the turn"))
        elif not turn.seen and turn.error is None:
            turn.error = "the server took the prompt and has nothing of it"
        return told + self._ended(turn)

    # -- shared

    def _about(self, fields: Fields, session: str) -> dict[str, str | None]:
        call = (fields.get("tool") or {}).get("callID")
        subagent = session if session != self.native else None
        return {"tool": self._tool_id(session, str(call)) if call else None, "subagent": subagent}

    def _tool_id(self, session: str, call: str) -> str:
        """Calls are numbered within one conversation, so a sub-agent's may be numbered like its parent's."""
        return call if session == self.native else f"{session}/{call}"

    def _ask(self, turn: Turn, fields: Fields, need: NeedsInput) -> list[AgentEvent]:
        if need.request in self._asked or before(need.request, turn.message):
            return []
        self._asked.add(need.request)
        self.requests[need.request] = need
        return [need]

    def _checkpoint(self, turn: Turn) -> Checkpoint:
        return Checkpoint(native={"id": self.native, **({"message": turn.last} if turn.last else {})})

    def _ended(self, turn: Turn, *, told: bool = False) -> list[AgentEvent]:
        self.turn = None
        ended = turn.ended()
        events = self._withdraw()
        if ended.error is not None and not told:
            events.append(Trouble(code="turn-failed", message=ended.error))
        if turn.last is not None:
            events.append(self._checkpoint(turn))
        return [*events, ended]

    def _withdraw(self) -> list[AgentEvent]:
        open_requests, self.requests = list(self.requests), {}
        return [Answered(request=request, reply=requests.WITHDRAWN) for request in open_requests]


def _message_of(fields: Fields) -> str:
    part, info = fields.get("part"), fields.get("info")
    if isinstance(part, Mapping):
        return str(part.get("messageID", ""))
    return str(info.get("id", "")) if isinstance(info, Mapping) else str(fields.get("messageID", ""))


_HANDLERS = {
    "message.updated": Conversation._message,
    "message.part.updated": Conversation._part,
    "message.part.delta": Conversation._piece,
    "session.status": Conversation._status,
    "session.idle": Conversation._idle,
    "session.error": Conversation._error,
    "session.compacted": Conversation._compacted,
    "session.deleted": lambda *_: [],
    "permission.asked": Conversation._permission,
    "permission.replied": Conversation._replied,
    "question.asked": Conversation._question,
    "question.replied": Conversation._replied,
    "question.rejected": Conversation._dismissed,
}

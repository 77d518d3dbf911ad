"""The lines of a server's raw log, as events of our sessions. Pure: the same lines give the same events.

A line is an event of the server, or a record of ours (`records.py`). This finds out whom a line is about; what it
means is decided in `conversation.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchctl.agents.opencode import records, requests
from orchctl.agents.opencode.conversation import SILENT, TWIN, Conversation
from orchctl.agents.opencode.turn import Fields
from orchctl.session.events import AgentEvent, Closed, NotOpened, Opened, Refused, Unknown

Told = list[tuple[str, list[AgentEvent]]]  # by our session
_GENERATIONS = 16  # of sub-agents of sub-agents; a circle would have more


class Translator:
    """All conversations on one server."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}  # by our session
        self._sessions: dict[str, str] = {}  # by the server's id
        self._directories: dict[str, str] = {}  # by our session
        self._parents: dict[str, str] = {}  # a sub-agent's conversation → the one that began it

    def know(self, session: str, native: str, directory: str) -> None:
        """This conversation is ours."""
        if session not in self._conversations or self._conversations[session].native != native:
            self._conversations[session] = Conversation(native)
        self._sessions[native] = session
        self._directories[session] = directory

    def conversation(self, session: str) -> Conversation | None:
        """Of our session, if it is open here."""
        return self._conversations.get(session)

    def directory(self, session: str) -> str | None:
        """In which it is."""
        return self._directories.get(session)

    def session_of(self, native: str) -> str | None:
        """Which of ours holds a conversation."""
        return self._sessions.get(native)

    def sessions(self) -> list[str]:
        """Those that are open here."""
        return list(self._conversations)

    def sessions_in(self, directory: str) -> list[str]:
        """Those that are open there."""
        return [session for session, place in self._directories.items() if place == directory]

    def adopt(self, child: str, parent: str) -> None:
        """A sub-agent's conversation."""
        self._parents[child] = parent

    def hear(self, raw: bytes) -> Told:
        """One line. What makes no sense is counted with each session that waits for something."""
        line = records.parsed(raw)
        if line is None:
            return self._for_all(Unknown(kind="not-understood"))
        if records.KIND in line:
            return [(session, told) for session, told in self._record(str(line[records.KIND]), line) if told]
        kind, fields = str(line["type"]), line.get("properties")
        return self._event(kind, fields if isinstance(fields, dict) else {})

    def _event(self, kind: str, fields: Fields) -> Told:
        native = fields.get("sessionID")
        self._learn(fields.get("info"))
        if not isinstance(native, str):
            unknown = kind not in SILENT and not kind.startswith(TWIN)
            return self._for_all(Unknown(kind=kind)) if unknown else []
        session = self._owner(native)
        if session is None:
            return []  # of somebody else
        try:
            told = self._conversations[session].event(kind, fields, native)
        except (AttributeError, KeyError, TypeError, ValueError):
            told = [Unknown(kind=kind)]  # of another form than any version that was tried
        return [(session, told)] if told else []

    def _learn(self, info: object) -> None:
        if isinstance(info, dict) and isinstance(info.get("parentID"), str) and str(info.get("id")).startswith("ses"):
            self.adopt(str(info["id"]), info["parentID"])

    def _owner(self, native: str) -> str | None:
        for _ in range(_GENERATIONS):
            if native in self._sessions or native not in self._parents:
                break
            native = self._parents[native]
        return self._sessions.get(native)

    def _for_all(self, event: AgentEvent) -> Told:
        waiting = [session for session, one in self._conversations.items() if one.turn is not None]
        return [(session, [event]) for session in waiting]

    def _record(self, kind: str, line: Fields) -> Iterator[tuple[str, list[AgentEvent]]]:
        session = str(line.get("session", ""))
        if kind == records.CONNECTED:
            for one in self.sessions_in(str(line.get("directory"))):
                self._conversations[one].gap()
        elif kind == records.OPENED:
            native = {"id": str(line["native"]), "directory": str(line["directory"])}
            self.know(session, native["id"], native["directory"])
            details = {"version": line.get("version")}
            yield session, [Opened(native=native, model=line.get("model"), details=details)]
        elif kind == records.NOT_OPENED:
            yield session, [NotOpened(code=str(line["code"]), message=str(line["message"]))]
        elif kind == records.CLOSED:
            self._forget(session)
            yield session, [Closed()]
        elif session in self._conversations:
            yield session, self._of(self._conversations[session], kind, line)

    def _of(self, one: Conversation, kind: str, line: Fields) -> list[AgentEvent]:
        if kind == records.POSTING:
            one.posting(str(line["once"]), str(line["message"]))
        elif kind == records.POSTED:
            return one.posted()
        elif kind == records.REFUSED:
            one.refused()
            return [Refused(once=str(line["once"]), code=str(line["code"]), message=str(line["text"]))]
        elif kind == records.STOPPING:
            one.stopping()
        elif kind == records.ANSWERED:
            return one.answered(str(line["request"]), str(line.get("reply", requests.WITHDRAWN)))
        elif kind == records.READ:
            for child, parent in (line.get("children") or {}).items():
                self.adopt(child, parent)
            return one.read(line)
        return []

    def _forget(self, session: str) -> None:
        one = self._conversations.pop(session, None)
        self._directories.pop(session, None)
        if one is not None:
            self._sessions.pop(one.native, None)

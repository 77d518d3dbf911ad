"""One `codex app-server` process: threads begun and resumed with the settings asked for, turns, interrupts, requests.

Three habits of it are seen to here. An interrupt before the turn has begun is refused and the turn goes on, so it
waits for the beginning; a second one for the same turn may never be answered, so there is none. Commands outlive an
interrupt, so they are cleaned up after it. A thread that never had a turn cannot be resumed, so it is begun anew.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from orchctl.agents import jsonrpc
from orchctl.agents.codex import requests
from orchctl.agents.codex.translate import Thread
from orchctl.agents.interface import Host, Opening, Prompt, Reply
from orchctl.agents.jsonrpc import Answer, Asked, Name, Told
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Closed,
    Delivered,
    NotOpened,
    Opened,
    Refused,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
)
from orchctl.version import VERSION

SANDBOXES = {"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}
APPROVALS = ("untrusted", "on-request", "never")
NO_ROLLOUT = "no rollout found"
_UNHEARD = ["account/rateLimits/updated"]


@dataclass(slots=True)
class _Conversation:
    opening: Opening
    thread: Thread
    interrupt: bool = False  # asked for, and not yet sent
    interrupted: str | None = None  # the turn that it was sent for


@dataclass(slots=True)
class _Request:
    session: str
    asked: Asked


@dataclass(slots=True)
class _Known:
    """By our session, by the server's thread, and the requests that are open."""

    sessions: dict[str, _Conversation] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)  # threads that a thread of ours has begun
    requests: dict[str, _Request] = field(default_factory=dict)
    opening: dict[str, Opening] = field(default_factory=dict)


class CodexServer:
    """All threads of one process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._peer = jsonrpc.Peer(host.write)
        self._known = _Known()

    @property
    def owes(self) -> bool:
        return self._peer.owed

    def begin(self) -> None:
        """Say hello; some of what we ask for is experimental there."""
        client = {"name": "orchctl", "title": "orchctl", "version": VERSION}
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": _UNHEARD}
        self._peer.ask(Name(what="hello"), "initialize", {"clientInfo": client, "capabilities": capabilities})

    def know(self, opening: Opening) -> None:
        self._bind(opening, opening.native.get("id", ""))

    def open(self, opening: Opening) -> None:
        """Begin or resume; the settings are said each time, because a resumed thread may have others."""
        self._known.opening[opening.session] = opening
        native = opening.native.get("id")
        params = settings(opening)
        if native:
            params |= {"threadId": native, "excludeTurns": True}
        what = "resume" if native else "open"
        self._peer.ask(Name(what=what, session=opening.session), f"thread/{'resume' if native else 'start'}", params)

    def send(self, session: str, prompt: Prompt) -> None:
        """A turn of its own: the host sees to it that none is open, or this one would be put into that."""
        conversation = self._known.sessions[session]
        conversation.interrupt, conversation.interrupted = False, None
        params = {
            "threadId": conversation.thread.id,
            "input": [{"type": "text", "text": prompt.text}],
            "clientUserMessageId": prompt.once,
        }
        self._peer.ask(Name(what="prompt", session=session, more=prompt.once), "turn/start", params)

    def reply(self, session: str, request: str, reply: Reply) -> None:
        """A reply to what is no longer asked is passed over by the server."""
        found = self._known.requests.get(request)
        if found is not None:
            result = requests.result(found.asked.method, found.asked.params, reply)
            self._peer.result(found.asked.id, result)

    def interrupt(self, session: str) -> None:
        conversation = self._known.sessions.get(session)
        if conversation is not None:
            conversation.interrupt = True
            self._interrupt_if_begun(session, conversation)

    def close(self, session: str) -> None:
        """End what its commands left, and hear no more of it."""
        conversation = self._known.sessions.get(session)
        if conversation is None:
            self._host.emit(session, Closed())
            return
        params = {"threadId": conversation.thread.id}
        self._peer.ask(Name(what="clean", session=session, more="close"), "thread/backgroundTerminals/clean", params)
        self._peer.ask(Name(what="close", session=session), "thread/unsubscribe", params)

    async def attend(self) -> None:
        """It has no I/O of its own."""

    def hear(self, line: bytes) -> None:
        heard = jsonrpc.read(line)
        if isinstance(heard, Answer):
            if self._peer.take(heard):
                self._answer(heard)
        elif isinstance(heard, Told):
            self._told(heard)
        elif isinstance(heard, Asked):
            self._asked(heard)
        elif line.strip():
            for session in self._known.sessions:
                self._host.emit(session, Unknown(kind="not a message"))

    # answers to what we asked

    def _answer(self, answer: Answer) -> None:
        session, failed = answer.name.session, answer.code is not None
        if answer.name.what == "hello":
            self._hello(answer)
        elif answer.name.what in ("open", "resume"):
            self._opened(answer)
        elif answer.name.what == "prompt" and failed:
            self._host.emit(session, Refused(once=answer.name.more, code="refused", message=answer.message))
        elif answer.name.what == "prompt":
            self._host.emit(session, Delivered(once=answer.name.more))
        elif answer.name.what == "interrupt" and failed:
            self._again(session)
        elif answer.name.what == "close":
            conversation = self._known.sessions.pop(session, None)
            if conversation is not None:
                self._known.threads.pop(conversation.thread.id, None)
            self._host.emit(session, Closed())

    def _hello(self, answer: Answer) -> None:
        if answer.code is not None:
            self._host.broken(f"codex does not say hello: {answer.message}")
            return
        self._peer.tell("initialized")
        agent = str(answer.result.get("userAgent", "")) if isinstance(answer.result, dict) else ""
        version = agent.partition("/")[2].partition(" ")[0]
        self._host.ready(version or None)

    def _opened(self, answer: Answer) -> None:
        session = answer.name.session
        opening = self._known.opening.get(session)
        if answer.code is not None:
            if answer.name.what == "resume" and NO_ROLLOUT in answer.message and opening is not None:
                self._peer.ask(Name(what="open", session=session), "thread/start", settings(opening))
                return
            self._host.emit(session, NotOpened(code="not-opened", message=answer.message))
            return
        result = answer.result if isinstance(answer.result, dict) else {}
        thread = result.get("thread") if isinstance(result.get("thread"), dict) else {}
        assert isinstance(thread, dict)
        wrong = differences(opening, result) if opening is not None else None
        if wrong is not None:  # never in a wider sandbox than was asked for
            self._peer.ask(Name(what="drop", session=session), "thread/unsubscribe", {"threadId": thread.get("id")})
            self._host.emit(session, NotOpened(code="settings-differ", message=wrong))
            return
        native = str(thread.get("id"))
        self._bind(opening or Opening(session=session, cwd=""), native)
        details = {name: result.get(name) for name in ("sandbox", "approvalPolicy", "cwd")}
        model = result.get("model")
        self._host.emit(session, Opened(native={"id": native}, model=model if model else None, details=details))

    def _again(self, session: str) -> None:
        """The turn had not begun when it was interrupted: at the next sign of life it is tried again."""
        conversation = self._known.sessions.get(session)
        if conversation is not None and conversation.thread.turn is not None:
            conversation.interrupted, conversation.interrupt = None, True

    # what it tells and asks by itself

    def _told(self, told: Told) -> None:
        params = told.params
        if told.method == "serverRequest/resolved":
            self._resolved(params)
            return
        if told.method == "thread/started":
            self._child(params)
        thread = str(params.get("threadId"))
        session = self._known.threads.get(thread)
        if session is None:
            self._child_works(thread, params.get("turn"))
            return
        self._child_begins(session, params.get("item"))
        conversation = self._known.sessions[session]
        events = conversation.thread.hear(told.method, params)
        if told.method == "thread/closed":
            self._reload(conversation)
            return
        self._emit(session, conversation, events)

    def _emit(self, session: str, conversation: _Conversation, events: list[AgentEvent]) -> None:
        if events:
            self._host.emit(session, *events)
        for one in events:
            if isinstance(one, TurnEnded):
                conversation.interrupt, conversation.interrupted = False, None
                if one.end is TurnEnd.INTERRUPTED and not self._host.replaying:
                    self._clean(session, conversation, one.turn)
            elif isinstance(one, TurnStarted):
                conversation.interrupted = None
        self._interrupt_if_begun(session, conversation)

    def _interrupt_if_begun(self, session: str, conversation: _Conversation) -> None:
        turn = conversation.thread.turn
        if not conversation.interrupt or turn is None or conversation.interrupted == turn or self._host.replaying:
            return
        conversation.interrupt, conversation.interrupted = False, turn
        params = {"threadId": conversation.thread.id, "turnId": turn}
        self._peer.ask(Name(what="interrupt", session=session, more=turn), "turn/interrupt", params)

    def _clean(self, session: str, conversation: _Conversation, turn: str) -> None:
        params = {"threadId": conversation.thread.id}
        self._peer.ask(Name(what="clean", session=session, more=turn), "thread/backgroundTerminals/clean", params)

    def _reload(self, conversation: _Conversation) -> None:
        """The server has let it go by itself; it is not to be lost."""
        if not self._host.replaying:
            self.open(conversation.opening)

    def _child(self, params: dict[str, Any]) -> None:
        """A thread that one of ours has begun: what it asks is asked in the name of ours."""
        thread = params.get("thread")
        parent = str(thread.get("parentThreadId")) if isinstance(thread, dict) else ""
        session = self._known.threads.get(parent) or self._known.children.get(parent)
        if session is not None and isinstance(thread, dict):
            self._known.children[str(thread.get("id"))] = session

    def _child_begins(self, session: str, item: object) -> None:
        """A sub-agent is a thread that only the call which begins it tells of."""
        receivers = item.get("receiverThreadIds") if isinstance(item, dict) else None
        for thread in receivers if isinstance(receivers, list) else ():
            self._known.children[str(thread)] = session

    def _child_works(self, thread: str, turn: object) -> None:
        """It may be at work before that call is over: then its turn names the one that it is a part of."""
        root = turn.get("rootTurnId") if isinstance(turn, dict) else None
        for session, conversation in self._known.sessions.items():
            if root is not None and conversation.thread.turn == root:
                self._known.children[thread] = session

    def _asked(self, asked: Asked) -> None:
        thread = str(asked.params.get("threadId"))
        session = self._known.threads.get(thread)
        child = self._known.children.get(thread) if session is None else None
        owner = session or child
        if asked.method not in requests.KNOWN or owner is None:
            self._refuse(asked, owner)
            return
        conversation = self._known.sessions[owner]
        self._known.requests[requests.name_of(asked.id)] = _Request(owner, asked)
        item = conversation.thread.open.get(str(asked.params.get("itemId")), {})
        need = requests.needs(asked.id, asked.method, asked.params, item, thread if child is not None else None)
        self._host.emit(owner, need)

    def _refuse(self, asked: Asked, session: str | None) -> None:
        """What is not answered keeps a turn waiting for ever. Written first, told then."""
        answered = jsonrpc.Peer(lambda line: self._host.write(line, session))
        answered.refuse(asked.id, f"{asked.method} is not for this client")
        if session is not None:
            self._host.emit(session, Unknown(kind=asked.method))

    def _resolved(self, params: dict[str, Any]) -> None:
        number = params.get("requestId")
        request = requests.name_of(number) if isinstance(number, int | str) else ""
        found = self._known.requests.pop(request, None)
        if found is not None:
            self._host.emit(found.session, Answered(request=request))

    def _bind(self, opening: Opening, native: str) -> None:
        kept = replace(opening, native={"id": native})
        self._known.sessions[opening.session] = _Conversation(kept, Thread(native))
        self._known.threads[native] = opening.session
        self._known.opening[opening.session] = kept


def settings(opening: Opening) -> dict[str, Any]:
    """What is said of a thread each time."""
    return {
        "cwd": opening.cwd,
        "sandbox": opening.options.get("sandbox", "workspace-write"),
        "approvalPolicy": opening.options.get("approval", "on-request"),
        **({"model": opening.model} if opening.model else {}),
        "config": {f"shell_environment_policy.set.{name}": value for name, value in opening.tools_env.items()},
    }


def differences(opening: Opening, result: dict[str, Any]) -> str | None:
    """What of the settings the server did not take over."""
    asked = settings(opening)
    sandbox = result.get("sandbox")
    kind = sandbox.get("type") if isinstance(sandbox, dict) else sandbox
    if kind != SANDBOXES.get(asked["sandbox"]):
        return f"the thread has the sandbox {kind}, not {asked['sandbox']}"
    if result.get("approvalPolicy") != asked["approvalPolicy"]:
        return f"the thread has the approval policy {result.get('approvalPolicy')}, not {asked['approvalPolicy']}"
    if result.get("cwd") != asked["cwd"]:
        return f"the thread is in {result.get('cwd')}, not in {asked['cwd']}"
    return None

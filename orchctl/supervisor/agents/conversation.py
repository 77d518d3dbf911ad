"""One conversation in the supervisor's hands: its journal, its transcript, and what is asked of its server.

Everything is on record before it is done or told. `heard` may be called again with what is on record: nothing
happens then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from orchctl.agents.conversation import Conversation, Request, Said
from orchctl.agents.interface import Opening, Permission, Prompt, Reply, Server
from orchctl.agents.transcript import Transcript, Uptake
from orchctl.errors import Conflict, OrchctlError
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import ConversationStore, Spec
from orchctl.session import environment, events
from orchctl.session.agent import Agent, AgentState
from orchctl.session.events import AgentEvent, Answered, Need, Text, Trouble, TurnEnd, TurnEnded, TurnStarted
from orchctl.session.run import Run
from orchctl.supervisor.change import News
from orchctl.supervisor.clock import boot_s
from orchctl.supervisor.pair import Pair

SHOWN_PROMPT = 1 << 14  # characters of a prompt in the transcript; the journal has all of it
STEP_BYTES, STEPS = 1 << 20, 32  # of the raw log
Record = dict[str, Any]


class Holder(Protocol):
    """The server that a conversation is on."""

    @property
    def backend(self) -> Server: ...
    @property
    def position(self) -> int: ...
    def stumble(self, trouble: OSError) -> None:
        """What happened cannot be written down now: all of it again later."""


class TalkSession(Protocol):
    """The session that a conversation is."""

    spec: Spec
    run: Run
    news: News
    state_dir: str
    grew: bool
    talk: Talk  # another one than this, once it was read from its files again

    @property
    def closed(self) -> bool: ...
    @property
    def pair(self) -> Pair: ...
    def open_log(self) -> OutputLog: ...
    def now(self) -> float: ...
    def note(self, record: Record) -> None: ...
    def look(self) -> None: ...
    def tell(self) -> None: ...
    def prompted(self) -> None: ...
    def renew(self) -> Talk: ...


class Talk:
    """Built from disk alone."""

    def __init__(self, session: TalkSession, agent: Agent, folder: str) -> None:
        self.session = session
        self.agent = agent
        self.holder: Holder | None = None
        self.state = Conversation()
        self._store = ConversationStore(folder)
        self._last = ""  # what the last record added to the transcript
        self._transcript = Transcript(folder, session.spec.ring_bytes, self._dropped)
        last_at = time.time()
        for record in self._store.read().records:
            self.state.apply(record)
            self._last, last_at = record.get("says", ""), record.get("time", last_at)
        self._uptake = Uptake(fresh=self.state.fresh, part=self.state.part)
        self._writing = False
        # a record at least every so often: only what comes after the last one is in doubt when bytes are lost
        self._step_bytes = max(1, min(STEP_BYTES, session.spec.ring_bytes // STEPS))
        self.connecting = asyncio.Lock()
        self.ending = False
        self.trouble: OSError | None = None  # it could not be written down, and is no longer what its files say
        self._since = self.active_at = boot_s()  # also while the machine sleeps, and whatever the wall clock says
        if not self.state.busy:  # nothing was said meanwhile: it has been idle since then
            self.active_at -= max(0.0, session.now() - last_at)

    @property
    def id(self) -> str:
        """The session's."""
        return self.session.spec.id

    def view(self) -> AgentState:
        """As everybody sees it."""
        state = self.state
        return AgentState(
            profile=self.agent.profile,
            model=state.model or self.agent.model,
            permission=self.agent.permission,
            native=dict(state.native),
            server=state.server,
            busy=state.busy,
            turns=state.turns,
            pending=len(state.pending),
            usage=state.usage,
            unknown=state.unknown,
        )

    @property
    def requests(self) -> list[Request]:
        """Those that nobody has replied to."""
        return [one for one in self.state.pending.values() if one.reply is None]

    def opening(self, options: dict[str, str]) -> Opening:
        """How it is begun or resumed."""
        native = self.state.native or ({"id": self.agent.resume} if self.agent.resume else {})
        return Opening(
            session=self.id,
            cwd=self.session.spec.cwd,
            permission=self.agent.permission,
            model=self.agent.model,
            native=native,
            options=options,
            tools_env=environment.of_tools(self.id, self.session.spec.managed_by, self.session.state_dir),
        )

    # what the server says

    def heard(self, at: int, said: Sequence[AgentEvent], now: float) -> bool:
        """What a line of the raw log that ends at `at` means; False when it is on record already."""
        if at <= self.state.at:
            return False
        taken = self._uptake.take([self._completed(one) for one in self._expected(at, said)])
        if taken.journal:
            self._record({"type": "heard", "time": now, "at": at}, taken.journal, taken.text)
        elif taken.text and at - self.state.at >= self._step_bytes:
            self._record({"type": "mark", "time": now, "at": at}, self._uptake.flush(), taken.text)
        elif taken.text:
            self.state.missed = False
            self._write(taken.text)
            self.active_at = boot_s()
            self.session.grew = True
            self.session.news.tell()
        return True

    def _expected(self, at: int, said: Sequence[AgentEvent]) -> list[AgentEvent]:
        """Without the end of a turn that was given up, and without text of which nobody knows whether it is told."""
        found: list[AgentEvent] = []
        busy = self.state.busy
        for one in said:
            if (isinstance(one, TurnEnded) and not busy) or (isinstance(one, Text) and at < self.state.blurred):
                continue
            busy = (busy or isinstance(one, TurnStarted)) and not isinstance(one, TurnEnded)
            found.append(one)
        return found

    def heard_from(self, latest: int) -> int:
        """Where a replay has to begin for it; everybody has heard what was said before `latest`."""
        unrecorded = self.session.open_log().extent().next_offset > self.state.text
        return self.needs_from(latest) if not unrecorded else self.state.quiet_at

    def needs_from(self, latest: int) -> int:
        """The same, where all text is on record."""
        state = self.state
        return state.quiet_at if state.busy or state.pending else latest

    def miss(self, first: int, end: int) -> None:
        """What its server said there is gone, and nobody has heard it."""
        before, first = self.state.at, max(first, self.state.at)
        if first >= end or not (self.state.busy or self.state.pending):
            return
        self._open_transcript()
        blurred = before + self._step_bytes if self._transcript.is_ahead else 0
        says = self._uptake.gap(end - first, fresh=self._transcript.go_to_end())
        self._note({"type": "gap", "first": first, "end": end, "blurred": blurred}, says=says)

    def give_up_on_turn(self) -> None:
        """Its end was lost, as far as anybody can tell."""
        said: list[AgentEvent] = [Answered(request=request, reply="withdrawn") for request in self.state.pending]
        why = "what the agent's server said was lost, and the end of the turn with it"
        self._note({"type": "given-up"}, [*said, TurnEnded(end=TurnEnd.INTERRUPTED, error=why)])

    def _completed(self, one: AgentEvent) -> AgentEvent:
        """Some servers say that a request is answered, and not how: that is ours to know."""
        if not isinstance(one, Answered) or one.reply or one.request not in self.state.pending:
            return one
        reply = self.state.pending[one.request].reply
        return replace(one, reply=(reply["choice"] or reply["text"] or "") if reply is not None else "withdrawn")

    def broke(self, why: str) -> None:
        """The server is gone: what it left open is closed, and what was on its way to it may have arrived or not."""
        if self.state.server is not None:
            self._leave(why, Trouble(code="server-ended", message=why, again=True))

    def left(self, why: str) -> None:
        """The conversation is over: what was open is closed, as when its server is gone."""
        if self.state.server is not None:
            self._leave(why)

    def _leave(self, why: str, *trouble: Trouble) -> None:
        said: list[AgentEvent] = [Answered(request=request, reply="withdrawn") for request in self.state.pending]
        current = self.state.current
        if current is not None and current.delivery == "sent" and not self.state.turn_open:
            self._record({"type": "maybe", "time": time.time(), "once": current.once}, [], "")
        said += trouble
        if self.state.busy:
            said.append(TurnEnded(end=TurnEnd.INTERRUPTED, error=why))
        self._note({"type": "broke"}, said)
        self.holder = None

    def not_resumed(self, error: OrchctlError) -> None:
        """It could not be."""
        self._note({"type": "trouble"}, [Trouble(code=error.code, message=error.message)])

    # what is asked of it

    def bind(self, holder: Holder, server: str) -> None:
        """It is held by that server from now on, and heard from its present end."""
        self._note({"type": "server", "server": server, "from": holder.position})
        self.holder = holder

    def prompt(self, text: str, once: str, who: str) -> Said:
        """Say something to the agent, once."""
        if once in self.state.prompts:
            return self.state.prompts[once]
        if self.state.busy:
            raise Conflict("the agent is at work; 'interrupt' ends its turn, 'wait --for turn' waits", code="busy")
        holder, self._since = self._held(), boot_s()
        says = self._uptake.prompt(events.shortened(text, SHOWN_PROMPT))
        self._note({"type": "prompt", "once": once, "who": who, "prompt": text}, says=says)
        holder.backend.send(self.id, Prompt(text=text, once=once))
        return self.state.prompts[once]

    def is_unheard(self, patience_s: float) -> bool:
        """Whether a prompt was on its way for so long, under our eyes, that it will never be heard of."""
        current = self.state.current
        if current is None or current.delivery != "sent" or self.state.turn_open:
            return False
        return boot_s() - self._since > patience_s

    def give_up_on_prompt(self) -> None:
        """Nobody will ever know whether it was delivered."""
        current = self.state.current
        if current is not None:
            self._note({"type": "maybe", "once": current.once})

    def reply(self, request: str, reply: Reply, who: str) -> None:
        """To a request that is open."""
        holder = self._held()
        self._note({"type": "replied", "request": request, "choice": reply.choice, "reply": reply.text, "who": who})
        holder.backend.reply(self.id, request, reply)

    def interrupt(self, who: str) -> bool:
        """End the turn, if there is one."""
        if not self.state.busy or self.holder is None:
            return False
        self._note({"type": "interrupt", "who": who})
        self.holder.backend.interrupt(self.id)
        return True

    def say_again(self) -> None:
        """After a replay: what may have been lost with the last supervisor, and does no harm twice."""
        holder = self._held()
        for request, asked in self.state.pending.items():
            if asked.reply is not None:
                holder.backend.reply(self.id, request, Reply(**asked.reply))
            else:
                self.decide(asked)
        if self.state.interrupting:
            holder.backend.interrupt(self.id)

    def decide(self, request: Request) -> None:
        """Where no human is to be asked."""
        kinds = {Permission.ALLOW: ("allow", "always"), Permission.DENY: ("deny",)}.get(self.agent.permission, ())
        if request.asked.need is Need.PERMISSION and request.reply is None:
            for kind in kinds:
                choice = next((one for one in request.asked.choices if one.kind == kind), None)
                if choice is not None:
                    self.reply(request.asked.request, Reply(choice=choice.id), self.session.spec.managed_by)
                    return

    def close(self) -> None:
        """No more is written."""
        self._transcript.close()

    @property
    def end(self) -> int:
        """Of the transcript."""
        try:
            self._open_transcript()
        except OSError:  # what its last record says is written later
            return self.session.open_log().extent().next_offset
        return self._transcript.end

    def hold(self, offset: int | None) -> None:
        """Somebody reads the transcript."""
        if not self.session.closed:
            self._transcript.hold(offset)

    def trim(self, keep_bytes: int) -> None:
        """Keep no more of it."""
        self._transcript.trim(keep_bytes)

    def roll(self) -> None:
        """Go on in another segment."""
        self._transcript.roll()

    def _held(self) -> Holder:
        if self.holder is None or not self.state.opened:
            raise Conflict("the agent's server is gone, and could not be started again", code="server-gone")
        return self.holder

    def _note(self, record: Record, said: Sequence[AgentEvent] = (), says: str = "") -> None:
        """What nobody heard: as of what was heard last."""
        gathered = self._uptake.flush()
        at = self.holder.position if self.holder is not None else self.state.at
        taken = self._uptake.take(said)
        self._record({**record, "time": time.time(), "at": at}, [*gathered, *taken.journal], says + taken.text)

    def _record(self, record: Record, journal: Sequence[AgentEvent], text: str) -> None:
        """The record first: what it says is written after it, by the next supervisor if need be."""
        self._write(text, record, journal)
        self._tell()

    def _write(self, text: str, record: Record | None = None, journal: Sequence[AgentEvent] = ()) -> None:
        """When the disk does not take it, no more is written before all is read from there again."""
        if self.trouble is not None:
            raise self.trouble
        try:
            self._open_transcript()
            if record is not None:
                end = self._transcript.end + len(text.encode("utf-8", "replace"))
                record |= {"text": end, "fresh": self._uptake.fresh, "part": self._uptake.part}
                record |= {"says": text} if text else {}
                record |= {"happened": [events.encode(one) for one in journal]} if journal else {}
                self._store.append(record)
                self.state.apply(record)
            self._transcript.add(text)
        except OSError as error:
            self.trouble = error
            if self.holder is not None:
                self.holder.stumble(error)
            raise

    def stall(self, why: str) -> None:
        """Say that it goes on later, or does again."""
        if self.session.pair.stalled != why:
            self.session.pair.stalled = why
            with contextlib.suppress(OSError):  # without descriptors; upkeep looks again
                self.session.look()

    def _tell(self) -> None:
        self.active_at = boot_s()
        self.session.grew = True
        self.session.tell()
        self.session.news.tell()

    def _open_transcript(self) -> None:
        if not self._writing:
            self._transcript.go_on(self.state.text, self._last)
            self._writing = True

    def _dropped(self, first: int, end: int) -> None:
        self.session.note({"type": "dropped", "first": first, "end": end})

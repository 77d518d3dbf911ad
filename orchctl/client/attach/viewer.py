"""A viewer as the supervisor knows it: what it types, the size of its terminal, and whether it may.

One request of each kind is under way at a time. After a lost line it is the same viewer that comes back.
"""

from __future__ import annotations

import base64
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable

from orchctl.client.call import blocked
from orchctl.client.caller import Patience
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.errors import OrchctlError, SupervisorUnreachable
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol import codec, messages
from orchctl.session.lease_state import Lease
from orchctl.session.model import Session
from orchctl.terminal.keys import Kind, Typed

PART_BYTES = 1 << 14
LIMIT_BYTES = 1 << 20  # more than that is not read from the keyboard until some is gone


@dataclass(frozen=True, slots=True)
class Letter:
    """One piece; `number` is its name."""

    number: int
    kind: Kind
    data: bytes


class Outbox:
    """Of one person."""

    def __init__(self) -> None:
        self._waiting: deque[Typed] = deque()
        self._waiting_bytes = 0
        self._number = 0
        self._sent: Letter | None = None

    @property
    def full(self) -> bool:
        """Whether nothing more is to be taken now."""
        return self._waiting_bytes >= LIMIT_BYTES

    @property
    def empty(self) -> bool:
        """Whether all of it has arrived."""
        return self._sent is None and not self._waiting

    @property
    def unsent_bytes(self) -> int:
        """How much has not arrived, as far as is known."""
        return self._waiting_bytes + (len(self._sent.data) if self._sent else 0)

    def add(self, typed: Typed) -> None:
        """At the end; together with what is there if it is of the same kind."""
        self._waiting_bytes += len(typed.data)
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.kind is typed.kind and len(last.data) + len(typed.data) <= PART_BYTES:
            self._waiting[-1] = Typed(typed.kind, last.data + typed.data)
            return
        for at in range(0, len(typed.data), PART_BYTES):
            self._waiting.append(Typed(typed.kind, typed.data[at : at + PART_BYTES]))

    def next(self) -> Letter | None:
        """What is to be sent now, if nothing is on its way."""
        if self._sent is not None or not self._waiting:
            return None
        first = self._waiting.popleft()
        self._waiting_bytes -= len(first.data)
        self._number += 1
        self._sent = Letter(self._number, first.kind, first.data)
        return self._sent

    def again(self) -> Letter | None:
        """What was on its way when the line was lost."""
        return self._sent

    def arrived(self) -> Letter | None:
        """What was on its way has arrived, or was refused for good."""
        sent, self._sent = self._sent, None
        return sent


VIEW, INPUT, SIZE, TAKE, RELEASE = "view", "input", "size", "take", "release"


class Viewing:
    """Of one person at one session."""

    def __init__(
        self,
        session: Session,
        *,
        own_manager: str,
        terminal: str | None,
        size: tuple[int, int],
        said_size: tuple[int, int] | None,
        read_only: bool,
        take: bool,
        take_keys: str,
        holder: str = "",
    ) -> None:
        self.session = session
        self.own_manager = own_manager
        self.read_only = read_only
        self.size = size  # of the person's terminal
        self.outbox = Outbox()
        self.notices: list[str] = []  # what the person should know
        self.connection: Connection | None = None
        self.answers_from = 0
        self._terminal = terminal
        self._take_keys = take_keys
        self._force = take
        self._viewer = holder or secrets.token_hex(16)
        self._keeps = bool(holder)  # it came with the lease, and leaves with it
        self._under_way: dict[int, str] = {}
        self._lease: Lease | None = None
        self._mine = False
        self._entered = False
        self._said_size = said_size  # what the session's terminal was made, as far as we know
        self._dropped_bytes = 0
        self._release_once = secrets.token_hex(8)
        self._released = False

    # the line

    def begin(self, connection: Connection) -> None:
        """Be there, on a new line."""
        self.connection = connection
        self._ask(
            VIEW,
            messages.OpenView(
                session=self.session.id,
                viewer=self._viewer,
                own_manager=self.own_manager,
                terminal=self._terminal,
                read_only=self.read_only,
                take=self._force,
                answers_from=None if self.read_only else self.answers_from,
            ),
        )

    def lose(self) -> None:
        """The line is gone; what was under way is said again on the next."""
        self.connection = None
        self._under_way.clear()
        self._entered = False
        self._said_size = None

    def hear(self) -> None:
        """What has come."""
        assert self.connection is not None
        for number, item in self.connection.receive():
            if isinstance(item, messages.LeaseNews):
                self._hear_news(item)
            elif isinstance(item, messages.Failed) and number == 0:
                raise codec.error_of(item)
            elif (what := self._under_way.pop(number, None)) is not None:
                error = codec.error_of(item) if isinstance(item, messages.Failed) else None
                self._answered(what, error)

    def go_on(self) -> None:
        """Say what there is to say."""
        if self.connection is None or not self._entered or self.read_only:
            return
        if INPUT not in self._under_way.values() and (letter := self.outbox.again() or self.outbox.next()):
            self._send(letter)
        may = self._mine or self._lease is None
        if may and self.size != self._said_size and SIZE not in self._under_way.values():
            self._resize()

    def take(self) -> None:
        """By force, now."""
        if self._entered and not self.read_only and TAKE not in self._under_way.values():
            asked = messages.TakeLease(
                session=self.session.id,
                viewer=self._viewer,
                own_manager=self.own_manager,
                terminal=self._terminal,
                force=True,
            )
            self._ask(TAKE, asked)

    def let_go(self) -> bool:
        """Let others type; whether that is done, and nothing typed is under way any more."""
        if not self.outbox.empty:
            return False
        if self._mine and not self._released and not self._keeps and RELEASE not in self._under_way.values():
            asked = messages.ReleaseLease(
                session=self.session.id,
                viewer=self._viewer,
                own_manager=self.own_manager,
                once=self._release_once,
            )
            self._ask(RELEASE, asked)
        return self._released or self._keeps or not self._mine

    # how it is done

    def _ask(self, what: str, request: messages.Request) -> None:
        assert self.connection is not None
        self._under_way[self.connection.begin(request)] = what

    def _send(self, letter: Letter) -> None:
        asked = messages.SendInput(
            session=self.session.id,
            own_manager=self.own_manager,
            data_b64=base64.b64encode(letter.data).decode("ascii"),
            once=f"{self._viewer}/{letter.number}",
            viewer=self._viewer,
            answer=letter.kind is Kind.REPORT,
        )
        self._ask(INPUT, asked)

    def _resize(self) -> None:
        self._said_size = self.size
        asked = messages.ControlSession(
            session=self.session.id,
            own_manager=self.own_manager,
            action="resize",
            cols=self.size[0],
            rows=self.size[1],
            viewer=self._viewer,
        )
        self._ask(SIZE, asked)

    def _answered(self, what: str, error: OrchctlError | None) -> None:
        if what == VIEW and error is not None and error.code not in ("session-ended", "no-such-session"):
            raise error
        if what == RELEASE:
            self._released = True
        elif what == TAKE and error is not None:
            self.notices.append(error.message)
        elif what == INPUT:
            letter = self.outbox.arrived()
            if error is not None and letter is not None and letter.kind is Kind.KEYS:
                self._refused(letter, error)

    def _refused(self, letter: Letter, error: OrchctlError) -> None:
        if error.code == "lease-held":
            self._dropped_bytes += len(letter.data)
            self.notices.append(f"{self._holder()} types: {self._dropped_bytes} bytes dropped{self._take_keys}")
        elif error.code not in ("session-ended", "no-such-session"):
            self.notices.append(f"{len(letter.data)} bytes: {error.message}")

    def _hear_news(self, news: messages.LeaseNews) -> None:
        was_mine, had = self._mine, self._lease
        self._lease, self._mine = news.lease, news.yours
        self._entered, self._force = True, False
        if not self._mine and self._lease is not None:
            self._said_size = None  # its holder may make it another
        if was_mine and not self._mine and self._lease is not None:
            verb = "was handed the lease" if news.reason == "transferred" else "took the lease"
            self.notices.append(f"{self._holder()} {verb}{self._take_keys}")
        elif self._mine and not was_mine and news.reason in ("returned", "transferred"):
            self.notices.append("the lease is yours again" if news.reason == "returned" else "the lease is yours now")
        elif self._lease is None and had is not None and self._dropped_bytes and not was_mine:
            self.notices.append("nobody types now: your keys go through again")
        if self._lease is None or self._mine:
            self._dropped_bytes = 0

    def _holder(self) -> str:
        if self._lease is None:
            return "somebody else"
        where = f" at {self._lease.terminal}" if self._lease.terminal else ""
        return f"{self._lease.who}{where} ({self._lease.holder})"


class Reaching:
    """So many connections; `fileno` is readable once they are there, or will never be."""

    def __init__(self, connect: Callable[[], Connection], count: int) -> None:
        self._connect = connect
        self._count = count
        self._made: list[Connection] = []
        self._failed: OrchctlError | None = None
        self._given_up = threading.Event()
        self._told, self._tell = os.pipe()
        threading.Thread(target=self._run, daemon=True).start()

    def fileno(self) -> int:
        return self._told

    def result(self) -> list[Connection]:
        """The connections; waits for them."""
        os.read(self._told, 1)
        os.close(self._told)
        if self._failed is not None or len(self._made) < self._count:
            raise self._failed or ConnectionLost("the supervisor cannot be reached")
        return self._made

    def close(self) -> None:
        """Nobody wants them any more; what comes yet is hung up by whoever makes it."""
        self._given_up.set()
        os.close(self._told)

    def _run(self) -> None:
        patience = Patience()
        try:
            while len(self._made) < self._count and not self._given_up.is_set():
                try:
                    self._made.append(self._connect())
                except ConnectionLost as error:
                    blocked(patience.spend(error))
        except OrchctlError as error:
            self._failed = error
        except OSError as error:  # no descriptor, no directory
            self._failed = SupervisorUnreachable(f"the supervisor cannot be reached: {error.strerror}")
        finally:
            if self._given_up.is_set() or self._failed is not None:
                for connection in self._made:
                    connection.close()
            os.close(self._tell)

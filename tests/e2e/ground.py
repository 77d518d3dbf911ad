"""The ground of the stateful test: one state directory, what is expected of it, and how it is looked at and struck."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize

from orchctl import Client
from orchctl.errors import Conflict
from orchctl.log import journal
from orchctl.session.stream import Chunk
from tests.e2e.expected import Expected, Somebody, View, is_held_by
from tests.rawclient import children_of
from tests.world import fresh_world, until

VIEWERS = 3
RING = "256K"

PROGRAM = """
stty -echo; echo ready
while IFS= read -r line; do
    case $line in
        exit\\ *) exit ${line#exit } ;;
        pour\\ *) head -c ${line#pour } /dev/zero | tr '\\0' x; echo ;;
        *) printf '%s\\n' "$line" ;;
    esac
done
"""


class Ground(RuleBasedStateMachine):
    """Rules are in what is built on it."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.live: list[Expected] = []
        self.counter = 0

    @initialize()
    def begin(self) -> None:
        """With a program and a shell, and somebody attached to each: most rules need that."""
        self.world = self.stack.enter_context(fresh_world())
        self.world.keep_of_each_session(RING)
        self.client = self.stack.enter_context(Client(state_dir=self.world.state))
        self.people = [Somebody.number(number) for number in range(VIEWERS)]
        self.spawn()
        self.spawn_shell()
        for number, one in enumerate(self.live):
            self.attach_to(one, number)

    def attach_to(self, one: Expected, viewer: int) -> None:
        """Somebody comes, perhaps in time to have back what it held."""
        was_sure = one.seat.sure
        somebody = self.people[viewer]
        one.views[viewer] = View(self.world.state, one.id, somebody.secret, somebody.who)
        if was_sure and one.seat.sure and one.seat.holder == viewer:
            one.seat.is_here()

    def spawn_shell(self) -> None:
        """One that `exec` can use."""
        self.begun(self.client.spawn(["bash"]).id).shell = True

    def spawn(self) -> None:
        """A program that repeats what is typed."""
        self.wrote(self.begun(self.client.spawn(["sh", "-c", PROGRAM]).id), b"ready\r\n")

    def teardown(self) -> None:
        """Nothing stays."""
        try:
            for one in self.live:
                self.check_output(one)
                self.close_views(one)
        finally:
            self.stack.close()

    def begun(self, session: str) -> Expected:
        keeper = next(
            record["keeper"]
            for record in journal.decode(self.world.journal(session)).records
            if record["type"] == "started"
        )
        until(lambda: _movers(keeper))
        one = Expected(id=session, keeper=keeper, mover=_movers(keeper)[0])
        self.live.append(one)
        return one

    def tries(
        self, one: Expected, viewer: int | None, run: Callable[[], None], output: bytes, *, keys: bool = True
    ) -> None:
        """Goes through if nobody else holds the lease, is refused otherwise."""
        if not self.sure(one):
            return
        if not one.may_type(viewer):
            with pytest.raises(Conflict) as refused:
                run()
            assert refused.value.code == "lease-held"
            return
        run()
        if keys:
            one.typed_by(viewer)
        self.wrote(one, output)

    def type_all(self, one: Expected, viewer: int | None, lines: list[bytes]) -> None:
        with Client(state_dir=self.world.state) as client:
            for line in lines:
                client.send(one.id, line + b"\n", viewer=self.secret(viewer))

    def strike(self, one: Expected, victim: str) -> None:
        """Kill it, and wait until what it belongs to is whole again."""
        if victim in ("supervisor", "zygote"):
            status = self.client.status()
            pid = status.pid if victim == "supervisor" else status.zygote
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            until(lambda: pid not in (self.client.status().pid, self.client.status().zygote, None))
            until(lambda: None not in (self.client.status().pid, self.client.status().zygote))
            for each in self.live if victim == "zygote" else ():
                each.zygote_killed = True
            self.come_back()
        elif victim == "mover":
            gone = one.mover
            os.kill(gone, signal.SIGKILL)
            until(lambda: set(_movers(one.keeper)) - {gone})
            (one.mover,) = set(_movers(one.keeper)) - {gone}
        else:
            os.kill(one.keeper, signal.SIGKILL)
            one.keeper, one.degraded = one.mover, True
            until(lambda: _movers(one.keeper))
            one.mover = _movers(one.keeper)[0]
            until(lambda: self.client.info(one.id).degraded)

    def come_back(self) -> None:
        """All viewers, as soon as there is another supervisor."""
        for one in self.live:
            was_sure = one.seat.sure
            one.seat.is_away()
            for view in one.views.values():
                view.come_back()
            if was_sure and one.seat.sure and one.seat.holder in one.attached:
                one.seat.is_here()

    def look(self, one: Expected) -> None:
        """The lease is as expected; where time may have ended it, as it is found."""
        sure, lease = one.seat.sure, self.client.lease(one.id).lease
        expected = None if one.seat.holder is None else self.people[one.seat.holder]
        if is_held_by(lease, expected) and (lease is None or lease.epoch == one.seat.epoch):
            return
        assert not sure, (lease, one.seat)
        while one.seat.holder is not None and not is_held_by(lease, self.people[one.seat.holder]):
            one.seat.let_go(one.attached)
        assert (lease is None) == (one.seat.holder is None), (lease, one.seat)
        one.seat.epoch = max(one.seat.epoch, lease.epoch) if lease is not None else one.seat.epoch

    def sure(self, one: Expected) -> bool:
        """Whether it is known who may type, now and for a while."""
        self.look(one)
        return one.seat.sure

    def wrote(self, one: Expected, data: bytes) -> None:
        """Its program has written this; all of it comes, and nothing else."""
        one.output += data
        if not one.shell:
            until(lambda: self.client.info(one.id).output.next_offset >= len(one.output), "output is missing")
            assert self.client.info(one.id).output.next_offset == len(one.output)

    def check_output(self, one: Expected) -> None:
        """Each byte that is kept is the one that was written there, and the rest is told as gone."""
        if one.shell:
            return
        at = 0
        for piece in self.client.output(one.id, credit_bytes=40_000):
            if isinstance(piece, Chunk):
                assert piece.offset == at
                assert piece.data == one.output[at : piece.end]
                at = piece.end
            else:
                assert piece.first == at
                at = piece.end
        assert at == len(one.output)

    # small things

    def chosen(self, pick: int) -> Expected:
        return self.live[pick % len(self.live)]

    def echoing(self, pick: int) -> Expected:
        if all(one.shell for one in self.live):
            self.spawn()
        able = [one for one in self.live if not one.shell]
        return able[pick % len(able)]

    def lines(self, count: int) -> list[bytes]:
        """None like any other, so that one that is lost, doubled or out of place is seen."""
        self.counter += count
        return [b"line %d" % number for number in range(self.counter - count, self.counter)]

    def secret(self, viewer: int | None) -> str:
        return "" if viewer is None else self.people[viewer].secret

    def send(self, one: Expected, viewer: int | None, data: bytes) -> None:
        self.client.send(one.id, data, viewer=self.secret(viewer))

    def close_views(self, one: Expected) -> None:
        for view in one.views.values():
            view.close()
        one.views.clear()


def _movers(keeper: int) -> list[int]:
    found = []
    with contextlib.suppress(FileNotFoundError):
        for pid in children_of(keeper):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
                found += [pid] if file.read().strip() == "orchctl-mover" else []
    return found

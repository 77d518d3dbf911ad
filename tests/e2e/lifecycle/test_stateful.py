"""Anything in any order, with any process killed in between: real processes against what is expected of them."""

from __future__ import annotations

import random
import threading
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from orchctl.errors import Conflict
from tests.e2e.expected import Claim
from tests.e2e.ground import VIEWERS, Ground
from tests.needs import kernel_tells_ends
from tests.world import DEADLINE_S, until

LIVE = 3
POUR = 150_000

picks = st.integers(0, 99)
someone = st.none() | st.integers(0, VIEWERS - 1)
anyone = st.integers(0, VIEWERS - 1)
victims = st.sampled_from(["supervisor", "zygote", "keeper", "mover"])


class Life(Ground):
    """Everything that can happen."""

    # sessions

    @precondition(lambda self: len(self.live) < LIVE)
    @rule()
    def spawn_another(self) -> None:
        self.spawn()

    @precondition(lambda self: len(self.live) < LIVE and not any(one.shell for one in self.live))
    @rule()
    def spawn_another_shell(self) -> None:
        self.spawn_shell()

    @rule(pick=picks, code=st.integers(0, 125), by_kill=st.booleans())
    def end(self, pick: int, code: int, by_kill: bool) -> None:
        one = self.chosen(pick)
        self.look(one)
        by_kill = by_kill or one.shell or one.seat.holder is not None
        if by_kill:
            self.client.kill(one.id, grace_s=1.0)
        else:
            self.client.send(one.id, b"exit %d\n" % code)
        ended = self.client.wait(one.id, timeout_s=DEADLINE_S)
        if by_kill:
            assert ended.end_reason == "killed"
        elif one.unheard and ended.end_reason == "lost":
            assert ended.exit_code is None
            assert not kernel_tells_ends()
        else:
            assert (ended.end_reason, ended.exit_code) == ("exited", code)
        self.check_output(one)
        self.close_views(one)
        self.live.remove(one)
        if not self.live:
            self.spawn()

    # typing

    @rule(pick=picks, viewer=someone, count=st.integers(1, 5))
    def type(self, pick: int, viewer: int | None, count: int) -> None:
        one = self.echoing(pick)
        for line in self.lines(count):
            self.tries(one, viewer, partial(self.send, one, viewer, line + b"\n"), line + b"\r\n")

    @rule(pick=picks, viewer=someone, count=st.integers(POUR // 2, POUR))
    def pour(self, pick: int, viewer: int | None, count: int) -> None:
        one = self.echoing(pick)
        text = b"pour %d\n" % count
        self.tries(one, viewer, partial(self.send, one, viewer, text), b"x" * count + b"\r\n")

    @rule(pick=picks, victim=victims, seed=st.integers(0, 1000))
    def type_while_one_is_killed(self, pick: int, victim: str, seed: int) -> None:
        one = self.echoing(pick)
        holder = one.seat.holder
        if not one.seat.sure or (holder is not None and not one.seat.timed):
            return  # that its holder is away for a moment has a rule of its own
        lines = self.lines(20)
        typing = threading.Thread(target=self.type_all, args=(one, holder, lines))
        typing.start()
        threading.Event().wait(random.Random(seed).random() * 0.05)  # any moment is as good
        self.strike(one, victim)
        typing.join(DEADLINE_S)
        assert not typing.is_alive()
        self.wrote(one, b"".join(line + b"\r\n" for line in lines))

    @precondition(lambda self: any(one.shell for one in self.live))
    @rule(code=st.integers(0, 125))
    def exec(self, code: int) -> None:
        one = next(one for one in self.live if one.shell)
        (word,) = self.lines(1)

        def run() -> None:
            result = self.client.exec(one.id, f"echo {word.decode()}; (exit {code})", wait_prompt_s=DEADLINE_S)
            assert (result.exit_code, result.output.replace(b"\r", b"")) == (code, word + b"\n")
            one.commands += 1

        self.tries(one, None, run, b"")
        assert len(self.client.history(one.id)) == one.commands

    @rule(pick=picks, viewer=someone, cols=st.integers(20, 200), rows=st.integers(5, 60))
    def resize(self, pick: int, viewer: int | None, cols: int, rows: int) -> None:
        one = self.chosen(pick)

        def run() -> None:
            self.client.control(one.id, "resize", size=(cols, rows), viewer=self.secret(viewer))
            one.size = (cols, rows)

        self.tries(one, viewer, run, b"", keys=False)
        found = self.client.info(one.id)
        assert (found.cols, found.rows) == one.size

    # leases

    @rule(pick=picks, viewer=anyone)
    def attach(self, pick: int, viewer: int) -> None:
        one = self.chosen(pick)
        if viewer not in one.views:
            self.attach_to(one, viewer)
        self.look(one)

    @rule(pick=picks, viewer=anyone)
    def detach(self, pick: int, viewer: int) -> None:
        one = self.chosen(pick)
        self.look(one)
        if viewer in one.views:
            if one.seat.holder == viewer:
                one.seat.is_away()
            one.views.pop(viewer).close()
            who = self.people[viewer].who
            until(lambda: who not in [each.who for each in self.client.lease(one.id).viewers])

    @rule(pick=picks, viewer=anyone, force=st.booleans())
    def take(self, pick: int, viewer: int, force: bool) -> None:
        one = self.chosen(pick)
        if not self.sure(one):
            return

        def run() -> None:
            own = self.client.take_lease(one.id, viewer=self.secret(viewer), ttl_s=3600, force=force)
            if one.seat.holder != viewer:
                one.seat.grant(viewer, timed=True)
            one.seat.timed = True
            assert own.epoch == one.seat.epoch

        if one.may_type(viewer) or force:
            run()
        else:
            with pytest.raises(Conflict, match="holds the lease"):
                run()

    @rule(pick=picks, viewer=anyone)
    def release(self, pick: int, viewer: int) -> None:
        one = self.chosen(pick)
        if not self.sure(one):
            return
        if one.seat.holder == viewer:
            self.client.release_lease(one.id, viewer=self.secret(viewer))
            one.seat.let_go(one.attached)
        else:
            with pytest.raises(Conflict) as refused:
                self.client.release_lease(one.id, viewer=self.secret(viewer))
            assert refused.value.code == "lease-not-held"

    @rule(pick=picks, to=anyone, give_back=st.booleans())
    def transfer(self, pick: int, to: int, give_back: bool) -> None:
        one = self.chosen(pick)
        if not self.sure(one):
            return
        giver = one.seat.holder
        if giver is None:
            return
        hand_on = partial(
            self.client.transfer_lease,
            one.id,
            viewer=self.secret(giver),
            to=self.people[to].who,
            give_back=give_back,
        )
        if to != giver and to in one.attached:
            hand_on()
            claim = (Claim(giver, one.seat.timed),) if give_back else ()
            one.seat.grant(to, claims=one.seat.claims + claim)
        else:
            with pytest.raises(Conflict) as refused:
                hand_on()
            assert refused.value.code == "no-such-viewer"

    # what goes wrong, and what is done about it

    @rule(pick=picks, victim=victims)
    def kill_one(self, pick: int, victim: str) -> None:
        self.strike(self.chosen(pick), victim)

    @rule()
    def kill_supervisor(self) -> None:
        self.strike(self.live[0], "supervisor")

    @rule()
    def restart_supervisor(self) -> None:
        self.world.ok("supervisor", "restart")
        self.come_back()

    @rule(pick=picks)
    def prune_output(self, pick: int) -> None:
        one = self.echoing(pick)  # of a shell it takes the prompt's mark along, and `exec` waits for another
        self.client.prune(one.id, output=True)

    # what always holds

    @invariant()
    def offsets_only_grow_and_everybody_lives(self) -> None:
        for one in self.live:
            found = self.client.info(one.id)
            assert found.is_alive
            assert found.output.first_offset >= one.first
            assert found.output.next_offset >= one.end
            one.first, one.end = found.output.first_offset, found.output.next_offset

    @invariant()
    def leases_are_where_they_should_be(self) -> None:
        for one in self.live:
            self.look(one)


def test_whatever_happens_in_whatever_order_is_as_expected(long_form: bool) -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=200 if long_form else 3,
            stateful_step_count=40 if long_form else 15,
            derandomize=not long_form,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )

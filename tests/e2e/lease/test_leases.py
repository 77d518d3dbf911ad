"""Who may type: real clients, a real supervisor that is killed, real terminals."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchctl import Client
from orchctl.client.connection import Connection
from orchctl.errors import BadInput, Conflict, NoSuchSession, NotPermitted, OrchctlError
from orchctl.protocol import messages
from tests.world import DEADLINE_S, World, until

LONG_S = 3600.0


def token() -> str:
    return secrets.token_hex(16)


class View:
    """Somebody attached, on a connection of its own."""

    def __init__(self, client: Client, session: str, *, viewer: str = "", manager: str = "user", **how: bool) -> None:
        self.viewer = viewer or token()
        self._connection: Connection = client._connect()
        self._connection.expires_at = time.monotonic() + DEADLINE_S
        asked = messages.OpenView(
            session=session, viewer=self.viewer, own_manager=manager, terminal="/dev/pts/99", **how
        )
        self._number = self._connection.begin(asked)
        self.first = self.next()

    def next(self) -> messages.LeaseNews:
        news = self._connection.answer_to(self._number)
        assert isinstance(news, messages.LeaseNews)
        return news

    def until(self, reason: str) -> messages.LeaseNews:
        while (news := self.next()).reason != reason:
            pass
        return news

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def attached(world: World, session: str, **how: object) -> Iterator[View]:
    with world.client() as client:
        view = View(client, session, **how)  # type: ignore[arg-type]
        try:
            yield view
        finally:
            view.close()


def cat(client: Client) -> str:
    session = client.spawn(["cat"], echo=False).id
    client.send(session, b"ready\n")
    return session


def test_a_lease_for_a_time_keeps_everybody_else_out_until_it_is_released(world: World) -> None:
    with world.client() as client:
        session, mine, other = cat(client), token(), token()
        taken = client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        assert (taken.epoch, taken.who, taken.away) == (1, "user", False)
        with pytest.raises(Conflict, match=f"viewer {taken.holder}") as refused:
            client.send(session, b"no\n")
        assert refused.value.code == "lease-held"
        with pytest.raises(Conflict, match="lease-wait"):
            client.take_lease(session, viewer=other, ttl_s=1)
        with pytest.raises(Conflict, match="does not hold"):
            client.release_lease(session, viewer=other)
        client.send(session, b"mine\n", viewer=mine)
        held = client.info(session).lease
        assert held is not None
        assert (held.holder, held.epoch) == (taken.holder, taken.epoch)
        client.release_lease(session, viewer=mine)
        assert client.info(session).lease is None
        client.send(session, b"all\n")
        until(lambda: world.log(session).endswith(b"all\r\n"))
        assert world.log(session) == b"ready\r\nmine\r\nall\r\n"


def test_a_lease_ends_with_its_time_and_waiting_for_it_is_enough(world: World) -> None:
    with world.client() as client:
        session = cat(client)
        first = client.take_lease(session, viewer=token(), ttl_s=0.5)
        second = client.take_lease(session, viewer=token(), ttl_s=LONG_S, wait_s=DEADLINE_S)
        assert second.epoch == first.epoch + 1
        reasons = [event["reason"] for event in client.events(session) if event["type"] == "lease"]
        assert reasons == ["taken", "expired", "taken"]


def test_the_holder_is_told_when_somebody_takes_it_by_force(world: World) -> None:
    with world.client() as client:
        session = cat(client)
        with attached(world, session, take=True) as one, attached(world, session) as two:
            mine = one.until("taken")
            assert (mine.yours, two.first.yours, two.first.reason) == (True, False, "standing")
            client.take_lease(session, viewer=two.viewer, force=True)
            lost = one.until("forced")
            assert (lost.yours, lost.lease is not None and lost.lease.epoch) == (False, 2)
            with pytest.raises(Conflict) as refused:
                client.send(session, b"late\n", viewer=one.viewer)
            assert refused.value.code == "lease-held"
        assert world.log(session) == b"ready\r\n"


def test_the_first_key_takes_a_free_lease_and_a_silent_viewer_blocks_nobody(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["bash"]).id
        with attached(world, session) as view:
            assert view.first.lease is None
            assert client.exec(session, "echo silent").output == b"silent\n"
            client.send(session, b"\r", viewer=view.viewer)
            news = view.until("taken")
            assert news.yours
            with pytest.raises(Conflict, match="/dev/pts/99") as refused:
                client.exec(session, "echo no")
            assert refused.value.code == "lease-held"
            done = world.run("exec", session, "echo no")
            assert (done.returncode, done.stdout) == (125, b"")
            assert b"/dev/pts/99" in done.stderr
            waiting = world.start("exec", "--lease-wait", "60s", "--wait-prompt", "60s", session, "echo waited")
            client.release_lease(session, viewer=view.viewer)
            assert (waiting.communicate(timeout=DEADLINE_S)[0], waiting.returncode) == (b"waited\n", 0)


def test_a_running_command_goes_on_when_somebody_takes_the_lease_and_can_be_interrupted(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["bash"]).id
        client.exec(session, "true")
        running = world.start("exec", session, "echo on; cat > /dev/null < /dev/zero; echo off")
        assert running.stdout is not None
        assert running.stdout.readline() == b"on\n"
        mine = token()
        client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        client.interrupt(session)
        assert running.wait(DEADLINE_S) == 130
        running.stdout.close()
        assert client.exec(session, "echo mine", viewer=mine).output == b"mine\n"
        (event,) = [event for event in client.events(session) if event.get("interrupt")]
        assert event["who"] == "user"


def test_a_lease_that_was_lent_returns_when_the_receiver_lets_go(world: World) -> None:
    with world.client() as client:
        session = cat(client)
        with (
            attached(world, session, manager="user:a", take=True) as giver,
            attached(world, session, manager="user:b") as receiver,
        ):
            given = client.transfer_lease(session, viewer=giver.viewer, to="user:b", give_back=True)
            assert (given.who, given.returns_to) == ("user:b", _name(client, session, "user:a"))
            client.send(session, b"lent\n", viewer=receiver.viewer)
            client.release_lease(session, viewer=receiver.viewer)
            assert giver.until("returned").yours
            assert not receiver.until("returned").yours
        mine = token()
        with attached(world, session, manager="user:c") as viewer:
            client.take_lease(session, viewer=mine, ttl_s=LONG_S, force=True)
            done = world.run("lease", "transfer", "--json", "--to", "user:c", "--return", "--lease", mine, session)
            assert json.loads(done.stdout)["who"] == "user:c"
            client.release_lease(session, viewer=viewer.viewer)
        assert client.lease(session).lease is not None
        client.release_lease(session, viewer=mine)


def _name(client: Client, session: str, who: str) -> str:
    (found,) = [viewer.name for viewer in client.lease(session).viewers if viewer.who == who]
    return found


def test_a_holder_keeps_its_lease_when_the_supervisor_is_killed_and_epochs_go_on(world: World) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        before = client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        os.kill(world.supervisor(), signal.SIGKILL)
        client.send(session, b"mine\n", viewer=mine)
        with pytest.raises(Conflict, match=before.holder):
            client.send(session, b"no\n")
        held = client.lease(session).lease
        assert held is not None
        assert (held.holder, held.epoch) == (before.holder, before.epoch)
        os.kill(world.supervisor(), signal.SIGKILL)
        assert client.take_lease(session, viewer=token(), ttl_s=LONG_S, force=True).epoch == before.epoch + 1
        until(lambda: world.log(session) == b"ready\r\nmine\r\n")


def test_an_attached_holder_comes_back_to_the_next_supervisor_by_its_secret_alone(world: World) -> None:
    with world.client() as client:
        session = cat(client)
        with attached(world, session, take=True) as view:
            held = view.until("taken")
            os.kill(world.supervisor(), signal.SIGKILL)
            with attached(world, session) as other, attached(world, session, viewer=view.viewer) as again:
                assert other.first.lease is not None
                assert (other.first.yours, other.first.lease.away) == (False, True)
                with pytest.raises(Conflict) as refused:
                    client.send(session, b"no\n", viewer=other.viewer)
                assert refused.value.code == "lease-held"
                assert again.first.yours
                assert again.first.lease is not None
                assert held.lease is not None
                assert (again.first.lease.epoch, again.first.lease.away) == (held.lease.epoch, False)
                client.send(session, b"back\n", viewer=view.viewer)
                until(lambda: world.log(session) == b"ready\r\nback\r\n")


@pytest.mark.parametrize("point", ["lease-decided", "lease-kept"])
def test_a_supervisor_that_dies_in_the_middle_of_a_grant_grants_it_once(world: World, point: str) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        with open(f"{world.state}/failpoints", "w", encoding="ascii") as file:
            file.write(f"{point}=exit")
        taking = world.start("lease", "take", "--lease", mine, session)
        supervisor = world.supervisor()
        until(lambda: not os.path.exists(f"/proc/{supervisor}") or world.supervisor() != supervisor)
        os.unlink(f"{world.state}/failpoints")
        assert taking.communicate(timeout=DEADLINE_S)[0].decode().strip() == mine
        held = client.lease(session).lease
        assert held is not None
        assert client.take_lease(session, viewer=token(), ttl_s=1, force=True).epoch == held.epoch + 1
        client.send(session, b"free\n", lease_wait_s=DEADLINE_S)


def test_what_a_stopped_holder_types_too_late_is_refused(world: World) -> None:
    typist = (
        "import sys, orchctl\n"
        "state, session, viewer = sys.argv[1:]\n"
        "with orchctl.Client(state_dir=state) as client:\n"
        "    client.take_lease(session, viewer=viewer, ttl_s=0.5)\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    try:\n"
        "        client.send(session, b'late\\n', viewer=viewer)\n"
        "        print('typed')\n"
        "    except orchctl.OrchctlError as error:\n"
        "        print(error.code)\n"
    )
    with world.client() as client:
        session = cat(client)
        words = [sys.executable, "-c", typist, world.state, session, token()]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=world.env) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            os.kill(holder.pid, signal.SIGSTOP)
            mine = token()
            client.take_lease(session, viewer=mine, ttl_s=LONG_S, wait_s=DEADLINE_S)
            client.send(session, b"mine\n", viewer=mine)
            os.kill(holder.pid, signal.SIGCONT)
            assert holder.communicate(b"\n", timeout=DEADLINE_S)[0] == b"lease-held\n"
        until(lambda: world.log(session) == b"ready\r\nmine\r\n")


def test_a_killed_mover_and_its_successor_keep_the_fence(world: World) -> None:
    with world.client() as client:
        session = cat(client)
        client.take_lease(session, viewer=token(), ttl_s=LONG_S)
        mine = token()
        client.take_lease(session, viewer=mine, ttl_s=LONG_S, force=True)
        client.send(session, b"one\n", viewer=mine)
        assert world.journal(session).count(b'"fenced"') == 2
        os.kill(_mover(client, session), signal.SIGKILL)
        client.send(session, b"two\n", viewer=mine)
        until(lambda: world.log(session) == b"ready\r\none\r\ntwo\r\n")
        assert world.journal(session).count(b'"fenced"') == 2


def _mover(client: Client, session: str) -> int:
    """The sibling of the session's program: both are children of the keeper."""
    program = client.info(session).pid
    with open(f"/proc/{program}/stat", encoding="ascii") as file:
        keeper = int(file.read().rpartition(")")[2].split()[1])
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        (found,) = {int(pid) for pid in file.read().split()} - {program}
    return found


def test_resizing_goes_with_the_lease(world: World) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        assert client.control(session, "resize", size=(90, 20)).cols == 90
        client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        with pytest.raises(Conflict) as refused:
            client.control(session, "resize", size=(91, 20))
        assert refused.value.code == "lease-held"
        assert client.control(session, "resize", size=(92, 20), viewer=mine).cols == 92


def test_a_viewer_that_only_looks_on_neither_types_nor_gets_the_lease(world: World) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        with attached(world, session, read_only=True, manager="user:reader") as reader:
            with pytest.raises(NotPermitted) as refused:
                client.send(session, b"no\n", viewer=reader.viewer)
            assert refused.value.code == "read-only"
            client.take_lease(session, viewer=mine, ttl_s=LONG_S)
            with pytest.raises(Conflict) as unable:
                client.transfer_lease(session, viewer=mine, to="user:reader")
            assert unable.value.code == "read-only"
            client.kill(session)
            assert reader.until("closed").lease is None
        with pytest.raises(NoSuchSession) as closed:
            client.take_lease(session, viewer=mine, ttl_s=1)
        assert closed.value.code == "session-ended"
        assert client.lease(session).lease is None


def test_what_makes_no_sense_is_refused_with_a_code_of_its_own(world: World) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        held = client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        attempts: list[tuple[type[OrchctlError], str, object]] = [
            (BadInput, "bad-ttl", lambda: client.take_lease(session, viewer=mine, ttl_s=0)),
            (BadInput, "bad-ttl", lambda: client.take_lease(session, viewer=mine, ttl_s=-1)),
            (BadInput, "bad-ttl", lambda: client.take_lease(session, viewer=mine, ttl_s=1e12)),
            (BadInput, "no-ttl", lambda: client.take_lease(session, viewer=mine)),
            (BadInput, "bad-viewer", lambda: client.take_lease(session, viewer="x" * 32, ttl_s=1)),
            (BadInput, "bad-viewer", lambda: client.send(session, b"", viewer=mine.upper() + "0")),
            (BadInput, "bad-duration", lambda: client.send(session, b"", lease_wait_s=-1)),
            (Conflict, "no-such-viewer", lambda: client.transfer_lease(session, viewer=mine, to="nobody")),
            (Conflict, "no-such-viewer", lambda: client.transfer_lease(session, viewer=mine, to=held.holder)),
            (Conflict, "lease-not-held", lambda: client.transfer_lease(session, viewer=token(), to="nobody")),
            (Conflict, "lease-not-held", lambda: client.release_lease(session, viewer=token())),
        ]
        for kind, code, attempt in attempts:
            with pytest.raises(kind) as refused:
                attempt()  # type: ignore[operator]
            assert refused.value.code == code
        now = client.lease(session).lease
        assert now is not None
        assert (now.holder, now.epoch) == (held.holder, held.epoch)


def test_input_and_leases_are_told_with_who_it_was(world: World) -> None:
    with world.client() as client:
        session, mine = cat(client), token()
        held = client.take_lease(session, viewer=mine, ttl_s=LONG_S)
        client.send(session, b"mine\n", viewer=mine)
        events = [event for event in client.events(session) if event["type"] in ("lease", "input")]
        assert [(one["type"], one["who"], one.get("bytes")) for one in events] == [
            ("input", "user", 6), ("lease", "user", None), ("input", "user", 5),
        ]  # fmt: skip
        assert (events[1]["holder"], events[2]["viewer"]) == (held.holder, held.holder)
        folder = Path(world.state) / "sessions" / session
        kept = (folder / "lease.jnl").read_bytes() + world.journal(session)
        assert mine.encode() not in kept
        assert world.run("verify").returncode == 0

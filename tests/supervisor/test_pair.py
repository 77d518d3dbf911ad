"""The supervisor's end of a pair: gone is what the kernel says, never what an interruption of ours suggests."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from orchctl.errors import Conflict
from orchctl.pair import wire
from orchctl.session import layout
from orchctl.supervisor.pair import PairLink

HELLO = wire.frame(wire.HELLO, json.dumps({"protocol": 1}).encode())


def test_a_pair_is_gone_when_nobody_listens_and_not_when_we_stop_listening(tmp_path: Path) -> None:
    async def main() -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / layout.SOCKET))
            listener.listen()
            ours, theirs = socket.socketpair()
            link = PairLink(str(tmp_path), lambda: None)
            theirs.sendall(HELLO)
            tending = asyncio.create_task(link.tend(ours))
            await asyncio.wait_for(link.greeted.wait(), 60)
            tending.cancel()
            await asyncio.wait([tending])
            assert not link.gone.is_set()
            theirs.close()
        ours, theirs = socket.socketpair()
        again = PairLink(str(tmp_path), lambda: None)
        with theirs:
            theirs.sendall(HELLO)
            tending = asyncio.create_task(again.tend(ours))
            await asyncio.wait_for(again.greeted.wait(), 60)
        await asyncio.wait_for(tending, 60)
        assert again.gone.is_set()

    asyncio.run(main())


def test_the_receipt_of_a_pair_that_ended_is_heard_although_it_could_not_be_spoken_to_any_more(tmp_path: Path) -> None:
    once = b"o" * wire.ONCE_BYTES

    async def main() -> tuple[int, int]:
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: None)
        theirs.sendall(HELLO)
        tending = asyncio.create_task(link.tend(ours))
        await asyncio.wait_for(link.greeted.wait(), 60)
        typing = asyncio.create_task(link.type(once, b"go"))
        await asyncio.sleep(0)  # it is asked for now
        theirs.sendall(wire.frame(wire.TYPED, wire.RECEIPT.pack(once, 2, wire.TYPED_ALL)))
        theirs.close()  # with words of ours unread
        link.watch(0)  # fails, before the receipt was read
        receipt = await asyncio.wait_for(typing, 60)
        await asyncio.wait_for(tending, 60)
        return receipt

    assert asyncio.run(main()) == (2, wire.TYPED_ALL)


def test_an_answer_to_a_question_is_no_news(tmp_path: Path) -> None:
    looks: list[None] = []

    async def main() -> tuple[int, int]:
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: looks.append(None))
        theirs.sendall(HELLO)
        tending = asyncio.create_task(link.tend(ours))
        await asyncio.wait_for(link.greeted.wait(), 60)
        before = len(looks)
        for number in range(5):
            looking = asyncio.create_task(link.look())
            await asyncio.sleep(0)
            theirs.sendall(wire.frame(wire.SEEN, json.dumps({"front": number}).encode()))
            assert await asyncio.wait_for(looking, 60) == {"front": number}
        asked = len(looks) - before
        theirs.sendall(wire.frame(wire.JOURNAL))
        theirs.close()
        await asyncio.wait_for(tending, 60)
        return asked, len(looks) - before

    asked, told = asyncio.run(main())
    assert asked == 0
    assert told > 0


def _said(hello: dict[str, object], tmp_path: Path) -> list[tuple[int, bytes]]:
    """What a pair that greets so hears of a fence and two inputs."""
    one, two = b"1" * wire.ONCE_BYTES, b"2" * wire.ONCE_BYTES

    async def main() -> list[tuple[int, bytes]]:
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: None)
        link.fence(6)
        tending = asyncio.create_task(link.tend(ours))
        early = asyncio.create_task(link.type(one, b"early", 6))
        await asyncio.sleep(0)
        theirs.sendall(wire.frame(wire.HELLO, json.dumps(hello).encode()))
        await asyncio.wait_for(link.greeted.wait(), 60)
        link.fence(7)
        answer = asyncio.create_task(link.type(two, b"answer"))
        await asyncio.sleep(0)
        for once in (one, two):
            theirs.sendall(wire.frame(wire.TYPED, wire.RECEIPT.pack(once, 1, wire.TYPED_ALL)))
        await asyncio.wait_for(asyncio.gather(early, answer), 60)
        heard = theirs.recv(1 << 16)
        theirs.close()
        await asyncio.wait_for(tending, 60)
        return [frame for frame in wire.Decoder().feed(heard) if frame[0] != wire.HOLD]

    return asyncio.run(main())


def test_a_pair_that_knows_epochs_is_told_the_fence_before_anything_is_typed(tmp_path: Path) -> None:
    one, two, epoch = b"1" * wire.ONCE_BYTES, b"2" * wire.ONCE_BYTES, wire.OFFSET.pack
    assert _said({"protocol": 1, "features": [wire.FENCING]}, tmp_path) == [
        (wire.FENCE, epoch(6)),
        (wire.INPUT_AT, epoch(6) + one + b"early"),
        (wire.FENCE, epoch(7)),
        (wire.INPUT_AT, epoch(7) + two + b"answer"),
    ]


def test_a_pair_of_an_older_build_is_spoken_to_in_the_words_it_knows(tmp_path: Path) -> None:
    one, two = b"1" * wire.ONCE_BYTES, b"2" * wire.ONCE_BYTES
    assert _said({"protocol": 1}, tmp_path) == [(wire.INPUT, one + b"early"), (wire.INPUT, two + b"answer")]


def test_the_end_of_input_is_said_to_a_pair_that_knows_it_and_again_to_its_next_mover(tmp_path: Path) -> None:
    """A mover that dies before it has answered may have ended nothing."""
    once = b"1" * wire.ONCE_BYTES
    hello = wire.frame(wire.HELLO, json.dumps({"protocol": 1, "features": [wire.FENCING, wire.ENDING]}).encode())

    async def main() -> tuple[int, list[bytes]]:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "pair.sock"))
        listener.listen(1)
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: None)
        tending = asyncio.create_task(link.tend(ours))
        ending = asyncio.create_task(link.end_input(once, 4))
        heard = []
        for answers in (False, True):
            theirs.setblocking(False)
            theirs.sendall(hello)
            words = wire.Decoder()
            while not (
                ends := [payload for kind, payload in words.feed(await _heard(theirs)) if kind == wire.END_INPUT]
            ):
                pass
            heard += ends
            if answers:
                theirs.sendall(wire.frame(wire.TYPED, wire.RECEIPT.pack(once, 0, wire.TYPED_ALL)))
            else:
                theirs.close()
                theirs, _ = await asyncio.to_thread(listener.accept)
        outcome = await asyncio.wait_for(ending, 60)
        listener.close()
        theirs.close()
        (tmp_path / "pair.sock").unlink()
        await asyncio.wait_for(tending, 60)
        return outcome, heard

    assert asyncio.run(main()) == (wire.TYPED_ALL, [wire.OFFSET.pack(4) + once] * 2)


async def _heard(connection: socket.socket) -> bytes:
    return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(connection, 1 << 16), 60)


def test_a_pair_of_an_older_build_is_not_asked_for_the_end_of_input(tmp_path: Path) -> None:
    async def main() -> str:
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: None)
        tending = asyncio.create_task(link.tend(ours))
        theirs.sendall(wire.frame(wire.HELLO, json.dumps({"protocol": 1, "features": [wire.FENCING]}).encode()))
        with pytest.raises(Conflict) as refused:
            await asyncio.wait_for(link.end_input(b"1" * wire.ONCE_BYTES, 0), 60)
        theirs.close()
        await asyncio.wait_for(tending, 60)
        return refused.value.code

    assert asyncio.run(main()) == "older-version"


def _typed_by_two_movers(tmp_path: Path, features: list[str], outcome: int) -> tuple[int, str]:
    """The first mover dies before it answers; how often the second is asked, and the error's code."""
    hello = wire.frame(wire.HELLO, json.dumps({"protocol": 1, "features": features}).encode())
    once = b"1" * wire.ONCE_BYTES

    async def main() -> tuple[int, str]:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "pair.sock"))
        listener.listen(1)
        ours, theirs = socket.socketpair()
        link = PairLink(str(tmp_path), lambda: None)
        tending = asyncio.create_task(link.tend(ours))
        typing = asyncio.create_task(link.type(once, b"a line\n", again=False))
        theirs.setblocking(False)
        theirs.sendall(hello)
        await _heard(theirs)
        theirs.close()
        theirs, _ = await asyncio.to_thread(listener.accept)
        theirs.sendall(hello + wire.frame(wire.TYPED, wire.RECEIPT.pack(once, 3, outcome)))
        code = ""
        try:
            await asyncio.wait_for(typing, 60)
        except Conflict as error:
            code = error.code
        theirs.setblocking(False)
        asked = [kind for kind, _ in wire.Decoder().feed(await _heard(theirs)) if kind == wire.INPUT]
        listener.close()
        theirs.close()
        (tmp_path / "pair.sock").unlink()
        await asyncio.wait_for(tending, 60)
        return len(asked), code

    return asyncio.run(main())


def test_what_must_not_be_typed_again_is_asked_of_the_next_mover_where_that_counts_input(tmp_path: Path) -> None:
    assert _typed_by_two_movers(tmp_path, [wire.TAKEN], wire.TYPED_ALL) == (1, "")


def test_what_must_not_be_typed_again_is_maybe_typed_where_movers_do_not_count(tmp_path: Path) -> None:
    assert _typed_by_two_movers(tmp_path, [], wire.TYPED_ALL) == (0, "maybe-typed")


def test_a_write_in_doubt_is_told_as_maybe_typed(tmp_path: Path) -> None:
    assert _typed_by_two_movers(tmp_path, [wire.TAKEN], wire.TYPED_MAYBE) == (1, "maybe-typed")

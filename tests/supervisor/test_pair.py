"""The supervisor's end of a pair: gone is what the kernel says, never what an interruption of ours suggests."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

from orchctl.core import layout
from orchctl.keeper import wire
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

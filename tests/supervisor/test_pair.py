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

"""Many sessions at once, awaited: every end, every byte, and whoever joins."""

from __future__ import annotations

import asyncio

import pytest

from orchctl import AsyncClient, Chunk, Selection
from orchctl.errors import TimedOut
from tests.world import World


def test_many_sessions_are_waited_for_and_read_as_one(world: World) -> None:
    async def use() -> None:
        async with AsyncClient(state_dir=world.state) as client:
            script = "read x; echo $x; exit $x"
            sessions = [await client.spawn(["sh", "-c", script], name=f"s{n}", managed_by="all") for n in range(5)]
            outputs = await client.outputs(Selection(managers=("all",)), follow=True)
            late = await client.spawn(["sh", "-c", script], name="s5", managed_by="all:below")
            seen: dict[str, bytes] = {}

            async def read() -> None:
                async for reader, piece in outputs:
                    if reader is not None and isinstance(piece, Chunk):
                        name = reader.session.name or ""
                        seen[name] = seen.get(name, b"") + piece.data

            reading = asyncio.create_task(read())
            async with asyncio.timeout(60):
                while len(outputs.readers) < 6:
                    await asyncio.sleep(0.01)
                for number, session in reversed(list(enumerate([*sessions, late]))):
                    await session.send(f"{number}\r".encode())
                ids = [session.id for session in (*sessions, late)]
                codes = {ended.exit_code async for ended in client.wait_each(ids)}
                await reading
            assert codes == set(range(6))
            assert {name: data.split()[-1] for name, data in seen.items()} == {f"s{n}": b"%d" % n for n in range(6)}
            forever = await client.spawn(["sleep", "1000"])
            with pytest.raises(TimedOut):
                _ = [one async for one in client.wait_each([forever.id], timeout_s=0.2)]

    asyncio.run(use())

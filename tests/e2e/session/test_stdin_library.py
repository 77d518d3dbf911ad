"""The stdin of sessions that Python programs start: bytes, files and descriptors, by both clients."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from orchctl import AsyncClient, OrchctlError
from tests.world import World


def test_a_program_hands_over_bytes_files_and_descriptors(world: World, tmp_path: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"from a file")
    with world.client() as client, path.open("rb") as file:
        read, write = os.pipe()
        os.write(write, b"from a pipe")
        os.close(write)
        for stdin, expected in [(b"bytes", b"bytes"), (file, b"from a file"), (read, b"from a pipe"), ("null", b"")]:
            session = client.spawn(["cat"], pty=False, stdin=stdin)
            assert session.wait(timeout_s=60).exit_code == 0
            assert world.log(session.id) == expected
        os.close(read)
        session = client.spawn(["cat"], pty=False, stdin="open")
        session.send(b"typed")
        session.send_eof()
        assert session.wait(timeout_s=60).exit_code == 0
        assert world.log(session.id) == b"typed"
        with pytest.raises(OrchctlError) as refused:
            client.spawn(["cat"], stdin="closed")  # type: ignore[arg-type]
        assert refused.value.code == "bad-stdin"


def test_many_tasks_hand_over_each_its_own_stdin(world: World) -> None:
    async def one(client: AsyncClient, number: int) -> None:
        session = await client.spawn(["cat"], pty=False, stdin=b"%d" % number * 1000)
        await session.wait()
        assert world.log(session.id) == b"%d" % number * 1000

    async def all_of_them() -> None:
        async with AsyncClient(state_dir=world.state) as client:
            await asyncio.gather(*(one(client, number) for number in range(20)))
            session = await client.spawn(["cat"], pty=False, stdin="open")
            await session.send(b"x")
            await session.send_eof()
            assert (await session.wait()).exit_code == 0

    asyncio.run(all_of_them())

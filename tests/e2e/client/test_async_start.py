"""Starting and losing a supervisor, awaited; and starters that do not stay to the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import subprocess

import pytest

from orchctl import AsyncClient
from orchctl.errors import SupervisorUnreachable
from tests.e2e.lifecycle.test_start import one_that_hangs_up
from tests.world import DEADLINE_S, World, processes_of


def test_many_calls_of_many_clients_from_cold_reach_one_supervisor(world: World) -> None:
    async def pids(client: AsyncClient) -> set[int | None]:
        async with client:
            return {status.pid for status in await asyncio.gather(*(client.start_supervisor() for _ in range(10)))}

    async def main() -> set[int | None]:
        clients = [AsyncClient(state_dir=world.state) for _ in range(5)]
        blocking = asyncio.to_thread(world.supervisor)
        found = await asyncio.gather(*map(pids, clients), blocking)
        return set[int | None]().union(*(one if isinstance(one, set) else {one} for one in found))

    assert len(asyncio.run(main())) == 1


def test_one_that_cannot_start_says_why_and_is_tried_again_by_the_next_call(world: World) -> None:
    os.mkdir(world.state, 0o700)
    os.mkdir(f"{world.state}/supervisor.sock")  # a directory where the socket should be

    async def main() -> None:
        async with AsyncClient(state_dir=world.state) as client:
            for answer in await asyncio.gather(client.spawn(["sh"]), client.spawn(["true"]), return_exceptions=True):
                assert isinstance(answer, SupervisorUnreachable)
            os.rmdir(f"{world.state}/supervisor.sock")
            assert (await client.start_supervisor()).running

    asyncio.run(main())


def test_who_came_while_the_supervisor_ended_starts_another(world: World) -> None:
    async def main() -> bool:
        async with AsyncClient(state_dir=world.state) as client:
            return (await client.start_supervisor()).running

    with one_that_hangs_up(world):
        assert asyncio.run(main())


def test_without_autostart_nothing_is_started(world: World) -> None:
    async def main() -> None:
        async with AsyncClient(state_dir=world.state, autostart=False) as client:
            with pytest.raises(SupervisorUnreachable) as error:
                await client.spawn(["true"])
            assert error.value.code == "supervisor-unreachable"
            assert await client.list() == []
            assert (await client.kill_by_manager("user")).ended == ()

    asyncio.run(main())
    assert processes_of(world.folder) == []


def test_whoever_waits_for_a_supervisor_that_is_stopped_is_told_and_starts_no_other(world: World) -> None:
    async def main() -> list[object]:
        async with AsyncClient(state_dir=world.state) as client:
            session = await client.spawn(["sleep", "1000"])
            follower = asyncio.ensure_future(_all(client, session.id))
            waiters = [asyncio.ensure_future(session.wait()) for _ in range(3)]
            await session.wait_for("quiet", quiet_s=0.2)
            async with AsyncClient(state_dir=world.state) as other:
                assert await other.stop_supervisor(leave=True)
            answers = await asyncio.gather(follower, *waiters, return_exceptions=True)
            return [getattr(one, "code", one) for one in answers]

    assert asyncio.run(main()) == ["supervisor-stopped"] * 4
    assert world.run("supervisor", "status").returncode == 1


async def _all(client: AsyncClient, session: str) -> list[object]:
    return [piece async for piece in client.output(session, follow=True)]


def test_a_client_that_is_closed_at_any_step_of_a_call_leaves_nothing_open(world: World) -> None:
    world.supervisor()

    async def main(steps: int) -> str:
        client = AsyncClient(state_dir=world.state)
        calls = [asyncio.ensure_future(client.list()), asyncio.ensure_future(client.status())]
        for _ in range(steps):
            await asyncio.sleep(0)
        await client.close()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert (client._open, client._lines) == (set(), [])
        codes = {getattr(one, "code", "") for one in answers if isinstance(one, BaseException)}
        assert codes <= {"client-closed"}, answers
        return "closed" if codes else "answered"

    gc.collect()  # what earlier tests held must not go meanwhile
    before = len(os.listdir("/proc/self/fd"))
    found = [asyncio.run(main(steps)) for steps in range(40)]
    assert (found[0], len(os.listdir("/proc/self/fd"))) == ("closed", before)


def test_one_client_serves_one_loop_after_the_other(world: World) -> None:
    client = AsyncClient(state_dir=world.state)
    session = asyncio.run(client.spawn(["sleep", "1000"]))
    for _ in range(3):
        assert asyncio.run(session.info()).is_alive
    asyncio.run(client.close())


@pytest.mark.parametrize("seed", range(4))
def test_a_starter_that_is_killed_costs_the_next_one_nothing_but_time(world: World, seed: int) -> None:
    with world.start("supervisor", "start") as starter:
        with contextlib.suppress(subprocess.TimeoutExpired):
            starter.wait(random.Random(seed).uniform(0.05, 0.4))  # anywhere on its way
        starter.send_signal(signal.SIGKILL)
    assert world.run("supervisor", "start", timeout=DEADLINE_S).returncode == 0

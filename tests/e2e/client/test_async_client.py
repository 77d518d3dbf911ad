"""The asynchronous client: the same answers, many at once, and nothing left behind when a task is cancelled."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from orchctl import AsyncClient, AsyncEventStream, Chunk
from orchctl.errors import BadInput, NoSuchSession, OrchctlError, SupervisorUnreachable, TimedOut
from tests.programs import pour, pour_digest
from tests.world import DEADLINE_S, World

T = TypeVar("T")


def run(world: World, body: Callable[[AsyncClient], Awaitable[T]]) -> T:
    """One program; afterwards its process has the descriptors and threads that it had before."""

    async def main() -> T:
        async with asyncio.timeout(DEADLINE_S * 2), AsyncClient(state_dir=world.state) as client:
            return await body(client)

    gc.collect()  # what earlier tests held must not go meanwhile
    before = _held()
    found = asyncio.run(main(), debug=True)
    assert _held() == before
    return found


def _held() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), threading.active_count()


@asynccontextmanager
async def _task(work: Awaitable[T]) -> AsyncIterator[asyncio.Task[T]]:
    """A task that is over afterwards."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _supervisor(client: AsyncClient) -> int:
    pid = (await client.start_supervisor()).pid
    assert pid is not None
    return pid


async def _until_asked(client: AsyncClient, calls: int) -> None:
    """Until so many calls and streams are on their way."""
    while _in_use(client) < calls:
        await asyncio.sleep(0.01)


def _in_use(client: AsyncClient) -> int:
    return sum(len(line._calls) for line in client._lines) + len(client._open) - len(client._idle)


def test_a_session_does_all_that_it_does_when_it_blocks(world: World) -> None:
    os.mkdir(f"{world.folder}/home")

    async def body(client: AsyncClient) -> None:
        assert await client.list() == []
        assert (await client.status()).running is False, "looking starts nothing"
        session = await client.spawn(["bash"], cwd="/", env={"HOME": f"{world.folder}/home"}, name="work")
        result = await session.exec("cd /usr; echo $PWD; (exit 3)", timeout_s=30)
        assert (result.exit_code, result.output, result.completion) == (3, b"/usr\n", "marks")
        assert (await session.exec("cat", stdin=b"x" * 600_000)).output == b"x" * 600_000
        assert [command.exit_code for command in await session.history()] == [3, 0]
        assert await session.wait_for("prompt", "exit") == "prompt"
        await session.send(b"echo typed$((1 + 1))\r")
        assert (await session.wait_for_output("typed2"))[0] == b"typed2"
        assert (await client.session("work")).id == session.id
        assert [one.id for one in await client.list()] == [session.id]
        assert (await session.info()).is_alive
        await session.send(b"exit 4\r")
        assert (await session.wait(timeout_s=60)).exit_code == 4
        assert (await session.kill()).already_ended == (session.id,)
        types = [event["type"] async for event in client.events(session.id) if event["type"] != "input"]
        assert (types[0], types[-1], types.count("command")) == ("session.state", "session.state", 4)
        assert (await client.restart_supervisor()).old_pid is not None
        assert await client.stop_supervisor(kill=True) is True
        assert await client.stop_supervisor() is False

    run(world, body)


def test_errors_are_the_same_exceptions_with_the_same_codes(world: World) -> None:
    async def body(client: AsyncClient) -> list[tuple[type, str]]:
        found = []
        session = await client.spawn(["sleep", "1000"], name="one")
        for wrong in (
            client.info("nobody"),
            client.spawn(["true"], name="one"),
            client.spawn(["/nowhere/at/all"]),
            client.wait(session.id, timeout_s=0.2),
            client.wait_for_output(session.id, "never", timeout_s=0.2),
            client.wait_for_output(session.id, "(", timeout_s=0.2),
        ):
            with pytest.raises(OrchctlError) as error:
                await wrong
            found.append((error.type, error.value.code))
        return found

    assert [(kind.__name__, code) for kind, code in run(world, body)] == [
        ("NoSuchSession", "no-such-session"),
        ("Conflict", "name-taken"),
        ("CommandNotFound", "command-not-found"),
        ("TimedOut", "timed-out"),
        ("TimedOut", "timed-out"),
        ("BadInput", "bad-pattern"),
    ]


def test_more_calls_at_once_than_the_supervisor_has_connections(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        session = await client.spawn(["sh", "-c", "read go; exit 3"])
        waits = [asyncio.ensure_future(session.wait()) for _ in range(400)]
        await _until_asked(client, 400)
        assert {one.id for one in await asyncio.gather(*(session.info() for _ in range(400)))} == {session.id}
        for wait in waits[::2]:
            wait.cancel()
        await session.send(b"go\n")
        assert {ended.exit_code for ended in await asyncio.gather(*waits[1::2])} == {3}
        assert all(wait.cancelled() for wait in waits[::2])
        assert await client.list() == []
        assert (_in_use(client), len(client._lines)) == (0, 1)

    run(world, body)


def test_large_requests_and_small_ones_do_not_get_mixed_up(world: World) -> None:
    env = {f"V{number}": "x" * 60_000 for number in range(8)}

    async def body(client: AsyncClient) -> None:
        spawns = [
            asyncio.ensure_future(client.spawn(["sh", "-c", "echo ${#V0} ${#V7}"], env=env, size=(200, 50)))
            for _ in range(12)
        ]
        infos = [asyncio.ensure_future(client.status()) for _ in range(12)]
        await asyncio.sleep(0)
        for task in [*spawns[::3], *infos[::3]]:
            task.cancel()  # perhaps while half of it is sent
        sessions = await asyncio.gather(*(task for number, task in enumerate(spawns) if number % 3))
        for session in sessions:
            await session.wait()
            pieces = [piece async for piece in session.output()]
            assert b"".join(piece.data for piece in pieces if isinstance(piece, Chunk)) == b"60000 60000\r\n"

    run(world, body)


def test_many_calls_at_once_each_get_their_own_answer(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        sessions = await asyncio.gather(
            *(client.spawn(["sh", "-c", f"read go; echo {number}; exit {number}"]) for number in range(30))
        )
        waits = [asyncio.ensure_future(session.wait()) for session in sessions]
        infos = await asyncio.gather(*(client.info(session.id) for session in sessions for _ in range(3)))
        assert [info.id for info in infos] == [session.id for session in sessions for _ in range(3)]
        await asyncio.gather(*(session.send(b"go\n") for session in reversed(sessions)))
        assert [ended.exit_code for ended in await asyncio.gather(*waits)] == list(range(30))

    run(world, body)


def test_a_cancelled_call_costs_nobody_an_answer_and_no_connection(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        one = await client.spawn(["sh", "-c", "read go; exit 5"])
        for _ in range(5):  # more than the connections that are kept
            async with _task(one.wait()) as cancelled, _task(one.wait()) as other:
                await _until_asked(client, 2)
                cancelled.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await cancelled
                assert (await one.info()).is_alive
                assert not other.done()
        assert (_in_use(client), len(client._lines)) == (0, 1)
        async with _task(one.wait()) as last:
            await one.send(b"go\n")
            assert (await last).exit_code == 5

    run(world, body)


def test_a_call_that_is_cancelled_at_any_step_leaves_the_client_whole(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        session = await client.spawn(["sleep", "1000"])
        for steps in range(30):
            async with _task(client.info(session.id)) as task:
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled() or task.result().id == session.id
            assert (await client.list())[0].id == session.id
        assert (_in_use(client), len(client._lines)) == (0, 1)

    run(world, body)


def test_a_cancelled_start_leaves_no_zombie_and_the_next_call_finds_a_supervisor(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        async with _task(client.start_supervisor()) as task:
            while not os.path.exists(f"{world.state}/start.lock"):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            task.cancel()
        assert (await client.start_supervisor()).running
        while _children():
            await asyncio.sleep(0.01)

    run(world, body)


def _children() -> str:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return file.read().strip()


def test_a_cancelled_exec_takes_its_command_along(world: World) -> None:
    os.mkdir(f"{world.folder}/home")

    async def body(client: AsyncClient) -> None:
        session = await client.spawn(["bash"], env={"HOME": f"{world.folder}/home"})
        async with _task(session.exec("echo begun; sleep 1000")) as task:
            await session.wait_for_output("begun", timeout_s=DEADLINE_S)
            task.cancel()
        assert (await session.exec("echo free", wait_prompt_s=DEADLINE_S)).output == b"free\n"
        assert [command.exit_code == 0 for command in await session.history()] == [False, True]

    run(world, body)


def test_output_survives_killed_supervisors_byte_for_byte(world: World) -> None:
    total = 3_000_000

    async def body(client: AsyncClient) -> tuple[str, int]:
        session = await client.spawn(pour(total, seed=7, bytes_per_s=1_000_000))
        digest, kills, next_kill = hashlib.sha256(), 0, 300_000
        stream = session.output(follow=True)
        at = 0
        async for piece in stream:
            assert isinstance(piece, Chunk)
            assert piece.offset == at
            at = piece.end
            digest.update(piece.data)
            if at > next_kill:
                os.kill(await _supervisor(client), signal.SIGKILL)
                kills, next_kill = kills + 1, next_kill + 600_000
        assert stream.session is not None
        assert stream.session.exit_code == 0
        return digest.hexdigest(), kills

    digest, kills = run(world, body)
    assert digest == pour_digest(total, seed=7)
    assert kills >= 4


def test_calls_waiting_and_calls_under_way_survive_a_killed_supervisor(world: World) -> None:
    os.mkdir(f"{world.folder}/home")

    async def body(client: AsyncClient) -> None:
        shell = await client.spawn(["bash"], env={"HOME": f"{world.folder}/home"})
        other = await client.spawn(["sh", "-c", "read go; exit 6"])
        ran = f"{world.folder}/ran"
        async with (
            _task(other.wait()) as ended,
            _task(shell.exec(f"echo one >> {ran}; read go < {world.folder}/fifo; echo done")) as done,
        ):
            os.mkfifo(f"{world.folder}/fifo")
            while not os.path.exists(ran):
                await asyncio.sleep(0.01)
            for _ in range(3):
                os.kill(await _supervisor(client), signal.SIGKILL)
                assert len(await client.list()) == 2
            await asyncio.to_thread(_write, f"{world.folder}/fifo")
            assert (await done).output == b"done\n"
            await other.send(b"go\n")
            assert (await ended).exit_code == 6
        with open(ran, encoding="ascii") as file:
            assert file.read() == "one\n", "the command has run once"

    async def main() -> None:
        async with asyncio.timeout(DEADLINE_S * 2), AsyncClient(state_dir=world.state) as client:
            await body(client)

    asyncio.run(main())


def _write(path: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write("go\n")


def test_a_stream_that_is_left_or_closed_lets_go_of_its_connection(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        session = await client.spawn(["sh", "-c", "echo first; read go; echo second"])
        async for _ in session.output(follow=True):
            break
        stream = session.output(follow=True)
        async for _ in stream:
            stream.close()
        waiting, seen = client.events(follow=True), asyncio.Event()
        async with _task(_count(waiting, seen)) as task:
            await seen.wait()
            waiting.close()
            assert await task >= 1
        while _in_use(client):
            await asyncio.sleep(0.01)

    run(world, body)


async def _count(stream: AsyncEventStream, seen: asyncio.Event) -> int:
    count = 0
    async for _ in stream:
        count += 1
        seen.set()
    return count


async def _collect(stream: object) -> list[object]:
    return [one async for one in stream]  # type: ignore[attr-defined]


def test_closing_the_client_ends_what_waits_on_it(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        session = await client.spawn(["sleep", "1000"])
        async with _task(session.wait()) as wait, _task(_collect(session.output(follow=True))) as output:
            await _until_asked(client, 2)
            await client.close()
            for task in (wait, output):
                with pytest.raises(SupervisorUnreachable) as error:
                    await task
                assert error.value.code == "client-closed"
        with pytest.raises(SupervisorUnreachable):
            await client.info(session.id)

    run(world, body)


def test_the_loop_goes_on_while_output_pours(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        session = await client.spawn(pour(20_000_000, seed=3))
        await session.wait()
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with _task(count()):
            pieces = [piece async for piece in session.output()]
        assert sum(len(piece.data) for piece in pieces if isinstance(piece, Chunk)) == 20_000_000
        assert turns > 20

    run(world, body)


def test_bad_input_is_refused_before_anything_is_asked(world: World) -> None:
    async def body(client: AsyncClient) -> None:
        with pytest.raises(BadInput):
            await client.spawn(["true"], managed_by="::")
        with pytest.raises(TimedOut):
            await (await client.spawn(["sleep", "9"])).wait(timeout_s=0)
        with pytest.raises(NoSuchSession):
            _ = [one async for one in client.output("nobody")]

    run(world, body)

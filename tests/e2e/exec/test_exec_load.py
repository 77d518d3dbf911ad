"""exec under load and under kills: none wrong, none lost, in order of arrival."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

from orchctl import Client
from tests.world import World


def _bash(world: World, client: Client, **options: object) -> str:
    home = f"{world.folder}/home"
    os.makedirs(home, exist_ok=True)
    return client.spawn(["bash"], cwd=home, env={"HOME": home}, **options).id  # type: ignore[arg-type]


def test_a_thousand_commands_in_one_session(world: World) -> None:
    with world.client() as client:
        session = _bash(world, client)
        for number in range(1000):
            result = client.exec(session, f"n=$((n + 1)); echo {number} $n; (exit {number % 256})")
            assert (result.exit_code, result.output) == (number % 256, b"%d %d\n" % (number, number + 1))
        assert [command.number for command in client.history(session)] == list(range(1, 1001))


def test_forty_sessions_run_twenty_commands_each_at_once(world: World) -> None:
    with world.client() as client:
        sessions = [_bash(world, client) for _ in range(40)]

    def work(index: int) -> list[tuple[int | None, bytes]]:
        with world.client() as own:
            return [
                (result.exit_code, result.output)
                for number in range(20)
                for result in [own.exec(sessions[index], f"echo {index}.{number}; (exit {number})")]
            ]

    with ThreadPoolExecutor(40) as pool:
        for index, results in enumerate(pool.map(work, range(40))):
            assert results == [(number, b"%d.%d\n" % (index, number)) for number in range(20)]


def test_a_hundred_callers_of_one_session_are_served_one_after_another_in_order_of_arrival(world: World) -> None:
    with world.client() as client:
        session = _bash(world, client)
        client.exec(session, "first=; list=()")

    def work(number: int) -> tuple[int, int | None, bytes]:
        with world.client() as own:
            result = own.exec(session, f"list+=({number}); echo {number}; (exit {number})")
            return number, result.exit_code, result.output

    with ThreadPoolExecutor(100) as pool:
        results = list(pool.map(work, range(100)))
    assert results == [(number, number, b"%d\n" % number) for number in range(100)]
    with world.client() as client:
        commands = client.history(session)[1:]
        run = client.exec(session, "echo ${list[*]}").output.split()
    assert [command.text.split("echo ")[1].split(";")[0].encode() for command in commands] == run
    assert len(set(run)) == 100
    numbers = [command.number for command in commands]  # given when it arrived
    assert numbers == sorted(numbers)
    starts = [command.start_offset for command in commands]
    assert starts == sorted(starts)


def test_a_hundred_megabytes_are_exact(world: World) -> None:
    with world.client() as client:
        session = _bash(world, client)
        result = client.exec(session, "seq 1 12700000; (exit 3)")
    digest = hashlib.sha256()
    for start in range(1, 12_700_001, 100_000):
        digest.update(b"".join(b"%d\n" % line for line in range(start, min(start + 100_000, 12_700_001))))
    assert len(result.output) > 100_000_000
    assert (result.exit_code, result.newlines) == (3, "mapped")
    assert hashlib.sha256(result.output).hexdigest() == digest.hexdigest()


def test_commands_are_right_while_the_supervisor_is_killed_twenty_times(world: World) -> None:
    with world.client() as client:
        session = _bash(world, client)
        client.exec(session, "n=0")
    done = threading.Event()

    def kill_twenty_times() -> None:
        for _ in range(20):
            pid = world.supervisor()
            threading.Event().wait(0.05)
            os.kill(pid, signal.SIGKILL)
        done.set()

    killer = threading.Thread(target=kill_twenty_times)
    killer.start()
    number = 0
    with world.client() as client:
        while not done.is_set() or number < 20:
            number += 1
            text = f"n=$((n + 1)); echo begin $n; read -t 0.02 x <> <(:); echo end {number}; (exit {number % 200})"
            result = client.exec(session, text)
            assert (result.exit_code, result.output) == (number % 200, b"begin %d\nend %d\n" % (number, number))
        killer.join()
        assert client.exec(session, "echo $n").output == b"%d\n" % number
        assert [command.number for command in client.history(session)] == list(range(1, number + 3))


def test_a_long_command_with_output_goes_on_through_kills(world: World) -> None:
    with world.client() as client:
        session = _bash(world, client)
    results = []

    def work() -> None:
        with world.client() as own:
            results.append(
                own.exec(session, "for i in {1..300}; do echo line $i; read -t 0.01 x <> <(:); done; (exit 5)")
            )

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(5):
        pid = world.supervisor()
        threading.Event().wait(0.3)
        os.kill(pid, signal.SIGKILL)
    worker.join(120)
    assert results[0].exit_code == 5
    assert results[0].output == b"".join(b"line %d\n" % line for line in range(1, 301))

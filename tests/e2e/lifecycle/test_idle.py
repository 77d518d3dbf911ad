"""A supervisor that nobody needs ends by itself, and whoever comes at that very moment does not notice."""

from __future__ import annotations

import os
import random
import signal
import threading

from tests.world import DEADLINE_S, World, processes_of, until


def _configure(world: World, idle_exit: str) -> None:
    os.makedirs(world.state, mode=0o700, exist_ok=True)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write(f'idle_exit = "{idle_exit}"\n')


def test_with_no_session_and_no_client_supervisor_and_zygote_end_and_leave_no_socket(world: World) -> None:
    _configure(world, "1s")
    world.ok("spawn", "--wait", "true")
    until(lambda: processes_of(world.folder) == [])
    assert not [name for name in os.listdir(world.state) if name.startswith("supervisor.sock")]
    assert world.run("spawn", "--wait", "sh", "-c", "exit 4").returncode == 4


def test_a_live_session_or_a_connected_client_keeps_it(world: World) -> None:
    _configure(world, "300ms")
    with world.client() as client:
        session = client.spawn(["sh", "-c", "read line; exit 2"]).id
        pid = client.status().pid
    threading.Event().wait(1.0)  # time enough to end by mistake
    with world.client() as client:
        assert client.status().pid == pid
        client.send(session, b"on\n")
        assert client.wait(session).exit_code == 2
        threading.Event().wait(1.0)
        assert client.status().pid == pid
    until(lambda: processes_of(world.folder) == [])


def test_never_means_never(world: World) -> None:
    _configure(world, "0s")
    pid = world.supervisor()
    threading.Event().wait(1.0)
    assert world.supervisor() == pid


def test_clients_that_come_while_it_ends_are_all_served(world: World, long_form: bool) -> None:
    _configure(world, "20ms")
    failed: list[Exception] = []
    pids: set[int | None] = set()

    def come_and_go(seed: int) -> None:
        rnd = random.Random(seed)
        for _ in range(1000 if long_form else 40):
            threading.Event().wait(0.02 + rnd.random() * 0.1)
            try:
                with world.client() as client:
                    pids.add(client.start_supervisor().pid)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test must name it
                failed.append(error)

    threads = [threading.Thread(target=come_and_go, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S * 10)
    assert failed == []
    assert len(pids) > 5, "it has ended and come back many times"


def test_one_killed_while_it_was_about_to_end_is_found_again(world: World) -> None:
    pid = world.supervisor()
    os.rename(f"{world.state}/supervisor.sock", f"{world.state}/supervisor.sock.idle")
    os.kill(pid, signal.SIGKILL)
    until(lambda: os.path.exists(f"{world.state}/supervisor.sock"))
    assert world.supervisor() != pid

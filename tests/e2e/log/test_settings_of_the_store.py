"""`config.toml` in the state directory: what it says is done, and what is wrong in it is said."""

from __future__ import annotations

import os

from tests.world import World


def _configure(world: World, text: str) -> None:
    os.makedirs(world.state, mode=0o700, exist_ok=True)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write(text)


def test_strict_durability_changes_no_answer(world: World) -> None:
    _configure(world, 'durability = "strict"\n')
    world.env |= {"HOME": world.folder}
    assert world.ok("spawn", "--follow", "--", "seq", "1", "5").split() == ["1", "2", "3", "4", "5"]
    world.ok("spawn", "--name", "w", "-w", "/", "bash")
    for number in range(5):
        assert world.ok("exec", "w", f"echo {number}; exit_with() {{ return {number}; }}") == str(number)
    assert world.run("exec", "w", "exit_with").returncode == 4
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 6").returncode == 6


def test_what_is_wrong_is_said_and_the_rest_is_done(world: World) -> None:
    _configure(world, 'durability = "never"\nsurprise = 1\n[retention]\nsession = "32K"\n')
    world.ok("spawn", "--wait", "--", "seq", "1", "20000")
    status = world.json("supervisor", "status")
    assert len(status["problems"]) == 2
    assert "durability" in status["problems"][0]
    assert "surprise" in status["problems"][1]
    (session,) = world.json("list", "-a")
    assert session["output"]["kept_bytes"] <= 32 << 10
    assert b"surprise" in world.run("supervisor", "status").stdout


def test_a_file_that_cannot_be_read_is_as_none(world: World) -> None:
    _configure(world, "this is no TOML\n")
    assert world.ok("spawn", "--follow", "echo", "hi") == "hi"
    assert len(world.json("supervisor", "status")["problems"]) == 1

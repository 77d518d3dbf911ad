"""What programs may rely on: the names and parameters of the library, its types, and its exceptions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import orchctl
from orchctl import errors
from orchctl.client.connection import ConnectionLost
from orchctl.client.start import NotRunning
from tests.generate.public_api import PINNED, described
from tests.world import World

PROGRAM = """
import asyncio
from orchctl import AsyncClient, Chunk, Client, errors

def block() -> None:
    with Client() as client:
        reveal_type(client.spawn(["bash"]).exec("true").exit_code)
        reveal_type(client.output("x"))
        client.spawn(["bash"], nmae="typo")
        code: str = client.kill("x")
        client.list(managed_by=3)

async def wait() -> None:
    async with AsyncClient.ephemeral() as client:
        reveal_type(client.list())
        reveal_type((await client.spawn(["bash"])).id)
        async for piece in client.output("x", follow=True):
            reveal_type(piece)
        await client.kill("x", grace_s="soon")
        client.info("x").state
        await client.info("x", evn=True)
        name: int = await client.rename("x", None)
    reveal_type(errors.NoSuchSession.exit_status)
"""
SEEN = [
    'Revealed type is "int | None"',
    'Revealed type is "orchctl.client.streams.OutputStream"',
    'Unexpected keyword argument "nmae"',
    'Incompatible types in assignment (expression has type "KillReport", variable has type "str")',
    'Argument "managed_by" has incompatible type "int"; expected "str | None"',
    'Value of type "Coroutine[Any, Any, list[Session]]" must be used',
    'Revealed type is "Coroutine[Any, Any, list[orchctl.session.model.Session]]"',
    'Revealed type is "str"',
    'Revealed type is "orchctl.session.stream.Chunk | orchctl.session.stream.Gap"',
    'Argument "grace_s" has incompatible type "str"; expected "float"',
    '"Coroutine[Any, Any, Session]" has no attribute "state"',
    'Unexpected keyword argument "evn"',
    'Incompatible types in assignment (expression has type "Session", variable has type "int")',
    'Revealed type is "int"',
]


def test_what_is_public_is_as_it_is_written_down() -> None:
    assert described() == PINNED.read_text(), "if it is meant, 'python -m tests.generate' writes it down"


def test_every_public_name_is_there_and_nothing_else_is_made_up() -> None:
    assert sorted(orchctl.__all__) == orchctl.__all__
    assert all(getattr(orchctl, name) is not None for name in orchctl.__all__)
    with pytest.raises(AttributeError):
        _ = orchctl.nothing


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, orchctl; print(sorted(name for name in sys.modules if name.startswith('orchctl')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "['orchctl', 'orchctl.version']"


def test_a_strictly_typed_program_sees_real_signatures(tmp_path: Path) -> None:
    assert os.path.exists(os.path.join(os.path.dirname(orchctl.__file__), "py.typed"))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = ["--strict", "--no-error-summary", "--hide-error-context", "--cache-dir", os.devnull, "--config-file", ""]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, str(program)], capture_output=True, check=False, text=True, cwd=tmp_path
    )
    lines = done.stdout.replace("builtins.", "").replace("typing.", "").splitlines()
    told = [line.partition(": ")[2] for line in lines if ": error: " in line or "Revealed type" in line]
    assert [line.partition(": ")[2].rpartition("  [")[0] or line.partition(": ")[2] for line in told] == SEEN, told


def test_errors_of_the_library_are_those_of_the_command_line(world: World) -> None:
    with world.client() as client:
        client.spawn(["sleep", "1000"], name="one")
        wrong: list[tuple[Callable[[], object], list[str]]] = [
            (lambda: client.info("nobody"), ["info", "nobody"]),
            (lambda: client.spawn(["true"], name="one"), ["spawn", "--name", "one", "true"]),
            (lambda: client.spawn(["/nowhere"]), ["spawn", "/nowhere"]),
            (lambda: client.spawn(["/"]), ["spawn", "/"]),
            (lambda: client.spawn(["true"], cwd="/nowhere"), ["spawn", "-w", "/nowhere", "true"]),
            (lambda: client.spawn(["true"], managed_by="a::b"), ["spawn", "-m", "a::b", "true"]),
            (client.stop_supervisor, ["supervisor", "stop"]),
        ]
        for call, words in wrong:
            with pytest.raises(errors.OrchctlError) as raised:
                call()
            at = 2 if words[0] == "supervisor" else 1
            done = world.run(*words[:at], "--json", *words[at:])
            assert json.loads(done.stderr)["code"] == raised.value.code, words
            assert done.returncode == raised.value.exit_status, words
            assert getattr(errors, type(raised.value).__name__) is type(raised.value)


@pytest.mark.parametrize("kind", [ConnectionLost, NotRunning])
def test_an_error_that_is_not_public_has_a_public_parent_to_catch(kind: type[errors.OrchctlError]) -> None:
    assert kind.__bases__ == (errors.SupervisorUnreachable,)

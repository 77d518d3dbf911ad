"""What somebody asks to be started, where a zygote of an older version is to start it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from orchctl.errors import OrchctlError
from orchctl.protocol.messages import SpawnSession
from orchctl.supervisor.spawn import with_stdin
from orchctl.supervisor.zygote import FEATURES_S, ZygoteLink


def _asked(stdin: str, backend: str = "pipe") -> SpawnSession:
    return SpawnSession(session_id="x", command=("cat",), cwd="/", env={}, stdin=stdin, backend=backend)


def _settled(asked: SpawnSession, handed: int | None, *, able: bool) -> str:
    async def zygote_can(feature: str) -> bool:
        assert feature == "stdin"
        return able

    try:
        return asyncio.run(with_stdin(asked, handed, zygote_can)).stdin
    except OrchctlError as error:
        return error.code


@pytest.mark.parametrize(
    ("stdin", "handed", "able", "expected"),
    [
        ("open", None, False, "open"),
        ("null", None, True, "null"),
        ("null", None, False, "open"),  # as that version did
        ("handed", 0, True, "handed"),
        ("handed", 0, False, "older-version"),
        ("handed", None, True, "bad-stdin"),
    ],
)
def test_a_stdin_that_the_zygote_does_not_know(stdin: str, handed: int | None, able: bool, expected: str) -> None:
    assert _settled(_asked(stdin), handed, able=able) == expected


def test_an_agent_is_handed_no_stdin() -> None:
    assert _settled(_asked("handed", "codex"), 0, able=True) == "bad-stdin"


@pytest.mark.parametrize("answer", [b"features stdin\n", b"features stdin more\n", b"features other\n", None])
def test_a_zygote_is_asked_once_what_its_keepers_know(answer: bytes | None) -> None:
    """One that says nothing is of the first version."""

    async def main() -> tuple[list[bool], bytes]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        link = ZygoteLink("/nowhere", ours, -1, ours)
        asking = [asyncio.create_task(link.can("stdin")) for _ in range(3)]
        await asyncio.sleep(0)
        asked = theirs.recv(4096)
        if answer is not None:
            link._hear(answer)
        found = list(await asyncio.wait_for(asyncio.gather(*asking), FEATURES_S + 60))
        ours.close()
        theirs.close()
        return found, asked

    found, asked = asyncio.run(main())
    assert found == [answer is not None and b"stdin" in answer] * 3
    assert asked == b"features\n"

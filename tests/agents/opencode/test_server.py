"""Servers that are not to be trusted, and conversations begun, resumed and let go, on a server of our own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from orchctl.agents.interface import Opening, Prompt
from orchctl.session.events import Closed, Delivered, NotOpened, Opened, Refused, TurnEnd
from tests.agents.opencode.hosting import MemoryHost, attended
from tests.agents.opencode.scenes import HERE, THERE, begun, host_of, idle
from tests.agents.opencode.stub import Stub

# -- trust


def test_a_server_that_lets_in_whoever_has_no_password_is_refused(stub: Stub) -> None:
    async def scene() -> None:
        stub.lets_in_everybody = True
        host = host_of(stub)
        async with attended(host):
            await host.until(lambda: host.why or None)
        assert "no password" in host.why[0]
        assert host.versions == []

    asyncio.run(scene())


def test_nothing_is_said_to_a_port_before_our_server_says_that_it_listens(stub: Stub) -> None:
    async def scene() -> None:
        printed = [b""]
        host = MemoryHost(stub.notes, lambda: printed[0])
        looked = asyncio.Event()

        def stdout() -> bytes:
            looked.set()
            return printed[0]

        host._printed = stdout
        async with attended(host):
            await looked.wait()
            assert stub.asked == []
            printed[0] = b"Warning\nopencode server listening on http://127.0.0.1:1\n"
            await host.until(lambda: host.versions or None)
        assert host.versions == ["1.18.33"]

    asyncio.run(scene())


@pytest.mark.parametrize("path", ["/global/health", "/config/providers", "/session"])
@pytest.mark.parametrize("data", [b"<html>", b"[1, 2", b'"text"', b"7"])
def test_a_server_that_answers_garbage_is_of_no_use_or_says_why(stub: Stub, path: str, data: bytes) -> None:
    async def scene() -> None:
        stub.garbage[path] = data
        host = host_of(stub)
        async with attended(host):
            await host.until(lambda: host.versions or host.why or None)
            if not host.why:
                host.server.open(Opening(session="s1", cwd=HERE))
                await host.until(lambda: bool(host.why or host.of(NotOpened, "s1")))
        assert host.of(Opened, "s1") == []

    asyncio.run(scene())


@pytest.mark.parametrize(
    "data",
    [b"nonsense\n\n", b"data: {\n\n", b"data: 7\n\n", b'data: {"type":"brand.new"}\n\n', b"data: [1\ndata: ,2]\n\n"],
)
def test_garbage_on_the_stream_is_kept_in_one_line_and_changes_nothing(stub: Stub, data: bytes) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            native = await begun(host, stub)
            stub.push_raw(data)
            idle(stub, native)
            assert (await host.ended("s1", 1)).end is TurnEnd.COMPLETED
        assert host.why == []

    asyncio.run(scene())


def test_a_server_that_hangs_is_given_up(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub, answer_s=5.0)
        async with attended(host):
            assert isinstance(await host.opened("s1", HERE), Opened)
            stub.hang.add("/session/ses_0/prompt_async")
            host.server.send("s1", Prompt(text="go", once="p1"))
            await host.until(lambda: host.why or None)
        assert "no answer to POST /session/ses_0/prompt_async" in host.why[0]
        assert not host.of(Delivered, "s1")
        assert not host.of(Refused, "s1")

    asyncio.run(scene())


def test_a_stream_that_cannot_be_had_makes_the_server_useless(stub: Stub) -> None:
    async def scene() -> None:
        stub.fail["/event"] = 500
        host = host_of(stub, tries=2)
        async with attended(host):
            host.server.open(Opening(session="s1", cwd=HERE))
            await host.until(lambda: host.why or None)
        assert "status 500" in host.why[0]

    asyncio.run(scene())


def test_a_stream_that_falls_silent_and_does_not_come_back_makes_the_server_useless(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub, silence_s=3.0)
        async with attended(host):
            assert isinstance(await host.opened("s1", HERE), Opened)
            stub.hang.add("/event")
            await host.until(lambda: host.why or None)
        assert "stream of events broke (ReadTimeout)" in host.why[0]

    asyncio.run(scene())


# -- conversations


def test_a_conversation_bears_our_id_and_a_title(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("0123456789", HERE, tools_env={"ORCHCTL_SESSION": "0123456789"})
        told = {"ORCHCTL_SESSION": "0123456789"}
        assert stub.sessions["ses_0"]["metadata"] == {"orchctl": "0123456789", "orchctl_env": told}
        assert stub.sessions["ses_0"]["title"] == "orchctl 01234567"

    asyncio.run(scene())


def test_a_resumed_conversation_bears_the_marks_of_its_new_session_beside_those_of_others(stub: Stub) -> None:
    async def scene() -> None:
        old = {"orchctl": "s0", "orchctl_env": {"ORCHCTL_SESSION": "s0"}, "theirs": 1}
        stub.sessions["ses_9"] = {"id": "ses_9", "directory": HERE, "metadata": old}
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE, native={"id": "ses_9"}, tools_env={"ORCHCTL_SESSION": "s1"})
        marks = {"orchctl": "s1", "orchctl_env": {"ORCHCTL_SESSION": "s1"}, "theirs": 1}
        assert [one for one in stub.asked if one[0] == "PATCH"] == [("PATCH", "/session/ses_9", {"metadata": marks})]

    asyncio.run(scene())


def test_a_directory_is_named_as_the_server_names_it(stub: Stub, tmp_path: Path) -> None:
    async def scene() -> None:
        real, link = tmp_path / "real", tmp_path / "link"
        real.mkdir()
        link.symlink_to(real)
        host = host_of(stub)
        async with attended(host):
            opened = await host.opened("s1", f"{link}/")
            assert isinstance(opened, Opened)
        assert opened.native["directory"] == str(real)
        assert stub.sessions["ses_0"]["directory"] == str(real)

    asyncio.run(scene())


def test_opening_again_finds_what_was_begun_and_never_heard_of(stub: Stub) -> None:
    async def scene() -> None:
        for _ in range(2):
            host = host_of(stub)
            async with attended(host):
                opened = await host.opened("s1", HERE)
                assert isinstance(opened, Opened)
                assert opened.native == {"id": "ses_0", "directory": HERE}
        assert list(stub.sessions) == ["ses_0"]

    asyncio.run(scene())


def test_a_conversation_is_resumed_only_where_it_is_and_by_one_session(stub: Stub) -> None:
    async def scene() -> None:
        stub.sessions["ses_9"] = {"id": "ses_9", "directory": HERE}
        host = host_of(stub)
        async with attended(host):
            found = [
                await host.opened("s1", HERE, native={"id": "ses_none"}),
                await host.opened("s1", HERE, native={"id": "../config"}),
                await host.opened("s1", THERE, native={"id": "ses_9"}),
                await host.opened("s1", HERE, native={"id": "ses_9"}),
                await host.opened("s2", HERE, native={"id": "ses_9"}),
            ]
        codes = [one.code if isinstance(one, NotOpened) else one.native["id"] for one in found]
        assert codes == ["no-conversation", "no-conversation", "wrong-directory", "ses_9", "conversation-in-use"]

    asyncio.run(scene())


def test_a_model_that_is_not_there_is_refused_with_those_that_are(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            refused = await host.opened("s1", HERE, model="fake/fake-9")
            assert isinstance(refused, NotOpened)
            assert (refused.code, "fake/fake-1" in refused.message) == ("unknown-model", True)
            stub.garbage["/config/providers"] = b'{"providers": []}'
            refused = await host.opened("s2", HERE)
            assert isinstance(refused, NotOpened)
            assert refused.code == "no-model"
        assert stub.sessions == {}

    asyncio.run(scene())


def test_the_last_to_leave_a_directory_has_it_cleared_and_no_one_else(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE)
            await host.opened("s2", HERE)
            host.server.close("s1")
            await host.until(lambda: host.of(Closed, "s1") or None)
            assert stub.did("POST", "/instance/dispose") == 0
            host.server.close("s2")
            await host.until(lambda: host.of(Closed, "s2") or None)
            assert stub.did("POST", "/instance/dispose") == 1
            assert isinstance(await host.opened("s3", HERE), Opened)

    asyncio.run(scene())

"""The backend's own I/O, on a server that does what a test wants, and what no real one should."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchctl.backends.interface import Opening, Prompt, Reply
from orchctl.backends.opencode.http import Patience
from orchctl.model.happening import (
    Answered,
    Closed,
    Delivered,
    NeedsInput,
    NotOpened,
    Opened,
    Refused,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
)
from tests.harness.opencode.hosting import MemoryHost, attended
from tests.harness.opencode.stub import Stub

HERE, THERE = "/w/a", "/w/b"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as running:
        yield running


def host_of(stub: Stub, **patience: Any) -> MemoryHost:
    """One that has heard the server say where it listens."""
    limits = Patience(**{"look_again_s": 0.1, **patience})
    return MemoryHost(stub.notes, lambda: b"opencode server listening on http://127.0.0.1\n", limits)


async def begun(host: MemoryHost, stub: Stub, session: str = "s1", directory: str = HERE) -> str:
    """A conversation with a prompt that has come back and is worked on; its id at the server."""
    opened = await host.opened(session, directory)
    assert isinstance(opened, Opened)
    native = opened.native["id"]
    host.server.send(session, Prompt(text="go", once="p1"))
    await host.until(lambda: host.of(Delivered, session) or None)
    work(stub, native)
    await host.until(lambda: host.of(TurnStarted, session) or None)
    return native


def work(stub: Stub, native: str) -> str:
    """The prompt comes back, and an answer begins; the prompt's id."""
    message = str(stub.messages[native][-1]["info"]["id"])
    stub.push("message.updated", sessionID=native, info=stub.messages[native][-1]["info"])
    stub.status[native] = {"type": "busy"}
    stub.push("session.status", sessionID=native, status={"type": "busy"})
    return message


def an_answer(native: str, text: str, *, completed: bool = True, **more: Any) -> dict[str, Any]:
    """As it can be read."""
    time = {"created": 1, **({"completed": 2} if completed else {})}
    info = {"id": "msg_ffffffffffff00000000000000", "sessionID": native, "role": "assistant", "time": time, **more}
    part = {"id": "prt_1", "sessionID": native, "messageID": info["id"], "type": "text", "text": text}
    return {"info": info, "parts": [{**part, "time": {"start": 1, "end": 2}}]}


def idle(stub: Stub, native: str) -> None:
    """The server is done."""
    stub.status.pop(native, None)
    stub.push("session.status", sessionID=native, status={"type": "idle"})
    stub.push("session.idle", sessionID=native)


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


def test_the_server_owes_while_something_is_asked_of_it(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE)
            await begun(host, stub, "s2")
            assert not host.server.owes
            stub.hang.add("/session/ses_0/message")
            host.server.send("s1", Prompt(text="go", once="p1"))
            await asyncio.to_thread(stub.wait_until_did, "GET", "/session/ses_0/message", 1)
            assert host.server.owes

    asyncio.run(scene())


# -- conversations


def test_a_conversation_bears_our_id_and_a_title(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("0123456789", HERE)
        assert stub.sessions["ses_0"]["metadata"] == {"orchctl": "0123456789"}
        assert stub.sessions["ses_0"]["title"] == "orchctl 01234567"

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


# -- prompts


def test_a_prompt_whose_answer_is_lost_is_said_again_as_the_same_one(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE)
            stub.cut["/session/ses_0/prompt_async"] = 2
            host.server.send("s1", Prompt(text="go", once="p1"))
            await host.until(lambda: host.of(Delivered, "s1") or None)
        bodies = [body for method, path, body in stub.asked if path.endswith("prompt_async")]
        assert len(bodies) == 3
        assert bodies[0] == bodies[1] == bodies[2]
        assert len(stub.messages["ses_0"]) == 1

    asyncio.run(scene())


@pytest.mark.parametrize(("status", "code"), [(404, "conversation-gone"), (400, "bad-prompt"), (500, "bad-prompt")])
def test_a_prompt_that_is_not_taken_is_refused_and_the_next_one_is_taken(stub: Stub, status: int, code: str) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE)
            stub.fail["/session/ses_0/prompt_async"] = status
            host.server.send("s1", Prompt(text="go", once="p1"))
            refused = await host.until(lambda: host.of(Refused, "s1") or None)
            assert (refused[0].once, refused[0].code, refused[0].message) == ("p1", code, "boom")
            stub.fail.clear()
            host.server.send("s1", Prompt(text="go", once="p2"))
            assert await host.until(lambda: host.of(Delivered, "s1") or None) == [Delivered(once="p2")]

    asyncio.run(scene())


def test_a_prompt_goes_to_the_model_that_was_asked_for(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            await host.opened("s1", HERE, model="fake/fake-1")
            host.server.send("s1", Prompt(text="go", once="p1"))
            await host.until(lambda: host.of(Delivered, "s1") or None)
        body = next(body for _, path, body in stub.asked if path.endswith("prompt_async"))
        assert body["model"] == {"providerID": "fake", "modelID": "fake-1"}

    asyncio.run(scene())


# -- gaps


def test_a_stream_that_ends_is_begun_again_and_the_gap_is_read(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            native = await begun(host, stub)
            answer = an_answer(native, "all of it")
            info, part = answer["info"], answer["parts"][0]
            stub.push("message.updated", sessionID=native, info={**info, "time": {"created": 1}})
            stub.push("message.part.updated", sessionID=native, part={**part, "text": "", "time": {"start": 1}})
            piece = {"messageID": info["id"], "partID": part["id"], "field": "text", "delta": "all "}
            stub.push("message.part.delta", sessionID=native, **piece)
            await host.until(lambda: host.text("s1") == "all ")
            stub.messages[native].append(answer)  # and nobody is told
            stub.status.clear()
            stub.push_raw(None)
            assert (await host.ended("s1", 1)).end is TurnEnd.COMPLETED
        assert host.text("s1") == "all of it"

    asyncio.run(scene())


def test_a_permission_asked_in_a_gap_is_found_and_one_that_is_gone_is_withdrawn(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            native = await begun(host, stub)
            stub.push("permission.asked", id="per_1", sessionID=native, permission="bash", patterns=["x"])
            await host.until(lambda: host.of(NeedsInput, "s1") or None)
            stub.permissions = [{"id": "per_2", "sessionID": native, "permission": "edit", "patterns": ["y"]}]
            stub.push_raw(None)
            await host.until(lambda: len(host.of(NeedsInput, "s1")) == 2 or None)
            assert [one.request for one in host.of(NeedsInput, "s1")] == ["per_1", "per_2"]
            assert host.of(Answered, "s1") == [Answered(request="per_1", reply="withdrawn")]

    asyncio.run(scene())


def test_an_end_that_is_announced_and_does_not_come_is_read(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            native = await begun(host, stub)
            answer = an_answer(native, "so far", completed=False)
            stub.messages[native].append(answer)
            stub.push("message.updated", sessionID=native, info=answer["info"])
            idle(stub, native)
            assert (await host.ended("s1", 1)).end is TurnEnd.INTERRUPTED
        assert host.text("s1") == "so far"
        assert [one.code for one in host.of(Trouble, "s1")] == ["turn-lost"]

    asyncio.run(scene())


# -- another supervisor


async def replayed(stub: Stub, raw: list[bytes], native: str) -> MemoryHost:
    """What the next supervisor has made of the log."""
    host = host_of(stub)
    host.replaying = True
    host.server.know(Opening(session="s1", cwd=HERE, native={"id": native}))
    for line in raw:
        host.server.hear(line)
    host.replaying = False
    return host


def test_the_next_supervisor_goes_on_where_the_last_one_was_killed(stub: Stub) -> None:
    async def scene() -> None:
        first = host_of(stub)
        async with attended(first):
            native = await begun(first, stub)
            stub.push("permission.asked", id="per_1", sessionID=native, permission="bash", patterns=["x"])
            await first.until(lambda: first.of(NeedsInput, "s1") or None)
        stub.permissions = [{"id": "per_1", "sessionID": native, "permission": "bash", "patterns": ["x"]}]
        second = await replayed(stub, first.raw, native)
        assert second.told == first.told
        second.server.reply("s1", "per_1", Reply(choice="once"))
        async with attended(second):
            await second.until(lambda: second.of(Answered, "s1") or None)
            stub.permissions.clear()
            idle(stub, native)
            assert (await second.ended("s1", 1)).end is TurnEnd.COMPLETED
        assert len(second.of(NeedsInput, "s1")) == 1
        assert second.of(Answered, "s1") == [Answered(request="per_1", reply="once")]
        assert stub.did("POST", "/permission/per_1/reply") == 1

    asyncio.run(scene())


@pytest.mark.parametrize("arrived", [True, False])
def test_a_prompt_that_was_on_its_way_is_known_to_have_arrived_or_not(stub: Stub, arrived: bool) -> None:
    async def scene() -> None:
        first = host_of(stub)
        async with attended(first):
            opened = await first.opened("s1", HERE)
            assert isinstance(opened, Opened)
            first.server.send("s1", Prompt(text="go", once="p1"))
            await first.until(lambda: first.of(Delivered, "s1") or None)
        native = opened.native["id"]
        before_the_answer = [line for line in first.raw if b'"posted"' not in line]
        if not arrived:
            stub.messages[native].clear()
        second = await replayed(stub, before_the_answer, native)
        assert second.of(Delivered, "s1") == []
        async with attended(second):
            await second.until(lambda: bool(second.of(Delivered, "s1") or second.of(Refused, "s1")))
        assert [one.code for one in second.of(Refused, "s1")] == ([] if arrived else ["not-delivered"])
        assert stub.did("POST", f"/session/{native}/prompt_async") == 1

    asyncio.run(scene())


# -- interrupts and replies


def test_an_interrupt_is_repeated_until_the_turn_has_ended(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            opened = await host.opened("s1", HERE)
            assert isinstance(opened, Opened)
            native = opened.native["id"]
            host.server.send("s1", Prompt(text="go", once="p1"))
            host.server.interrupt("s1")
            host.server.interrupt("s1")
            await asyncio.to_thread(stub.wait_until_did, "POST", f"/session/{native}/abort", 1)
            work(stub, native)  # only now it really begins: the first abort was lost
            await asyncio.to_thread(stub.wait_until_did, "POST", f"/session/{native}/abort", 2)
            idle(stub, native)
            assert (await host.ended("s1", 1)).end is TurnEnd.INTERRUPTED
        assert len(host.of(TurnEnded, "s1")) == 1

    asyncio.run(scene())


def test_a_reply_that_somebody_else_was_faster_with_is_withdrawn(stub: Stub) -> None:
    async def scene() -> None:
        host = host_of(stub)
        async with attended(host):
            native = await begun(host, stub)
            stub.push("permission.asked", id="per_1", sessionID=native, permission="bash", patterns=["x"])
            await host.until(lambda: host.of(NeedsInput, "s1") or None)
            stub.fail["/permission/per_1/reply"] = 404
            host.server.reply("s1", "per_1", Reply(choice="once"))
            host.server.reply("s1", "per_1", Reply(choice="once"))
            await host.until(lambda: host.of(Answered, "s1") or None)
            idle(stub, native)
            await host.ended("s1", 1)
        assert host.of(Answered, "s1") == [Answered(request="per_1", reply="withdrawn")]

    asyncio.run(scene())

"""Prompts, gaps, replies and interrupts, on a server of our own; and what the next supervisor makes of it."""

from __future__ import annotations

import asyncio

import pytest

from orchctl.agents.interface import Opening, Prompt, Reply
from orchctl.session.events import Answered, Delivered, NeedsInput, Opened, Refused, Trouble, TurnEnd, TurnEnded
from tests.agents.opencode.hosting import MemoryHost, attended
from tests.agents.opencode.scenes import HERE, an_answer, begun, host_of, idle, work
from tests.agents.opencode.stub import Stub

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

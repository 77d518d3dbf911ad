"""What holds for conversations beside the contract: what is kept, what becomes of lost prompts, mixed fleets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.agents import kits
from tests.agents.stage import Stage
from tests.world import World, until


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, configured."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


def _children(pid: int, name: str) -> list[int]:
    """Those of that name."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", encoding="utf-8") as file:
            comm, _, rest = file.read().partition("(")[2].rpartition(")")[0::1]
            if comm == name and int(rest.split()[1]) == pid:
                found.append(int(entry))
    return found


def _journal(stage: Stage, session: str) -> str:
    with open(f"{stage.world.state}/sessions/{session}/harness.jnl", encoding="ascii") as file:
        return file.read()


def test_raw_output_is_the_servers_own_bytes(stage: Stage) -> None:
    stage.spawn()
    stage.says("say hello")
    raw = stage.world.run("tail", "--raw", "-n", "all", "it").stdout
    lines = [json.loads(line) for line in raw.splitlines()]
    assert lines[0]["result"] == {"version": "1.2"}
    assert "turn-ended" in [line["params"]["kind"] for line in lines if "params" in line]


def test_people_see_how_a_conversation_stands_and_which_server_has_it(stage: Stage) -> None:
    stage.spawn()
    stage.says("say hello")
    shown = dict(line.split(maxsplit=1) for line in stage.world.ok("info", "it").splitlines())
    agent = stage.agent()
    assert (shown["profile"], shown["turns"], shown["native"]) == ("it", "1", f"id={agent['native']['id']}")
    assert shown["tokens"] == "9 in, 7 out"
    (row,) = [one for one in stage.world.json("harness", "list") if one["harness"] == "scripted"]
    assert (row["name"], row["installed"], [one["id"] for one in row["servers"]]) == ("it", True, [shown["server"]])
    lines = stage.world.ok("harness", "list").splitlines()
    assert [line.split()[:2] for line in lines if line.startswith(("it ", "codex "))] == [
        ["codex", "codex"],
        ["it", "scripted"],
    ]


def test_nothing_is_wrong_with_what_is_kept(stage: Stage) -> None:
    stage.spawn("live")
    stage.spawn("over")
    for name in ("live", "over"):
        stage.says("think hard\ntool ls\nsay hello", name)
    stage.world.ok("kill", "over")
    stage.world.ok("verify")
    (over,) = [one for one in stage.world.json("list", "-a") if one["name"] == "over"]
    assert (over["end_reason"], over["exit_code"], over["agent"]["turns"]) == ("killed", None, 1)
    assert "hello" in stage.tells("over")
    stage.world.ok("prune", "over")


def test_a_prompt_that_was_on_its_way_to_a_dying_server_is_not_sent_again(stage: Stage) -> None:
    session = stage.spawn()
    server = stage.server()
    os.kill(server, signal.SIGSTOP)
    asking = stage.world.start("exec", "--once", "mine", "--json", "it", "recall", stderr=subprocess.PIPE)
    until(lambda: '"mine"' in _journal(stage, session))
    os.kill(server, signal.SIGKILL)
    _, errors = asking.communicate(timeout=60)
    assert (asking.returncode, json.loads(errors)["code"]) == (125, "maybe-delivered")
    again = stage.exec("recall", "--once", "mine", "--json")
    assert json.loads(again.stderr)["code"] == "maybe-delivered"
    assert "prompt number 1" in stage.says("recall")


def test_a_prompt_that_nobody_has_heard_of_yet_is_not_sent_again_by_the_next_supervisor(stage: Stage) -> None:
    session = stage.spawn()
    server = stage.server()
    os.kill(server, signal.SIGSTOP)
    asking = stage.world.start("exec", "it", "recall")
    until(lambda: '"prompt"' in _journal(stage, session))
    os.kill(stage.world.supervisor(), signal.SIGKILL)
    until(
        lambda: (
            [one["sessions"] for row in stage.world.json("harness", "list") for one in row["servers"]] == [[session]]
        )
    )
    os.kill(server, signal.SIGCONT)
    output, _ = asking.communicate(timeout=60)
    assert b"prompt number 1" in output
    assert "prompt number 2" in stage.says("recall")


@pytest.mark.parametrize(("words", "choice"), [((), "yes"), (("--always",), "always")], ids=["once", "always"])
def test_what_is_approved_is_approved_for_once_unless_always_is_said(
    stage: Stage, words: tuple[str, ...], choice: str
) -> None:
    session = stage.spawn()
    stage.exec("ask file", "--no-wait-input")
    stage.world.ok("approve", "it", *words)
    stage.world.ok("wait", "it", "--for", "turn")
    replied = [line for line in _journal(stage, session).splitlines() if '"replied"' in line]
    assert [json.loads(line.partition(" ")[2])["choice"] for line in replied] == [choice]


def test_of_several_requests_only_the_one_that_is_named_is_approved(stage: Stage) -> None:
    stage.spawn()
    stage.exec("asks 2", "--no-wait-input")
    until(lambda: len(stage.pending()) == 2)
    unsaid = stage.world.run("approve", "it", "--json")
    assert (unsaid.returncode, json.loads(unsaid.stderr)["code"]) == (2, "which-request")
    assert len(stage.pending()) == 2
    for request in ("r1", "r0"):
        told = stage.world.json("approve", "it", "--request", request)
        assert request in json.dumps(told)
        assert request not in [one["request"] for one in stage.pending()]
    stage.world.ok("wait", "it", "--for", "turn")


def test_a_turn_goes_on_when_the_servers_mover_is_killed(stage: Stage) -> None:
    stage.spawn()
    with stage.working("count 300 10") as running:
        (started,) = [
            json.loads(line.partition(" ")[2])
            for line in stage.world.journal(stage.agent()["server"]).decode().splitlines()
            if '"started"' in line
        ]
        for mover in _children(started["keeper"], "orchctl-mover"):
            os.kill(mover, signal.SIGKILL)
        output, _ = running.communicate(timeout=60)
    assert output.decode().split() == [str(number) for number in range(300)]


def test_a_mixed_fleet_is_told_of_in_order_and_ended_together(stage: Stage) -> None:
    fleet = "orchestrator:fleet-7"
    for number in range(2):
        stage.spawn(f"agent{number}", "-m", f"{fleet}:agent{number}")
        stage.world.ok("spawn", "-m", f"{fleet}:pty{number}", "--name", f"pty{number}", "sleep", "1000")
    asking = [stage.world.start("exec", f"agent{number}", "tool ls\ncount 20 5") for number in range(2)]
    for one in asking:
        one.communicate(timeout=60)
        assert one.returncode == 0
    assert stage.world.ok("kill-by-manager", fleet) == "4"
    events = [json.loads(line) for line in stage.world.ok("events", f"@{fleet}").splitlines()]
    for name in ("agent0", "agent1"):
        (session,) = [one["id"] for one in stage.world.json("list", "-a") if one["name"] == name]
        told = [one for one in events if one["session"] == session]
        kinds = [one["type"] for one in told if one["type"] in ("session.state", "turn", "tool")]
        assert kinds == [*["session.state"] * 3, "turn", *["tool"] * 3, "turn", "session.state"]
        assert (told[-1]["state"], told[-1]["end_reason"]) == ("closed", "killed")


def test_what_a_server_left_running_is_shown_and_ends_with_it(stage: Stage) -> None:
    stage.spawn()
    left = int(stage.says("leave").split()[-1])
    (row,) = [one for one in stage.world.json("harness", "list") if one["harness"] == "scripted"]
    assert left in row["servers"][0]["leftover"]
    stage.world.ok("kill", "it")
    assert os.path.exists(f"/proc/{left}")
    stage.spawn("other")
    stage.kill_server("other")
    until(lambda: not os.path.exists(f"/proc/{left}"), "what the server left is still there")
    assert "prompt number 1" in stage.says("recall", "other")


def test_a_server_that_nobody_needs_ends(stage: Stage) -> None:
    with open(f"{stage.world.state}/config.toml", "r+", encoding="utf-8") as file:
        text = file.read().replace("[harness]\n", '[harness]\nidle = "1s"\n')
        file.seek(0)
        file.write(text)
    stage.spawn()
    server = stage.server()
    stage.world.ok("kill", "it")
    until(lambda: not os.path.exists(f"/proc/{server}"), "the server stays")


def test_what_only_programs_can_do_is_refused(stage: Stage) -> None:
    stage.spawn()
    for words in (("resize", "it", "80x24"), ("pause", "it"), ("signal", "it", "INT")):
        refused = stage.world.run(*words, "--json")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "not-a-program"), words
    for option in ("--restart=always", "--permission=maybe"):
        assert stage.world.run("spawn", "--profile", "it", option).returncode == 2
    assert stage.world.run("spawn", "--profile", "it", "-w", "/nowhere").returncode == 2


def test_a_server_may_complain_for_ever(stage: Stage) -> None:
    stage.spawn()
    assert "over" in stage.says("complain 30000000\nsay over")
    folder = f"{stage.world.state}/sessions/{stage.agent()['server']}"
    kept = [os.stat(f"{folder}/{name}").st_size for name in ("stderr.log", "stderr.log.1")]
    assert max(kept) <= 1 << 20
    assert sum(kept) > 1 << 20
    with open(f"{folder}/stderr.log", encoding="ascii") as file:
        assert file.read().endswith("that is all\n")


def test_a_server_that_ends_before_hello_says_its_last_words(stage: Stage) -> None:
    with open(f"{stage.world.state}/config.toml", "a", encoding="utf-8") as file:
        file.write('[profiles.sick]\nharness = "scripted"\nargv = ["/bin/sh", "-c", "echo no licence >&2; exit 3"]\n')
    refused = stage.world.run("spawn", "--profile", "sick", "--json")
    told = json.loads(refused.stderr)
    assert (refused.returncode, told["code"]) == (5, "server-died")
    assert told["message"].endswith(": no licence")
    assert stage.world.json("list", "-a") == []

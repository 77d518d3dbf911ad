"""What commands see that real agents run: whose conversation it is, and the supervisor that has it.

`orchctl` in them is then in that conversation: what it spawns is below the conversation's manager, and it does not
wait for the turn that it is a part of.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.agents import kits
from tests.agents.acp import kits as acp
from tests.agents.claude import kit as claude
from tests.agents.kits import Kit
from tests.agents.opencode.kit import OpencodeKit, opencode
from tests.agents.stage import Stage
from tests.needs import each, needs
from tests.world import ORCHCTL, World, until

NAMES = ("ORCHCTL_SESSION", "ORCHCTL_MANAGER", "ORCHCTL_STATE_DIR")
ONE, TWO = "orchestrator:one-1", "orchestrator:two-1:codegen"
Make = Callable[[World], AbstractContextManager[Kit]]
MAKERS: dict[str, Make] = {"codex": kits.codex, "opencode": opencode, "claude": claude.claude, "qwen": acp.qwen}


@contextmanager
def staged(world: World, name: str, edit: Callable[[Kit], None] = lambda kit: None) -> Iterator[Stage]:
    """With that harness."""
    with MAKERS[name](world) as kit:
        edit(kit)
        kit.prepare(world)
        yield Stage(world, kit)
        world.end()


def spawned(stage: Stage, name: str, manager: str, *words: str) -> str:
    """A conversation in which nobody is asked."""
    return stage.spawn(name, "--permission", "allow", "-m", manager, *words)


def run(stage: Stage, name: str, command: str) -> str:
    """What a command prints that the agent runs."""
    turn = stage.kit.steps(stage.kit.tool(f"{{ {command}; }} > out 2>&1; true"), stage.kit.say("over"))
    assert "over" in stage.says(turn, name)
    with open(f"{stage.folder(name)}/out", encoding="utf-8") as file:
        return file.read()


def seen(stage: Stage, name: str) -> dict[str, str]:
    """The variables of ours that it sees."""
    found = dict(line.partition("=")[::2] for line in run(stage, name, "env").splitlines())
    if isinstance(stage.kit, OpencodeKit):
        assert found.keys().isdisjoint({"OPENCODE_SERVER_PASSWORD", "npm_config_fetch_retries"})
    return {one: found[one] for one in NAMES if one in found}


def expected(stage: Stage, session: str, manager: str) -> dict[str, str]:
    """All three."""
    return dict(zip(NAMES, (session, manager, stage.world.state), strict=True))


@pytest.mark.parametrize("name", each("codex", "opencode", "claude"))
def test_commands_see_their_own_session_and_manager(world: World, name: str) -> None:
    with staged(world, name) as stage:
        if name == "opencode":  # in one directory, which tells nothing then, and takes half the time
            os.makedirs(stage.folder("one"))
            os.symlink(stage.folder("one"), stage.folder("two"))
        sessions = {who: spawned(stage, who, manager) for who, manager in (("one", ONE), ("two", TWO))}
        assert seen(stage, "one") == expected(stage, sessions["one"], ONE)
        assert seen(stage, "two") == expected(stage, sessions["two"], TWO)
        assert len({stage.agent(who)["server"] for who in sessions}) == (2 if name == "claude" else 1)


@needs("codex")
def test_what_an_agent_spawns_is_below_its_manager_and_ends_with_it(world: World) -> None:
    with staged(world, "codex") as stage:
        spawned(stage, "one", ONE)
        spawned(stage, "two", TWO)
        for who in ("one", "two"):
            run(stage, who, f"{ORCHCTL} spawn --name of-{who} sleep 1000")
        run(stage, "two", f"{ORCHCTL} spawn --name deep -m :deep sleep 1000")
        assert {one["name"]: one["managed_by"] for one in world.json("list")} == {
            "one": ONE,
            "two": TWO,
            "of-one": ONE,
            "of-two": TWO,
            "deep": f"{TWO}:deep",
        }
        assert world.ok("kill-by-manager", TWO) == "3"
        assert {one["name"] for one in world.json("list")} == {"one", "of-one"}


@needs("codex")
def test_a_command_waits_for_other_conversations_on_its_server_and_not_for_its_own(world: World) -> None:
    with staged(world, "codex") as stage:
        one, two = spawned(stage, "one", ONE), spawned(stage, "two", TWO)
        refused = (
            f"wait --json {one} --for turn",
            f"wait --json {one}",
            "wait --json @last --for turn",  # the newest of its manager, which it is itself
            f"tail --json -f {one}",
            f"exec --json --wait-prompt 60s {one} say more",
            f"exec --json {one} say more",
        )
        said = run(stage, "one", "; ".join(f"env -u ORCHCTL_SESSION {ORCHCTL} {words}" for words in refused))
        assert [json.loads(line)["code"] for line in said.splitlines()] == ["own-session"] * len(refused)
        assert "cannot follow the session it runs in" in run(stage, "one", f"{ORCHCTL} tail -f {one}")
        assert run(stage, "one", f"{ORCHCTL} wait {two} --for turn && echo waited").endswith("waited\n")
        assert "hello there" in run(stage, "one", f"{ORCHCTL} exec {two} {shlex.quote(stage.kit.say('hello there'))}")


@pytest.mark.parametrize(
    "name",
    [
        *each("codex"),
        pytest.param("opencode", marks=[needs("opencode"), pytest.mark.long]),
        pytest.param("claude", marks=[needs("claude"), pytest.mark.long]),
    ],
)
def test_commands_see_it_on_another_server_and_in_another_session(world: World, name: str) -> None:
    with staged(world, name) as stage:
        session = spawned(stage, "one", ONE)
        stage.says(stage.kit.say("hello"), "one")
        stage.kill_server("one")
        assert seen(stage, "one") == expected(stage, session, ONE)
        stage.kill_supervisor()
        assert seen(stage, "one") == expected(stage, session, ONE)
        native = stage.agent("one")["native"]["id"]
        world.ok("kill", "one")
        again = spawned(stage, "one", TWO, "--resume", native)
        assert seen(stage, "one") == expected(stage, again, TWO)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "theirs"),
    [
        ('inherit = "core"\nset = {THEIRS = "yes", ORCHCTL_MANAGER = "user:other"}', True),
        ('inherit = "none"\nexclude = ["ORCHCTL_*"]', False),
    ],
)
@needs("codex")
def test_a_policy_of_codexs_user_holds_beside_ours(world: World, policy: str, theirs: bool) -> None:
    with staged(world, "codex") as stage:
        with open(f"{world.folder}/codex-home/config.toml", "a", encoding="utf-8") as file:
            file.write(f"[shell_environment_policy]\n{policy}\n")
        session = spawned(stage, "one", ONE)
        assert seen(stage, "one") == expected(stage, session, ONE)
        printed = run(stage, "one", "env").splitlines()
        assert ("THEIRS=yes" in printed) is theirs
        assert not any(line.startswith("CODEX_HOME=") for line in printed)  # it is not inherited


@pytest.mark.long
@needs("codex")
def test_sub_agents_of_codex(world: World) -> None:
    def trusting(kit: Kit) -> None:
        kit.config = kit.config.replace('"untrusted"', '"never"').replace(
            '"--enable"', '"--enable", "multi_agent", "--enable"'
        )

    with staged(world, "codex", trusting) as stage:
        session = spawned(stage, "one", ONE)
        stage.says(stage.kit.steps("child tool env > part && mv part out", stage.kit.say("over")), "one")
        until(lambda: os.path.exists(f"{stage.folder('one')}/out"), "the sub-agent runs nothing")
        with open(f"{stage.folder('one')}/out", encoding="utf-8") as file:
            found = dict(line.partition("=")[::2] for line in file.read().splitlines())
        assert {name: found[name] for name in NAMES} == expected(stage, session, ONE)
        assert found["CODEX_THREAD_ID"] != stage.agent("one")["native"]["id"]


@pytest.mark.long
@needs("opencode")
def test_sub_agents_of_opencode_and_plugins_of_its_user(world: World) -> None:
    with staged(world, "opencode") as stage:
        kit = stage.kit
        assert isinstance(kit, OpencodeKit)
        folder = f"{world.folder}/opencode-home/config/opencode"
        os.makedirs(folder)
        with open(f"{folder}/mine.js", "w", encoding="ascii") as file:
            file.write('export const Mine = async () => ({"shell.env": async (_, out) => { out.env.THEIRS = "yes" }})')
        with open(f"{folder}/opencode.json", "w", encoding="ascii") as file:
            json.dump({"plugin": ["./mine.js"]}, file)
        session = spawned(stage, "one", ONE)
        stage.says(kit.steps(kit.subagent(kit.tool("env > out"), kit.say("my part")), kit.say("over")), "one")
        with open(f"{stage.folder('one')}/out", encoding="utf-8") as file:
            found = dict(line.partition("=")[::2] for line in file.read().splitlines())
        assert {name: found[name] for name in NAMES} == expected(stage, session, ONE)
        assert found["THEIRS"] == "yes"
        assert not {"npm_config_fetch_retries", "npm_config_fetch_timeout"} & {*found}


@pytest.mark.long
@needs("qwen")
def test_an_agent_of_the_protocol_is_told_by_its_environment_alone(world: World) -> None:
    """The protocol has no words for it: what `-e` gives makes a server of its own."""
    with staged(world, "qwen") as stage:
        spawned(stage, "one", ONE)
        assert seen(stage, "one") == {"ORCHCTL_STATE_DIR": world.state}
        spawned(stage, "two", TWO, "-e", f"ORCHCTL_MANAGER={TWO}")
        assert seen(stage, "two") == {"ORCHCTL_MANAGER": TWO, "ORCHCTL_STATE_DIR": world.state}
        assert stage.agent("one")["server"] != stage.agent("two")["server"]
        run(stage, "two", f"{ORCHCTL} spawn --name of-two sleep 1000")
        assert world.json("info", "of-two")["managed_by"] == TWO
        waits = f"{ORCHCTL} wait two --for turn --json"  # the only one on its server
        assert json.loads(run(stage, "two", waits).splitlines()[-1])["code"] == "own-session"

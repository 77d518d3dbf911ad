"""Bad input to agents, through the command line: a clear message, its code, no traceback, and nothing lost."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from orchctl.errors import OrchctlError
from tests.agents import kits
from tests.agents.acp import kits as acp_kits
from tests.agents.claude import kit as claude_kit
from tests.agents.kits import Kit
from tests.agents.model.server import NO_MODEL
from tests.agents.stage import Stage, server_pids
from tests.needs import needs
from tests.world import World, fresh_world

STANDINS = f"{os.path.dirname(__file__)}/standins.py"
FIVE_MB = 5_000_000
_NUMBER = re.compile(r"\d+")
Refusal = tuple[int, str, str]


def refused(world: World, *words: str, stdin: bytes = b"") -> Refusal:
    """How it ended, the code, and what a person reads; nothing is on stdout, and no more than that on stderr."""
    ended = []
    for more in ((), ("--json",)):
        done = world.run(words[0], *more, *words[1:], stdin=None, input=stdin)
        assert done.stdout == b""
        assert done.stderr.count(b"\n") >= 1
        assert b"Traceback" not in done.stderr
        ended.append(done)
    plain, told = ended[0].stderr.decode(), json.loads(ended[1].stderr)
    assert ended[0].returncode == ended[1].returncode
    assert _NUMBER.sub("", told["message"].splitlines()[0]) in _NUMBER.sub("", plain)  # a port is another each time
    return ended[1].returncode, told["code"], told["message"]


# prompts


@pytest.fixture(scope="module")
def talking() -> Iterator[Stage]:
    """One agent that sees it all, and in the end has had no prompt but ours; and one that is over."""
    with fresh_world() as world, kits.scripted(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn("over")
        stage.says("say before", "over")
        world.ok("kill", "over")
        session = stage.spawn()
        stage.says("say before")
        yield stage
        assert "prompt number 2" in stage.says("recall")
        assert stage.agent()["turns"] == 2
        assert world.ok("list", "-q") == session
        assert [name for name in os.listdir(f"{world.state}/sessions/{session}/shell") if name.startswith("t")] == []


BIG = b"word " * (FIVE_MB // 5)
PROMPTS: dict[str, tuple[list[str], bytes, int, str, str]] = {
    "5 MB from stdin": (["exec", "it", "-"], BIG, 125, "prompt-too-long", f"of {FIVE_MB} bytes; at most 1048576"),
    "5 MB from a script": (["exec", "--script", "{file}", "it"], BIG, 125, "prompt-too-long", f"of {FIVE_MB} bytes"),
    "one byte too many": (["exec", "it", "-"], b"x" * ((1 << 20) + 1), 125, "prompt-too-long", "1048577 bytes"),
    "5 MB to be typed": (["send", "it", "--stdin"], BIG, 2, "bad-prompt", "'exec SESSION -'"),
    "empty": (["exec", "it", ""], b"", 125, "empty-prompt", "empty"),
    "nothing but space": (["exec", "it", " \t\n"], b"", 125, "empty-prompt", "empty"),
    "empty from stdin": (["exec", "it", "-"], b"", 125, "empty-prompt", "empty"),
    "empty from a script": (["exec", "--script", "{file}", "it"], b"\n\n", 125, "empty-prompt", "empty"),
    "empty to be typed": (["send", "it", " "], b"", 2, "empty-prompt", "empty"),
    "empty at the beginning": (["spawn", "--profile", "it", "--prompt", ""], b"", 2, "empty-prompt", "empty"),
    "NUL from stdin": (["exec", "it", "-"], b"a\0b", 125, "nul-byte", "a NUL byte in"),
    "NUL from a script": (["exec", "--script", "{file}", "it"], b"a\0b", 125, "nul-byte", "prompt"),
    "NUL in a long one": (["exec", "it", "-"], b"a\0" * 100_000, 125, "nul-byte", "prompt"),
    "NUL to be typed": (["send", "it", "--hex", "610062"], b"", 2, "bad-prompt", "with Enter"),
    "to one that is over": (["exec", "over", "say more"], b"", 125, "session-ended", "has ended"),
    "long, to one that is over": (["exec", "over", "-"], b"say x" * 100_000, 125, "session-ended", "has ended"),
    "typed to one that is over": (["send", "over", "say more"], b"", 3, "session-ended", "has ended"),
    "approval for one that is over": (["approve", "over"], b"", 3, "session-ended", "has ended"),
    "approval of nothing": (["approve", "it"], b"", 5, "request-gone", "asks nothing"),
    "approval of what was never asked": (["approve", "it", "--request", "x"], b"", 5, "request-gone", "'x'"),
    "an answer to nothing": (["answer", "it", "blue"], b"", 5, "request-gone", "asks nothing"),
    "a denial of nothing": (["deny", "it"], b"", 5, "request-gone", "asks nothing"),
    "unknown model": (["spawn", "--profile", "it", "--model", "huge"], b"", 2, "unknown-model", "'huge'"),
    "unknown profile": (["spawn", "--profile", "nowhere"], b"", 2, "unknown-profile", "there are: it"),
    "profile of another harness": (["spawn", "-b", "codex", "--profile", "it"], b"", 2, "unknown-profile", "scripted"),
}


@pytest.mark.parametrize("row", PROMPTS)
def test_it_is_refused_with_a_clear_word_and_nothing_is_said(talking: Stage, row: str) -> None:
    words, stdin, status, code, word = PROMPTS[row]
    file = f"{talking.world.folder}/script"
    with open(file, "wb") as script:
        script.write(stdin)
    found = refused(talking.world, *(one.replace("{file}", file) for one in words), stdin=stdin)
    assert (found[:2], word in found[2]) == ((status, code), True), found


def test_five_megabytes_at_the_beginning_begin_nothing(talking: Stage) -> None:
    """More than the kernel takes as a word of a command line."""
    with talking.world.client() as client:
        before = len(client.list(ended_too=True))
        for size, code in ((FIVE_MB, "too-large"), (1 << 20, "too-large")):
            with pytest.raises(OrchctlError) as error:
                client.spawn((), profile="it", prompt="x" * size)
            assert (error.value.code, "prompt" in error.value.message) == (code, True)
        for prompt, code in (("a\0b", "nul-byte"), (" ", "empty-prompt")):
            with pytest.raises(OrchctlError) as error:
                client.spawn((), profile="it", prompt=prompt)
            assert error.value.code == code
        assert len(client.list(ended_too=True)) == before


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, configured."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


def test_the_largest_prompt_that_is_taken_arrives_whole(stage: Stage) -> None:
    stage.spawn()
    text = "say " + "x" * ((1 << 20) - 4)
    done = stage.world.run("exec", "it", "-", stdin=None, input=text.encode())
    assert (done.returncode, done.stdout.decode()) == (0, text[4:] + "\n")


def test_a_busy_agent_takes_no_prompt_by_any_way(stage: Stage) -> None:
    stage.spawn()
    with stage.working("stay"):
        for status, words in ((125, ("exec", "it", "say more")), (5, ("send", "it", "say more"))):
            found = refused(stage.world, *words)
            assert (found[:2], "'interrupt'" in found[2]) == ((status, "busy"), True)
        late = refused(stage.world, "exec", "--wait-prompt", "200ms", "it", "say more")
        assert (late[1], "0.2 s" in late[2]) == ("busy", True)
        stage.world.ok("interrupt", "it")
        stage.world.ok("wait", "it", "--for", "turn")
    assert stage.agent()["turns"] == 1
    assert "prompt number 2" in stage.says("recall")


def test_a_reply_comes_too_late_for_what_was_answered_or_taken_back(stage: Stage) -> None:
    stage.spawn()
    stage.exec("ask file", "--no-wait-input")
    (first,) = stage.pending()
    stage.world.ok("approve", "it")
    stage.world.ok("wait", "it", "--for", "turn")
    stage.exec("ask other", "--no-wait-input")
    (second,) = stage.pending()
    found = refused(stage.world, "answer", "it", "perhaps")
    assert found[:2] == (2, "bad-answer")
    stage.world.ok("interrupt", "it")
    stage.world.ok("wait", "it", "--for", "turn")
    for request in (first["request"], second["request"]):
        for words in (("approve", "it"), ("deny", "it"), ("answer", "it", "yes")):
            found = refused(stage.world, *words, "--request", request)
            assert (found[:2], "answered already, or taken back" in found[2]) == ((5, "request-gone"), True)
    assert (stage.touched("file"), stage.touched("other")) == (1, 0)


# programs


@pytest.mark.parametrize(
    ("harness", "how"),
    [
        ("codex", "npm install -g @openai/codex"),
        ("claude", "npm install -g @anthropic-ai/claude-code"),
        ("opencode", "npm install -g opencode-ai"),
        ("acp", 'write a profile with harness = "acp"'),
    ],
)
def test_a_harness_that_is_not_installed_says_how_to_get_it(world: World, harness: str, how: str) -> None:
    world.env["PATH"] = f"{world.folder}/nothing"
    status, code, message = refused(world, "spawn", "-b", harness)
    assert (status, code) == (127, "harness-not-installed")
    assert message.startswith(f"{harness} is not installed; ")
    assert how in message
    assert world.json("list", "-a") == []


def test_a_profile_whose_program_is_not_there_names_it(world: World) -> None:
    configure(world, "acp", argv=["no-such-agent", "--acp"])
    status, code, message = refused(world, "spawn", "--profile", "it")
    assert (status, code) == (127, "harness-not-installed")
    assert message.startswith("'no-such-agent' of the profile 'it' is not installed; ")


def configure(world: World, harness: str, argv: list[str] | None = None, **env: str) -> None:
    """A profile with a stand-in, or what is said."""
    words = json.dumps(argv or [sys.executable, STANDINS, harness])
    given = "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items())
    os.makedirs(world.state, mode=0o700, exist_ok=True)
    with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
        file.write(f'[profiles.it]\nharness = "{harness}"\nargv = {words}\n[profiles.it.env]\n{given}')


@pytest.mark.parametrize("harness", ["codex", "claude", "opencode"])
def test_an_untested_version_is_warned_about_and_used(world: World, harness: str) -> None:
    configure(world, harness, STANDIN_VERSION="98.7.6", STANDIN_MODELS="small")
    warned = world.run("spawn", "--profile", "it", "--name", "it")
    assert (warned.returncode, warned.stderr.count(b"\n")) == (0, 1)
    assert f"orchctl: warning: {harness} 98.7.6 is not tested; tested are ".encode() in warned.stderr
    assert world.json("info", "it")["state"] == "live"


def test_no_model_and_an_unknown_one_are_told_apart(world: World) -> None:
    configure(world, "opencode")
    status, code, message = refused(world, "spawn", "--profile", "it")
    assert (status, code, "opencode auth login" in message) == (5, "no-model", True)
    configure(world, "opencode", STANDIN_MODELS="small large")
    world.ok("supervisor", "restart")  # at once with the new file
    status, code, message = refused(world, "spawn", "--profile", "it", "--model", "some/huge")
    assert (status, code) == (5, "unknown-model")
    assert message.endswith("there is no model 'some/huge'; there are some/large, some/small")
    status, code, message = refused(world, "spawn", "--profile", "it", "--model", "huge")
    assert (status, code, "PROVIDER/MODEL" in message) == (2, "unknown-model", True)
    assert world.json("list") == []


def test_a_server_that_lets_everybody_in_is_refused_and_ended(world: World) -> None:
    configure(world, "opencode", STANDIN_OPEN="yes", STANDIN_MODELS="small")
    status, code, message = refused(world, "spawn", "--profile", "it")
    assert (status, code) == (5, "server-died")
    assert "it lets in whoever has no password" in message
    assert server_pids(world) == []
    assert world.json("list") == []


def test_a_port_that_somebody_took_is_named(world: World) -> None:
    configure(world, "opencode", STANDIN_TAKEN="yes")
    status, code, message = refused(world, "spawn", "--profile", "it")
    assert (status, code) == (5, "server-died")
    assert "another program has taken its port, " in message
    assert server_pids(world) == []


def test_an_agent_that_nobody_is_logged_in_to_says_so_at_once(world: World) -> None:
    with acp_kits.steps(world, ACP_AUTH="needed") as kit:
        kit.prepare(world)
        status, code, message = refused(world, "spawn", "--profile", "it")
        assert (status, code) == (5, "auth")
        assert message == "acp: log in with the agent's own command first: Authentication required"
        assert world.json("list") == []
        world.end()


@needs("claude")
def test_claude_says_in_the_first_turn_that_nobody_is_logged_in(world: World) -> None:
    with claude_kit.claude(world) as kit:
        kit.config = kit.config.replace('ANTHROPIC_API_KEY = "none", ', "")
        kit.prepare(world)
        world.env.pop("ANTHROPIC_API_KEY", None)
        stage = Stage(world, kit)
        stage.spawn()
        failed = stage.exec(kit.say("hello"))
        assert failed.returncode == 1
        assert "Not logged in" in failed.stderr.decode().splitlines()[-1]
        world.end()


# models that only the service knows


@needs("codex")
def test_codex_says_in_the_first_turn_that_there_is_no_such_model(world: World) -> None:
    check_model(world, kits.codex(world))


@needs("claude")
def test_claude_says_in_the_first_turn_that_there_is_no_such_model(world: World) -> None:
    check_model(world, claude_kit.claude(world))


def check_model(world: World, made: AbstractContextManager[Kit]) -> None:
    """They list only what their makers offer, and take any name, because a provider may have others."""
    with made as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn("it", "--model", NO_MODEL)
        failed = stage.exec(kit.say("hello"))
        assert failed.returncode == 1
        last = failed.stderr.decode().splitlines()[-1]
        assert last.startswith("orchctl: the turn did not complete: ")
        assert NO_MODEL in last
        assert [one["code"] for one in stage.events("error")] == ["unknown-model"]
        world.end()


@needs("qwen")
def test_an_agent_that_lists_its_models_refuses_others_at_once(world: World) -> None:
    with acp_kits.qwen(world) as kit:
        kit.prepare(world)
        status, code, message = refused(world, "spawn", "--profile", "it", "--model", NO_MODEL)
        assert (status, code) == (5, "unknown-model")
        assert f"there is no model '{NO_MODEL}'; there are " in message
        assert "fake-1" in message
        world.end()

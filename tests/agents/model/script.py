"""What the model does next. A prompt is a list of steps, one a line:

    say TEXT · think TEXT · tool COMMAND · ask FILE (a command that adds a line to it, if somebody allows it) · where
    question TEXT · count N MILLISECONDS · recall (how many prompts there were) · stay · fail TEXT · retry TEXT
    child STEP (a sub-agent does it)

A tool ends the model's message; the next request has its result, and the model goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

STEPS = (
    "say", "think", "tool", "ask", "where", "question", "count", "recall", "stay", "fail", "retry", "child",
)  # fmt: skip
TOOLS = ("tool", "ask", "where", "question", "child")
SHELL = ("Bash", "run_shell_command", "bash")
QUESTION = ("AskUserQuestion", "ask_user_question")
CHILD = ("Task", "Agent", "agent", "task")
STAYED = 36000  # pieces, 0.1 s apart: an hour


@dataclass(frozen=True, slots=True)
class Say:
    """A piece of text, after a pause."""

    text: str
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Think:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error instead of an answer."""

    status: int
    text: str


Act = Say | Think | Call | Fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request comes to, whatever dialect it is in."""

    prompts: tuple[str, ...]  # all that the user has said, in order
    results: tuple[str, ...]  # of the tools since the last of them
    tools: dict[str, dict[str, Any]]  # the schemas of what is on offer


def own_words(text: str) -> str:
    """What the user said of it, without what the agent has put in between."""
    return re.sub(r"<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL)


def steps(prompt: str) -> list[tuple[str, str]]:
    """The steps in a prompt; what else is in it is the agent's."""
    found = [line.strip().partition(" ") for line in prompt.splitlines()]
    return [(word, rest) for word, _, rest in found if word in STEPS]


def acts(asked: Asked, count: Callable[[str], int]) -> list[Act]:
    """All up to the next tool. `count` says how often something was asked before."""
    script = steps(asked.prompts[-1]) if asked.prompts else []
    done, made = 0, list[Act]()
    for word, rest in script:
        if word in TOOLS:
            if done == len(asked.results):
                return [*made, _call(word, rest, asked)]
            made = list(_after(word, asked.results[done]))
            done += 1
        else:
            made += _plain(word, rest, asked, count)
            if made and isinstance(made[-1], Fail):
                return [made[-1]]
    return made or [Say("hello\n")]


def _plain(word: str, rest: str, asked: Asked, count: Callable[[str], int]) -> list[Act]:
    if word in ("say", "think"):
        half = len(rest) // 2
        return (
            [Say(rest[:half]), Say(rest[half:] + "\n")] if word == "say" else [Think(rest[:half]), Think(rest[half:])]
        )
    if word == "count":
        last, pause_ms = rest.split()
        return [Say(f"{one}\n", int(pause_ms) / 1000) for one in range(int(last))]
    if word == "recall":
        return [Say(f"prompt number {sum(bool(steps(prompt)) for prompt in asked.prompts)}\n")]
    if word == "stay":
        return [Say(".", 0.1) for _ in range(STAYED)]
    if word == "retry":
        return [Fail(500, rest)] if count(asked.prompts[-1]) == 0 else [Say("once more\n")]
    return [Fail(400, rest)]


def _after(word: str, result: str) -> list[Act]:
    if word == "question":
        return [Say(f"the answer is {'blue' if 'blue' in result else 'red' if 'red' in result else result}\n")]
    return [Say(f"{result.strip()}\n")] if word == "where" else []


def _call(word: str, rest: str, asked: Asked) -> Act:
    if word == "question":
        options = [{"label": label, "description": label} for label in ("red", "blue")]
        questions = [{"question": rest, "header": "Choose", "options": options, "multiSelect": False}]
        return _filled(QUESTION, {"questions": questions}, asked)
    if word == "child":
        given = {"description": "a part of it", "prompt": rest, "subagent_type": "general-purpose"}
        return _filled(CHILD, {**given, "run_in_background": False}, asked)  # one in the background may ask nobody
    command = {"tool": rest, "ask": f"echo touched >> {rest}", "where": "pwd"}[word]
    return _filled(SHELL, {"command": command, "description": rest or word}, asked)


def _filled(names: tuple[str, ...], given: dict[str, Any], asked: Asked) -> Act:
    """The first of these that there is, with all that its schema requires."""
    name = next((name for name in names if name in asked.tools), None)
    if name is None:
        return Say(f"no tool: {sorted(asked.tools)}\n")
    schema = asked.tools[name]
    empty: dict[str, Any] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
    known = {key: value for key, value in given.items() if key in schema.get("properties", {key: None})}
    for key in schema.get("required", ()):
        kind = str(schema.get("properties", {}).get(key, {}).get("type", "string")).lower()
        known.setdefault(key, empty.get(kind, "x"))
    return Call(name, known)

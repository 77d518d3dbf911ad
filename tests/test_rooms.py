"""The shape of the package: how many modules there are, how long they are, and that none imports another in a circle.

Every import there is counts for a circle, also those that only a type checker sees and those inside functions: a
module that needs another only for its types still cannot be read without it. The numbers may only get smaller.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "orchctl"
MOST_MODULES = 260
SMALL_LINES, LARGE_LINES = 50, 500
MEDIAN_LINES = range(110, 221)
SMALL = {  # each with the reason why it stands alone
    "orchctl.version": "the build reads it",
    "orchctl.keeper.__main__": "a name that older processes start",
    "orchctl.store.__main__": "a name that older processes start",
    "orchctl.store.workers.__main__": "a name that older processes start",
    "orchctl.pair.__main__": "a program",
    "orchctl.supervisor.__main__": "a program, which loads the rest with the collector off",
    "orchctl.supervisor.app": "what all handlers work on; it would close circles anywhere else",
    "orchctl.supervisor.handlers.input": "verbs live in a file with their noun",
    "orchctl.supervisor.failpoints": "for tests; kept out of the way",
    "orchctl.session.manager": "one rule that every room uses",
    "orchctl.session.environment": "pure, and loaded by the client alone",
    "orchctl.client.ephemeral": "loaded only where a private supervisor is wanted",
    "orchctl.workers.sizes": "a worker is a module with its name",
    "orchctl.cli.commands.attach": "a command lives in a file with its name",
    "orchctl.cli.commands.schema": "completion must not load every shape",
    "orchctl.cli.commands.screen": "a command lives in a file with its name",
}


def _modules() -> dict[str, Path]:
    """Every module but the folders' own, by its dotted name."""
    return {_name(path): path for path in PACKAGE.rglob("*.py")}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= members & known or {node.module}
    return found & known


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach each other, two or more at a time (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            members: set[str] = set()
            while not members or name not in members:
                members.add(stack.pop())
            if len(members) > 1:
                found.append(members)

    for name in graph:
        if name not in index:
            visit(name)
    return found


def _lengths() -> Iterator[tuple[str, int]]:
    for name, path in _modules().items():
        if path.name != "__init__.py":
            yield name, len(path.read_text().splitlines())


def test_circles_are_found_and_their_members_counted() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, _circles(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_no_modules_import_each_other_in_circles() -> None:
    modules = _modules()
    graph = {name: _imports(path, set(modules)) - {name} for name, path in modules.items()}
    assert list(map(sorted, _circles(graph))) == []


def test_only_the_registry_decides_which_kind_a_session_is() -> None:
    room = "orchctl.supervisor."
    sources = {name.removeprefix(room): path.read_text() for name, path in _modules().items() if name.startswith(room)}

    def matching(pattern: str) -> set[str]:
        return {name for name, source in sources.items() if re.search(pattern, source)}

    assert matching(r"spec\.agent\b") == {"registry"}
    assert matching(r"\bAgentSession\b") == {"agent_session", "registry"}
    assert matching(r"\bTerminalSession\b") == {"terminal_session", "registry", "agents.pool", "agents.server"}
    assert matching(r"\.talk\b") == {"agent_session", "agents.pool", "agents.prompts"}
    assert matching(r"isinstance\(\w*session\b|\btalk is (not )?None") == set()


def test_there_are_not_too_many_modules_nor_too_many_small_ones() -> None:
    lengths = dict(_lengths())
    small = sorted(name for name, lines in lengths.items() if lines < SMALL_LINES)
    median = statistics.median(lengths.values())
    longest = max(lengths.values())
    print(f"{len(lengths)} modules, {len(small)} under {SMALL_LINES} lines, median {median}, longest {longest}")
    assert len(lengths) <= MOST_MODULES
    assert {name for name in small if name not in SMALL} == set(), "give the reason in SMALL, or merge it"
    assert sorted(SMALL) == small, "no longer small"
    assert len(small) <= 20
    assert int(median) in MEDIAN_LINES
    assert longest <= LARGE_LINES

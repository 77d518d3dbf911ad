"""The shape of the package: how many modules there are, how long they are, and that none imports another in a circle.

Circles are counted with every import there is, also those that only a type checker sees and those inside functions: a
module that needs another only for its types still cannot be read without it. The numbers may only get smaller.
"""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "orchctl"
MOST_MODULES = 260
MOST_IN_CIRCLES = 15
SMALL_LINES = 50
MOST_SMALL = 20


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


def test_no_more_modules_import_each_other_in_circles() -> None:
    modules = _modules()
    graph = {name: _imports(path, set(modules)) - {name} for name, path in modules.items()}
    circles = _circles(graph)
    print(f"{sum(map(len, circles))} modules in {len(circles)} circles")
    assert sum(map(len, circles)) <= MOST_IN_CIRCLES, "\n".join(" ".join(sorted(circle)) for circle in circles)


def test_there_are_not_too_many_modules_nor_too_many_small_ones() -> None:
    lengths = dict(_lengths())
    small = sorted(name for name, lines in lengths.items() if lines < SMALL_LINES)
    median = statistics.median(lengths.values())
    longest = max(lengths.values())
    print(f"{len(lengths)} modules, {len(small)} under {SMALL_LINES} lines, median {median}, longest {longest}")
    assert len(lengths) <= MOST_MODULES
    assert len(small) <= MOST_SMALL, "\n".join(small)

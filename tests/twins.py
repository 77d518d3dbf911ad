"""Makes the asynchronous client from the blocking one: `python -m tests.twins` writes what has changed.

Each class that `Client` is made of, and `SessionHandle`, has its twin in `orchctl/client/aio/`, in a module of the same
name: the same methods with the same parameters, awaiting what the blocking one waits for. What talks to the socket is
written by hand there, and found here by its name: `AsyncX` stands for `X`, a coroutine function for the function of the
same name, and what `AsyncAsking` defines is not made again.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from orchctl.client.client import Client
from orchctl.client.handle import SessionHandle

TOP = Path(__file__).parent.parent
AIO = "orchctl.client.aio"
BY_HAND = ("connection", "streams", "ephemeral", "patience", "gathering", "looking", "waiting")
FOR_BLOCKING_ONLY = {"__enter__", "__exit__", "pexpect", "attach", "_itself"}
STREAMS = {"output", "events", "run"}
HEAD = "The awaitable twin of `orchctl/client/{name}.py`, made from it by `python -m tests.twins`; not to be edited."


def sources() -> list[ModuleType]:
    """The modules that have a made twin."""
    kinds = [kind for kind in (*Client.__mro__, SessionHandle) if kind.__module__.startswith("orchctl.client.")]
    names = [name for name in dict.fromkeys(kind.__module__ for kind in kinds) if name.split(".")[-1] not in BY_HAND]
    return [importlib.import_module(name) for name in names]


def path_of(source: ModuleType) -> Path:
    """Where the twin of a module lies."""
    return TOP / "orchctl" / "client" / "aio" / f"{source.__name__.rpartition('.')[2]}.py"


def made(source: ModuleType) -> str:
    """The text of a module's twin."""
    trees = {one.__name__: ast.parse(inspect.getsource(one)) for one in sources()}
    twin = _Twin(source, trees).module()
    text = ast.unparse(ast.fix_missing_locations(twin))
    for words in (["check", "--quiet", "--fix-only", "--select", "I", "-"], ["format", "--quiet", "-"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", str(path_of(source))]
        text = subprocess.run(command, input=text, capture_output=True, check=True, text=True, cwd=TOP).stdout
    return text


class _Twin(ast.NodeTransformer):
    """One module on its way."""

    def __init__(self, source: ModuleType, trees: dict[str, ast.Module]) -> None:
        self._source = source
        self._tree = trees[source.__name__]
        own = {one.name: name for name, tree in trees.items() for one in tree.body if isinstance(one, ast.ClassDef)}
        self._homes = {name: _twin_module(home) for name, home in own.items()}
        self._coroutines = set[str]()
        for module in BY_HAND:
            for found in _by_hand(module).body:
                if isinstance(found, ast.ClassDef) and found.name.startswith("Async"):
                    self._homes[found.name.removeprefix("Async")] = f"{AIO}.{module}"
                elif isinstance(found, ast.AsyncFunctionDef):
                    self._homes[found.name] = f"{AIO}.{module}"
                    self._coroutines.add(found.name)
        self._asking = _methods(_by_hand("asking"))
        self._awaited = _awaited(trees, self._coroutines)

    def module(self) -> ast.Module:
        """Imports, and the twins of its classes."""
        classes = [self.visit(one) for one in self._tree.body if isinstance(one, ast.ClassDef)]
        used = {node.id for one in classes for node in ast.walk(one) if isinstance(node, ast.Name)}
        imports = [kept for one in self._tree.body for kept in self._imports(one, used)]
        name = self._source.__name__
        theirs = sorted(used & _defined(self._tree))
        if theirs:
            imports.append(ast.ImportFrom(name, [ast.alias(one) for one in theirs], 0))
        if any(one.name == "AsyncClient" for one in classes):
            imports.append(ast.ImportFrom(f"{AIO}.asking", [ast.alias("AsyncAsking")], 0))
        imports.sort(key=lambda one: isinstance(one, ast.If))
        head = HEAD.format(name=name.rpartition(".")[2])
        return ast.Module([ast.Expr(ast.Constant(head)), *imports, *classes], [])

    def _imports(self, node: ast.stmt, used: set[str]) -> list[ast.stmt]:
        """What of an import is used, from where its twin is."""
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            body = [kept for one in node.body for kept in self._imports(one, used)]
            return [ast.If(node.test, body, [])] if body else []
        if isinstance(node, ast.ImportFrom):
            if node.module in ("__future__", "typing"):
                used = used | {"annotations", "TYPE_CHECKING"}
            return [one for one in self.visit_ImportFrom(node) if {_bound(name) for name in one.names} & used]
        if isinstance(node, ast.Import):
            names = [name for name in node.names if _bound(name) in used]
            return [ast.Import(names)] if names else []
        return []

    # what is changed

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.ImportFrom]:
        """One import for each name, from the twin's module if it has one."""
        return [
            ast.ImportFrom(self._homes.get(alias.name, node.module), [ast.alias(self._named(alias.name))], node.level)
            for alias in node.names
        ]

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A class by its twin's name."""
        return ast.copy_location(ast.Name(self._named(node.id), node.ctx), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """With the methods that are not written by hand."""
        by_hand = {one.name for one in self._asking} if node.name != "SessionHandle" else set[str]()
        body = [one for one in node.body if not (isinstance(one, ast.FunctionDef) and one.name in FOR_BLOCKING_ONLY)]
        if node.name == "Client":
            body = [one for one in body if not (isinstance(one, ast.FunctionDef) and one.name in by_hand)]
        body = [_declared(one) if isinstance(one, ast.FunctionDef) and one.name in by_hand else one for one in body]
        bases: list[ast.expr] = [self.visit(base) for base in node.bases]
        if node.name == "Client":
            bases.insert(0, ast.Name("AsyncAsking", ast.Load()))
        return ast.ClassDef(
            self._named(node.name),
            bases,
            [],
            [self.visit(one) for one in body],
            [self.visit(d) for d in node.decorator_list],
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """A coroutine function, if it awaits anything."""
        self.generic_visit(node)
        if node.name not in self._awaited:
            return node
        return ast.AsyncFunctionDef(
            node.name, node.args, node.body, node.decorator_list, node.returns, node.type_comment
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Awaited, if the twin of what is called is a coroutine function."""
        waits = _called(node) in self._awaited | self._coroutines
        self.generic_visit(node)
        return ast.Await(node) if waits else node

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Asynchronous, if it is over a stream."""
        streams_here = _is_stream(node.iter)
        self.generic_visit(node)
        return ast.AsyncFor(node.target, node.iter, node.body, node.orelse, None) if streams_here else node

    def _named(self, name: str) -> str:
        return f"Async{name}" if name in self._homes and name not in self._coroutines else name


def _declared(node: ast.FunctionDef) -> ast.FunctionDef:
    """Only what it is: another part of the client has it."""
    if any(ast.unparse(one) == "abstractmethod" for one in node.decorator_list):
        return node
    words = [ast.Expr(ast.Constant(ast.get_docstring(node) or "By hand."))]
    abstract: list[ast.expr] = [ast.Name("abstractmethod", ast.Load())]
    return ast.FunctionDef(node.name, node.args, list[ast.stmt](words), abstract, node.returns, node.type_comment)


def _by_hand(name: str) -> ast.Module:
    return ast.parse((TOP / "orchctl" / "client" / "aio" / f"{name}.py").read_text())


def _methods(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = [kind for kind in tree.body if isinstance(kind, ast.ClassDef)]
    return [one for kind in kinds for one in kind.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def _twin_module(name: str) -> str:
    return f"{AIO}.{name.rpartition('.')[2]}"


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _defined(tree: ast.Module) -> set[str]:
    """Functions and constants of a module: the twin uses them where they are."""
    found = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    targets = [target for one in tree.body if isinstance(one, ast.Assign) for target in one.targets]
    return found | {target.id for target in targets if isinstance(target, ast.Name)}


def _called(node: ast.Call) -> str | None:
    """The method of ours, or the function, that is called."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("self", "self._client", "patience"):
        return node.func.attr
    return None


def _is_stream(node: ast.expr) -> bool:
    """Whether it is a call of a method that gives a stream; one kept in a variable wants a function by hand."""
    return isinstance(node, ast.Call) and _called(node) in STREAMS


def _awaited(trees: dict[str, ast.Module], coroutines: set[str]) -> set[str]:
    """The methods that wait for the supervisor: those by hand, and all that call one of them."""
    methods = [(method.name, method) for tree in trees.values() for method in _methods(tree)]
    by_hand = [*_methods(_by_hand("asking")), *_methods(_by_hand("patience")), *_methods(_by_hand("waiting"))]
    found = {one.name for one in by_hand if isinstance(one, ast.AsyncFunctionDef)}
    while True:
        calls = {
            name
            for name, method in methods
            for node in ast.walk(method)
            if (isinstance(node, ast.Call) and _called(node) in found | coroutines)
            or (isinstance(node, ast.For) and _is_stream(node.iter))
        }
        if calls <= found:
            return found
        found |= calls


def main() -> None:
    """Write every twin that is not as it should be."""
    for source in sources():
        path, text = path_of(source), made(source)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path.relative_to(TOP))


if __name__ == "__main__":
    main()

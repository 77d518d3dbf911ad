"""One mutant as it is on disk: what it says, which tests it names, and whether it keeps the rules."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from dataclasses import dataclass

FOLDER = os.path.dirname(__file__)
SUFFIX = ".patch"
LIMIT_LINES = 5
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_DIFF = re.compile(r"^(?=diff --git |--- )", re.MULTILINE)
_PATHS = re.compile(r"^(?:--- a/|\+\+\+ b/|rename from |rename to )(\S+)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@.*\n((?:[ +\\-].*\n|\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake in words and as a diff, and the ids of the tests that must fail under it."""

    name: str
    path: str
    sentence: str
    tests: tuple[str, ...]
    diff: str

    @property
    def files(self) -> list[str]:
        """What it changes, takes away or makes, relative to the top of the tree."""
        return sorted(set(_PATHS.findall(self.diff)))

    @property
    def changed_lines(self) -> int:
        """A line that is replaced counts once; a file that is only renamed counts nothing."""
        hunks = [body.splitlines() for _, _, body in _HUNK.findall(self.diff)]
        return sum(max(sum(line[:1] == sign for line in lines) for sign in "+-") for lines in hunks)


def read(path: str) -> Mutant:
    """The mutant in a file, whether it keeps the rules or not."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *diff = _DIFF.split(file.read(), maxsplit=1)
    lines = [line.strip() for line in header.splitlines()]
    tests = tuple(line.removeprefix("Test:").strip() for line in lines if line.startswith("Test:"))
    sentence = " ".join(line for line in lines if line and not line.startswith("Test:"))
    return Mutant(os.path.basename(path).removesuffix(SUFFIX), path, sentence, tests, "".join(diff))


def read_all(folder: str = FOLDER) -> list[Mutant]:
    """Every mutant, by name."""
    return [read(f"{folder}/{name}") for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]


def troubles(mutant: Mutant, root: str) -> list[str]:
    """What is wrong with a mutant, judged without running anything of the tree at `root`."""
    found = []
    if not NAME.fullmatch(mutant.name):
        found.append("its name is not SUBJECT-WHAT in small letters")
    if not mutant.sentence.endswith("."):
        found.append("no sentence says what the mistake is")
    if not mutant.tests:
        found.append("it names no test")
    if not mutant.files:
        found.append("it changes nothing")
    if mutant.changed_lines > LIMIT_LINES:
        found.append(f"it changes {mutant.changed_lines} lines; at most {LIMIT_LINES}")
    found += [f"test unknown: {test}" for test in mutant.tests if not is_defined(test, root)]
    found += [f"does not apply: {error}" for error in [apply(mutant, root, check=True)] if error]
    return found or [f"several places in {file} look like the one it means" for file in _ambiguous(mutant, root)]


def is_defined(test: str, root: str) -> bool:
    """Whether the file of a test id has the function that it names; its parameters are for pytest to know."""
    file, *names = test.partition("[")[0].split("::")
    return bool(names) and _defines(file, names, root)


def _defines(file: str, names: list[str], root: str) -> bool:
    """A function of a file, or a method of a class there or of one that it is derived from."""
    try:
        with open(f"{root}/{file}", encoding="utf-8") as source:
            module = ast.parse(source.read())
    except (OSError, SyntaxError):
        return False
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = next((one for one in module.body if isinstance(one, kinds) and one.name == names[0]), None)
    if found is None or len(names) == 1:
        return found is not None and not isinstance(found, ast.ClassDef)
    if not isinstance(found, ast.ClassDef) or len(names) > 2:
        return False
    if any(isinstance(one, kinds) and one.name == names[1] for one in found.body):
        return True
    bases = {base.id for base in found.bases if isinstance(base, ast.Name)}
    places = [(file, one.name) for one in module.body if isinstance(one, ast.ClassDef)]
    for one in module.body:
        if isinstance(one, ast.ImportFrom) and one.module is not None:
            places += [(f"{one.module.replace('.', '/')}.py", alias.name) for alias in one.names]
    return any(_defines(other, [name, names[1]], root) for other, name in places if name in bases)


def apply(mutant: Mutant, root: str, *, check: bool = False) -> str:
    """Make the mistake in the tree at `root`, or only see whether that can be done; what git says if not."""
    own = {
        "GIT_CEILING_DIRECTORIES": os.path.dirname(root),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    words = ["git", "apply", *(["--check"] if check else []), mutant.path]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | own
    done = subprocess.run(words, cwd=root, env=env, capture_output=True, check=False)
    return done.stderr.decode(errors="replace").strip() if done.returncode else ""


def _ambiguous(mutant: Mutant, root: str) -> list[str]:
    """The files in which git could find a hunk's place twice, and make another mistake than the one that is meant."""
    found = []
    for part in re.split(r"^(?=diff --git )", mutant.diff, flags=re.MULTILINE):
        paths = _PATHS.findall(part)
        for _, _, body in _HUNK.findall(part) if paths else []:
            old = "".join(line[1:] for line in body.splitlines(keepends=True) if line[:1] in (" ", "-"))
            with open(f"{root}/{paths[0]}", encoding="utf-8", newline="") as file:
                text = "\n" + file.read()
            found += [paths[0]] * (text.count("\n" + old) > 1)
    return found

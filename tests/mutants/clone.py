"""A copy of the tree with an environment of its own, in which mutants are made and tests are run.

The tests' `sys.executable` is the clone's, so that the `orchctl` beside it, and every process that it starts as
`python -m orchctl…`, run the clone's code. What a mistake leaves running is ended here, by pid, and what it leaves
on disk goes with the clone: its temporary directory lies in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.mutants import patch
from tests.mutants.patch import Mutant

TEST_S = 60  # for one test; what takes longer under a mistake hangs, and that is a failure
STARTUP_S = 60.0  # on top of that for a whole run of pytest
GONE_S = 30.0  # what SIGKILL has not ended by then is told of
_LEFT_OUT = (".git", ".venv", ".cache", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis", "dist", "build")
_SCRIPT = "#!{python}\nimport sys\n\nfrom orchctl.cli.main import main\n\nsys.exit(main())\n"


@dataclass(slots=True)
class Outcome:
    """What pytest said about the tests that it was asked for."""

    status: int | None  # pytest's own exit code; None when it did not come to its end
    output: str
    failed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)


class Clone:
    """One copy of the tree at `root`, below `folder`; used by one thread."""

    def __init__(self, root: str, folder: str) -> None:
        self.tree = f"{folder}/tree"
        self._folder = folder
        self._temporary = f"{folder}/t"  # short, because paths to sockets must be
        self._python = f"{folder}/venv/bin/python"
        os.makedirs(self._temporary)
        _copy(root, self.tree)
        self._make_environment()

    def _make_environment(self) -> None:
        """The clone's code first, then the packages of the environment that runs this."""
        venv.create(f"{self._folder}/venv", symlinks=True)
        folders = {"base": f"{self._folder}/venv", "platbase": f"{self._folder}/venv"}
        own = sysconfig.get_path("purelib", "venv", vars=folders)
        found = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
        with open(f"{own}/clone.pth", "w", encoding="utf-8") as file:
            file.write("\n".join(dict.fromkeys([self.tree, *found])) + "\n")
        script = f"{self._folder}/venv/bin/orchctl"
        with open(script, "w", encoding="utf-8") as file:
            file.write(_SCRIPT.format(python=self._python))
        os.chmod(script, 0o755)

    def origin(self, module: str) -> str:
        """Where the clone's interpreter finds a module, started as the product starts its daemons."""
        words = [self._python, "-P", "-c", f"import {module}; print({module}.__file__)"]
        done = subprocess.run(words, cwd="/", env=self._env(), capture_output=True, check=True, text=True)
        return done.stdout.strip()

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[str]:
        """With the mistake in the tree, and afterwards without; what git says where it does not apply."""
        before = {file: _read(f"{self.tree}/{file}") for file in mutant.files}
        try:
            error = patch.apply(mutant, self.tree)
            self._forget_bytecode(mutant.files)
            yield error
        finally:
            for file, data in before.items():
                _write(f"{self.tree}/{file}", data)
            self._forget_bytecode(mutant.files)

    def run(self, tests: list[str], *, test_s: int = TEST_S) -> Outcome:
        """What becomes of these tests; nothing that they started lives on."""
        options = ["-rfEp", "--tb=short", "-o", f"timeout={test_s}", "-n", "0", "-p", "no:cacheprovider"]
        words = [self._python, "-m", "pytest", *options, *tests]
        said = f"{self._folder}/said"  # no pipe: what a mistake leaves running would hold it open
        with open(said, "wb") as file:
            pytest = subprocess.Popen(
                words,
                cwd=self.tree,
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        status: int | None = None
        try:
            status = pytest.wait(len(tests) * test_s + STARTUP_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.clear()
            pytest.wait()
        return _outcome(status, (_read(said) or b"").decode(errors="replace"), tests)

    def clear(self) -> None:
        """End what was started here, and take away what it made, as often as more turns up."""
        deadline = time.monotonic() + GONE_S
        while left := processes_of(self._folder):
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes {left} of {self._folder} cannot be ended")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)  # a killed process is there until it is reaped
        shutil.rmtree(self._temporary, ignore_errors=True)
        os.makedirs(self._temporary, exist_ok=True)

    def _forget_bytecode(self, files: list[str]) -> None:
        """Python tells a file that was changed by its size and the second: too coarse for two mistakes in a row."""
        for folder in {os.path.dirname(f"{self.tree}/{file}") for file in files}:
            shutil.rmtree(f"{folder}/__pycache__", ignore_errors=True)

    def _env(self) -> dict[str, str]:
        taken_away = ("PYTHON", "PYTEST_", "VIRTUAL_ENV", "ORCHCTL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(taken_away)}
        return kept | {"TMPDIR": self._temporary}


def processes_of(folder: str) -> list[int]:
    """Every process but this one that names a directory in its command line, environment or as where it is.

    What one of them does not show is passed over: our daemons let nobody look at their environment.
    """
    wanted, found = os.fsencode(folder), []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid() and any(wanted in words for words in _traits(entry)):
            found.append(int(entry))
    return found


def _traits(pid: str) -> list[bytes]:
    found = []
    with contextlib.suppress(OSError):
        found.append(os.fsencode(os.readlink(f"/proc/{pid}/cwd")))
    for name in ("cmdline", "environ"):  # a zombie has neither
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
            found.append(file.read())
    return found


def _outcome(status: int | None, output: str, tests: list[str]) -> Outcome:
    """From pytest's short summary; a test that is named without its parameters failed if it failed with one of them."""
    outcome = Outcome(status, output)
    for test in tests:
        for word, found in (("FAILED", outcome.failed), ("PASSED", outcome.passed)):
            begins = tuple(f"{word} {test}{end}" for end in ("\n", " - ", "["))
            if any(f"{line}\n".startswith(begins) for line in output.splitlines()):
                found.add(test)
    outcome.passed -= outcome.failed
    return outcome


def _copy(root: str, tree: str) -> None:
    """What belongs to the tree: as git knows it, or all but what is made by tools where there is no git."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = (
        subprocess.run(words, cwd=root, capture_output=True, check=False) if os.path.exists(f"{root}/.git") else None
    )
    if listed is None or listed.returncode:
        shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        return
    for name in filter(None, map(os.fsdecode, listed.stdout.split(b"\0"))):
        if os.path.lexists(f"{root}/{name}"):
            os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
            shutil.copy2(f"{root}/{name}", f"{tree}/{name}", follow_symlinks=False)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write(path: str, data: bytes | None) -> None:
    if data is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)

"""A virtual environment with an orchctl of its own, and a world that runs it.

No network is needed. What orchctl depends on is the running interpreter's, by links. Its orchctl is not among these, so
that nothing but the installed wheel can answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.upgrade import commands as commands_of_installation
from tests.world import DEADLINE_S, World, _read

_NOT_LINKED = ("orchctl", "_orchctl", "__editable__", "_editable", "__pycache__")
_PIP = (
    "--disable-pip-version-check",
    "--isolated",
    "--no-input",
    "--no-cache-dir",
    "--no-index",
    "--no-deps",
    "--no-compile",
)
_WHICH = "import json, orchctl, orchctl.version as v; print(json.dumps([orchctl.__file__, v.VERSION]))"


class Installation:
    """One environment; a wheel is installed in it, and another over that one."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.python = f"{folder}/bin/python"
        self.orchctl = f"{folder}/bin/orchctl"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        _link_dependencies(Path(folder, "dependencies"))
        packages.joinpath("dependencies.pth").write_text(f"{folder}/dependencies\n")

    def install(self, wheel: Path) -> None:
        """As `pip install` does: what was there is taken away, the new files are put there."""
        words = [sys.executable, "-m", "pip", "--python", self.python, "install", "-q", *_PIP, "--force-reinstall"]
        done = subprocess.run([*words, str(wheel)], capture_output=True, check=False)
        assert done.returncode == 0, done

    def version(self) -> str:
        """Of what is installed, which must be what the environment's interpreter finds."""
        done = subprocess.run([self.python, "-P", "-c", _WHICH], stdout=subprocess.PIPE, cwd=self.folder, check=True)
        file, version = json.loads(done.stdout)
        assert file.startswith(f"{self.folder}/lib/"), file
        return str(version)


def _link_dependencies(folder: Path) -> None:
    """The packages of the running interpreter, but for orchctl; a `.pth` among them would not be read there anyway."""
    folder.mkdir()
    for place in map(Path, sys.path):
        if place.name in ("site-packages", "dist-packages") and place.is_dir():
            for entry in place.iterdir():
                link = folder / entry.name
                if not entry.name.startswith(_NOT_LINKED) and entry.suffix != ".pth" and not link.exists():
                    link.symlink_to(entry)


class UpgradedWorld(World):
    """Its command line is that of an installation of its own."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.installed = Installation(f"{folder}/venv")

    def run(self, *words: str, timeout: float = DEADLINE_S, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """One command of the installed version to its end."""
        options = {"env": self.env, "cwd": self.folder, "capture_output": True, "stdin": subprocess.DEVNULL, **options}
        return subprocess.run([self.installed.orchctl, *words], timeout=timeout, check=False, **options)

    def look(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """By the installed version too."""
        return self.run(*words)

    def run_many(self, commands: list[list[str]]) -> list[subprocess.CompletedProcess[bytes]]:
        """Commands of the installed version to their ends, in any order."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            words = [self.installed.python, "-P", commands_of_installation.__file__, folder]
            lines = "".join(json.dumps(one) + "\n" for one in commands)
            done = subprocess.run(
                words,
                input=lines.encode(),
                env=self.env,
                cwd=self.folder,
                capture_output=True,
                timeout=300,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, b""), done
            return [
                subprocess.CompletedProcess(one, int(code), _read(f"{folder}/{at}.out"), _read(f"{folder}/{at}.err"))
                for at, (one, code) in enumerate(zip(commands, done.stdout.split(), strict=True))
            ]

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """A command of the installed version, left running; the caller waits for it."""
        options = {"env": self.env, "cwd": self.folder, "stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen([self.installed.orchctl, *words], **options)

    def file(self, name: str) -> str:
        """A place for what the programs and the test tell each other."""
        return os.path.join(self.folder, name)

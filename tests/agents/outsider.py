"""A backend outside the package, and an environment in which it is installed: found by its entry point alone."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv

from tests.agents.kits import Kit
from tests.world import World

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "outsider"
_MODULE = """
from orchctl.agents.scripted import ScriptedHarness

class Outsider(ScriptedHarness):
    name = "outsider"

HARNESS = Outsider()
"""
_BROKEN = 'raise RuntimeError("no licence")\n'
_ENTRIES = "[orchctl.agents]\noutsider = outsider:HARNESS\nbroken = broken_outsider:HARNESS\n"


class Outside(Kit):
    """The scripted agent's server behind a backend that another package brings."""

    def prepare(self, world: World) -> None:
        """The supervisor starts where that package is installed, and so does every one that follows it."""
        self.config = self.config.replace('harness = "scripted"', f'harness = "{NAME}"')
        super().prepare(world)
        run(world, "supervisor", "start")

    def restart(self, world: World) -> None:
        """By the orchctl that has the package beside it."""
        run(world, "supervisor", "restart")


def outside(world: World, kit: Kit) -> Outside:
    """The same agent, by the backend outside."""
    return Outside(profile=kit.profile, config=kit.config, env=kit.env, can_die=kit.can_die)


def run(world: World, *words: str) -> str:
    """A command of an orchctl beside which the package is installed."""
    python = f"{world.folder}/venv/bin/python"
    if not os.path.exists(python):
        _install(f"{world.folder}/venv")
    code = "import sys; from orchctl.cli.main import main; sys.exit(main())"
    done = subprocess.run([python, "-c", code, *words], env=world.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def _install(folder: str) -> None:
    venv.create(folder, symlinks=True)
    own = sysconfig.get_path("purelib", "venv", vars={"base": folder, "platbase": folder})
    paths = [TOP, *(path for path in sys.path if path.endswith("site-packages"))]
    files = {
        "tree.pth": "\n".join(dict.fromkeys(paths)) + "\n",
        f"{NAME}.py": _MODULE,
        f"broken_{NAME}.py": _BROKEN,
        f"{NAME}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
        f"{NAME}-1.0.dist-info/entry_points.txt": _ENTRIES,
    }
    os.makedirs(f"{own}/{NAME}-1.0.dist-info")
    for name, text in files.items():
        with open(f"{own}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

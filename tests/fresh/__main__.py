"""Try README on a fresh machine: `python -m tests.fresh [--folder DIR] [--user root] [--user newcomer] [--no-tests]`.

Needs root, debootstrap and tmux. Prints all that the commands print, and ends with a line for each user.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile

from tests.fresh import tour
from tests.fresh.machine import USER, Machine, NoMachine
from tests.readme import README, blocks

NOT_HERE = 77  # it cannot be tried on this machine; what is printed says why
_COUNTS = re.compile(r"^(\d+ (?:passed|failed)[^\n]*)$|^(\d+ skipped: [^\n]*)$", re.MULTILINE)


def main() -> int:
    """Everything happens in namespaces of our own, with a first process that waits for orphans."""
    parser = argparse.ArgumentParser(prog="python -m tests.fresh", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", help="where the machine is made, and kept for the next time")
    parser.add_argument("--user", action="append", choices=["root", USER], help="both if not given")
    parser.add_argument("--no-tests", action="store_true", help="leave the second command out")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.inside:
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
        again = [sys.executable, "-m", "tests.fresh", "--inside", *sys.argv[1:]]
        os.execvp("unshare", [*apart, "bash", "-c", '"$@"; exit $?', "bash", *again])
    folder = given.folder or tempfile.mkdtemp(prefix="oc-fresh-")
    try:
        return _try(Machine(folder), given.user or ["root", USER], tests=not given.no_tests)
    except NoMachine as error:
        print(f"cannot be tried here: {error}")
        return NOT_HERE
    finally:
        if given.folder is None:
            _remove(folder)


def _try(machine: Machine, users: list[str], *, tests: bool) -> int:
    machine.make()
    install, test = (block.text.strip() for block in blocks("sh")[:2])
    verdicts, failed = [], False
    for user in users:
        tree = machine.put(str(README.parent), user)
        first = machine.run(user, tree, install)
        said = f"{user}: install {first.returncode}"
        wrong = tour.take(machine, user, tree) if first.returncode == 0 else ["not taken"]
        print("\n\n".join(wrong))
        said += f", tour {len(wrong)} wrong"
        failed |= first.returncode != 0 or bool(wrong)
        if tests:
            tree = machine.put(str(README.parent), user)
            second = machine.run(user, tree, test)
            failed |= second.returncode != 0
            said += f", tests {second.returncode}: " + "; ".join(
                one or other for one, other in _COUNTS.findall(second.stdout)
            )
        verdicts.append(said)
    print("\n".join(verdicts))
    return int(failed)


def _remove(folder: str) -> None:
    """Nothing of ours is mounted there any more once each mount is let go."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounted = [line.split()[1] for line in file if line.split()[1].startswith(f"{folder}/")]
    for path in reversed(mounted):
        os.system(f"umount -l {path}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())

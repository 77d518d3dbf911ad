"""`python -m tests.cli.snapshot [COMMAND ...]`: accept what commands do now; without a name, all of them.

A command of two words is one argument (`"lease take"`) or two with a hyphen (`lease-take`).
"""

from __future__ import annotations

import contextlib
import sys

from tests.cli.snapshot.forks import Forks
from tests.cli.snapshot.lines import EVERY, READERS
from tests.cli.snapshot.record import HERE, help_path_of, helps, path_of, record_help, write
from tests.cli.surface.scene import scene


def main(words: list[str]) -> None:
    """Write the files, and remove those of commands that are gone."""
    known = {name.replace(" ", "-"): name for name in EVERY}
    chosen = [known[word.replace(" ", "-")] for word in words] or EVERY
    with contextlib.ExitStack() as stack:
        server = Forks()
        readers = stack.enter_context(scene(agents=False)) if READERS.intersection(chosen) else None
        for name in chosen:
            write(name, server, readers)
        (HERE / "help").mkdir(exist_ok=True)
        for name in helps():
            if name in chosen or not words:
                help_path_of(name).write_text(record_help(name, server), encoding="utf-8")
    if not words:
        wanted = {*map(path_of, EVERY), *map(help_path_of, helps())}
        for path in {*HERE.glob("*.txt"), *HERE.glob("help/*.txt")} - wanted:
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])

"""`python -m tests.mutants [NAME …] [-j N]`: make each mistake in a clone; its test must fail there.

Ends with 0 if every mutant is caught, and else with 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import signal
import subprocess
import sys
import time

from tests.mutants import patch, runner

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> int:
    """Run those that are named, or all."""
    options = _options()
    if options.take:
        return _take(options.take)
    mutants = [one for one in patch.read_all() if not options.names or _named(one.name, options.names)]
    if not mutants:
        print("no mutant goes by that name", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # in the background the first one is ignored
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # by an exception: nothing is left behind
    began = time.monotonic()
    verdicts = runner.run(mutants, ROOT, workers=options.workers, told=lambda verdict: _show(verdict, options.verbose))
    print(f"{runner.summary(verdicts)} in {time.monotonic() - began:.0f} s")
    return int(any(verdict.trouble for verdict in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="Run these mutants; * and ? stand for any characters.")
    parser.add_argument("-j", dest="workers", type=int, default=runner.workers_here(), help="Run N clones at once.")
    parser.add_argument("-v", dest="verbose", action="store_true", help="Show what pytest printed under a survivor.")
    parser.add_argument("--take", metavar="NAME", help="Put the changes in the work tree into NAME.patch.")
    return parser.parse_args()


def _named(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _show(verdict: runner.Verdict, verbose: bool) -> None:
    print(verdict, flush=True)
    if verbose and verdict.output:
        print(verdict.output)


def _take(name: str) -> int:
    """Keep what stands above the diff, so that a mutant can be refreshed."""
    path = f"{patch.FOLDER}/{name}{patch.SUFFIX}"
    words = ["git", "diff", "-U1", "--no-color", "--no-ext-diff", "-M", "--", "orchctl"]
    diff = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    if not diff:
        print("nothing is changed below orchctl/", file=sys.stderr)
        return 1
    header = "Say what the mistake is\n\nTest: tests/FILE.py::test_NAME\n\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        header = text[: len(text) - len(patch.read(path).diff)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(header + "".join(line for line in diff.splitlines(keepends=True) if not line.startswith("index ")))
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.chaos [--seed N] [--minutes M] …`: a run of any length; ends with 1 if anything was found."""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys

from tests.chaos import run
from tests.chaos.schedule import KINDS, SLOTS


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """One run."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="Use the schedule of seed N.")
    parser.add_argument("--minutes", type=float, default=1.0, help="Begin new sessions and faults for M minutes.")
    parser.add_argument("--slots", type=int, default=SLOTS, help="Keep N sessions running.")
    parser.add_argument("--disk", default="", help="Put the state directory on a tmpfs of this size (needs root).")
    parser.add_argument("--log", default="", help="Copy the supervisors' log to this file.")
    parser.add_argument("--kinds", nargs="*", default=[], choices=list(KINDS), help="Use only these kinds of fault.")
    parser.add_argument("--without", nargs="*", default=[], choices=list(KINDS), help="Leave out these kinds of fault.")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # by an exception: nothing is left behind
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    kinds = [kind for kind in options.kinds or KINDS if kind not in options.without]
    report = run.run(
        options.seed,
        60 * options.minutes,
        kinds=kinds,
        slots=options.slots,
        disk=options.disk,
        log=options.log,
        say=_say,
    )
    print(report)
    return int(bool(report.findings or report.missing))


if __name__ == "__main__":
    sys.exit(main())

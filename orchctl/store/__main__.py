"""`python -m orchctl.store verify ROOT [--session ID]…`: the check as a process of its own, for the command line.

One JSON object a line for each finding, then one with the summary.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from orchctl.store.verify import Tally, verify


def main() -> None:
    """Print what is found as it is found; the exit code says only whether we got through."""
    parser = argparse.ArgumentParser(prog="orchctl.store")
    parser.add_argument("action", choices=["verify"])
    parser.add_argument("root")
    parser.add_argument("--session", action="append", dest="sessions", metavar="ID")
    asked = parser.parse_args()
    tally, count = Tally(), 0
    for count, finding in enumerate(verify(asked.root, asked.sessions, tally), 1):  # noqa: B007 - the last one stays
        _print(asdict(finding))
    _print({"summary": {**asdict(tally), "findings": count}})


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""`python -m orchctl.log.check ACTION ROOT …`: what the files say, by a process of its own, for the command line.

`verify`: one JSON object a line for each finding, then one with the summary. `usage`: one for each session. `audit`:
one for each thing that somebody did. `chain`: one for each record that does not follow, then one with the summary.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from orchctl.errors import OrchctlError
from orchctl.log.check.chain import audit, check_chain
from orchctl.log.check.verify import Tally, verify
from orchctl.log.retention import usage


def main() -> None:
    """Print what is found as it is found; the exit code says only whether we got through."""
    parser = argparse.ArgumentParser(prog="orchctl.log")
    parser.add_argument("action", choices=["verify", "usage", "audit", "chain"])
    parser.add_argument("root")
    parser.add_argument("--session", action="append", dest="sessions", metavar="ID")
    parser.add_argument("--since-seq", type=int, default=0)
    parser.add_argument("--since", type=float)
    parser.add_argument("--head")
    parser.add_argument("--own", default="user", metavar="MANAGER")
    asked = parser.parse_args()
    if asked.action == "usage":
        for use in usage(asked.root):
            _print(asdict(use))
    elif asked.action == "chain":
        for line in check_chain(asked.root, asked.head):
            _print(line)
    elif asked.action == "audit":
        try:
            for event in audit(
                asked.root, asked.sessions or [], asked.own, since_seq=asked.since_seq, since=asked.since
            ):
                _print(event)
        except OrchctlError as error:
            _print({"error": type(error).__name__, "code": error.code, "message": error.message})
    else:
        _verify(asked)


def _verify(asked: argparse.Namespace) -> None:
    tally, count = Tally(), 0
    for count, finding in enumerate(verify(asked.root, asked.sessions, tally), 1):  # noqa: B007 - the last one stays
        _print(asdict(finding))
    _print({"summary": {**asdict(tally), "findings": count}})


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""`python -m tests.ledger`: write new ids into the ledger, and say what `moved.txt` must account for."""

from __future__ import annotations

import sys

from tests.ledger import IDS, MOVED, problems, read_ids, read_moves, write_ids
from tests.ledger.collect import collected


def main() -> int:
    """Nothing is ever taken out of the ledger."""
    there = collected()
    known = read_ids(IDS.read_text(encoding="utf-8")) if IDS.exists() else []
    ledger = {*known, *there}
    IDS.write_text(write_ids(ledger), encoding="utf-8")
    print(f"{len(ledger) - len(known)} new of {len(ledger)}")
    found = problems(ledger, read_moves(MOVED.read_text(encoding="utf-8")), there)
    print("".join(f"{problem}\n" for problem in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Thirty sessions of all kinds under faults: every byte, every exit code, every typed key, every answer in time.

`CHAOS_SECONDS=1800 CHAOS_SEED=3 pytest --long tests/chaos` runs for as long and with the schedule that is wanted.
"""

from __future__ import annotations

import os

import pytest

from tests.chaos import run
from tests.needs import needs

SECONDS = 60.0
LONG_SECONDS = float(os.environ.get("CHAOS_SECONDS", "600"))
SEED = int(os.environ.get("CHAOS_SEED", "16"))


@needs("gcc")
@pytest.mark.timeout(LONG_SECONDS + 900)
def test_thirty_sessions_of_all_kinds_under_faults_of_all_kinds_keep_every_promise(long_form: bool) -> None:
    report = run.run(SEED, LONG_SECONDS if long_form else SECONDS)
    print(report)
    assert not report.findings, str(report)
    assert not report.missing, str(report)

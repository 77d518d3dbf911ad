"""Thirty sessions of all kinds under faults: every byte, every exit code, every typed key, every answer in time."""

from __future__ import annotations

from tests.chaos import run

SECONDS, LONG_SECONDS = 36.0, 600.0


def _check(report: run.Report) -> None:
    print(report)
    assert not report.findings, str(report)
    assert not report.missing, str(report)


def test_thirty_sessions_of_all_kinds_under_faults_of_all_kinds_keep_every_promise(long_form: bool) -> None:
    _check(run.run(16, LONG_SECONDS if long_form else SECONDS))

"""Fixtures that run the real thing: a state directory of the test's own, and proof that nothing of it stays."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests import needs
from tests.world import World, fresh_world

LONG_S = 2 * 3600
settings.register_profile("here", database=None, deadline=None)  # nothing is left behind, and machines are busy
settings.load_profile("here")


def pytest_configure() -> None:
    """Whoever runs this in the background or under nohup ignores signals, and everything that we start would too.

    And whoever wants no bytecode files would have each of thousands of commands compile all its modules. Options for
    this run are not for a pytest that a test runs.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.pop("PYTEST_ADDOPTS", None)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long` runs the long forms too; `--no-skips` is for a machine that has everything."""
    parser.addoption("--long", action="store_true", help="run the long form of tests that have one")
    parser.addoption("--no-skips", action="store_true", help="fail where something that a test needs is absent")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A long form may take long; what has no other form is not there without `--long`."""
    asked_for = config.getoption("--long")
    for item in items if asked_for else []:
        if "long_form" in getattr(item, "fixturenames", ()) or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG_S))
    left_out = [item for item in items if not asked_for and item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test before its fixtures are made if the machine lacks something that it needs."""
    if (need := needs.absent(item)) is not None:
        pytest.skip(need.reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `--no-skips` a skip is a failure, whoever asked for it."""
    report = yield
    if report.skipped and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"--no-skips: {item.nodeid} was skipped: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, a line for each reason, and where the time went."""
    reports = terminalreporter.stats
    for line in needs.summary(map(_reason, reports.get("skipped", []))):
        terminalreporter.write_line(line)
    seconds: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for report in (one for kind in ("passed", "failed", "error", "") for one in reports.get(kind, [])):
        part = "/".join(report.nodeid.partition("::")[0].split("/")[:2])
        seconds[part] += int(1000 * getattr(report, "duration", 0.0))  # none where a file could not be collected
        ran[part] += getattr(report, "when", "") == "call"
    for part, spent in seconds.most_common():
        terminalreporter.write_line(f"{spent / 1000:7.0f} s  {ran[part]:5d} ran  {part}")


@pytest.fixture
def long_form(request: pytest.FixtureRequest) -> bool:
    """Whether the long form was asked for."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def world() -> Iterator[World]:
    """A state directory of the test's own."""
    with fresh_world() as made:
        yield made

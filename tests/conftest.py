"""Fixtures that run the real thing: a state directory of the test's own, and proof that nothing of it stays."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.world import World, processes_of

settings.register_profile("here", database=None, deadline=None)  # nothing is left behind, and machines are busy
settings.load_profile("here")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long` runs the long forms too."""
    parser.addoption("--long", action="store_true", help="run the long form of tests that have one")


@pytest.fixture
def long_form(request: pytest.FixtureRequest) -> bool:
    """Whether the long form was asked for."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A state directory; whatever was started in it is ended, and then nothing may be left."""
    for name in [name for name in os.environ if name.startswith("ORCHCTL_")]:
        monkeypatch.delenv(name)
    folder = tempfile.mkdtemp(prefix="oc-")  # short: socket paths have their own tests
    made = World(folder)
    try:
        yield made
        made.end()
        assert processes_of(folder) == []
    finally:
        made.clean_up()
        shutil.rmtree(folder, ignore_errors=True)
    assert not os.path.exists(folder)

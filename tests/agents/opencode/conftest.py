"""A server of our own for the tests that need no real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.opencode.stub import Stub


@pytest.fixture
def stub() -> Iterator[Stub]:
    """While the test lasts."""
    with Stub() as running:
        yield running

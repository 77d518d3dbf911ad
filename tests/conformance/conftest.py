"""One supervisor for a whole table: its cases differ in the shell, not in what is around it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.world import World, fresh_world


@pytest.fixture(scope="module")
def shared_world() -> Iterator[World]:
    """A state directory for all cases of a module."""
    with fresh_world() as made:
        yield made

"""The real opencode: one turn with a tool and a permission always, and the whole contract with `--long`."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from tests.harness.contract import Contract
from tests.harness.kits import Kit
from tests.harness.opencode.hosting import program
from tests.harness.opencode.kit import opencode
from tests.world import World

pytestmark = pytest.mark.skipif(program() is None, reason="opencode is not installed; .ci/harnesses does that")


class TestOpencode(Contract):
    """All of it, on the real program."""

    @pytest.fixture(autouse=True)
    def only_when_asked_for(self, long_form: bool) -> None:
        """A server takes seconds to start, and each test has its own."""
        if not long_form:
            pytest.skip("the whole contract on the real opencode is run with --long")

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """The real one."""
        return opencode(world)

"""How long a lost supervisor is waited for, without holding up anybody else."""

from __future__ import annotations

import asyncio

from orchctl.client.patience import Patience
from orchctl.errors import SupervisorUnreachable


class AsyncPatience:
    """Runs out half a minute after the supervisor was lost."""

    def __init__(self) -> None:
        self._patience = Patience()

    async def spend(self, error: SupervisorUnreachable) -> None:
        """Wait a little longer each time; in the end, give up with `error`."""
        await asyncio.sleep(self._patience.next_pause_s(error))

"""The awaitable twin of `orchctl/client/leasing.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from orchctl.client.leasing import T, _held
from orchctl.protocol import messages
from orchctl.session.lease_state import Lease


class AsyncLeasing(ABC):
    """A part of `Client`. `viewer` is the secret of whoever asks: 32 hexadecimal digits of its own choosing."""

    _own_manager: str

    @abstractmethod
    async def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    async def lease(self, session: str, *, viewer: str = "") -> messages.LeaseState:
        """Who may type, whether that is this viewer, and who looks on."""
        asked = messages.GetLease(session=session, own_manager=self._own_manager, viewer=viewer)
        return await self._ask(asked, messages.LeaseState)

    async def take_lease(
        self,
        session: str,
        *,
        viewer: str,
        ttl_s: float | None = None,
        force: bool = False,
        wait_s: float = 0.0,
        terminal: str | None = None,
    ) -> Lease:
        """Keep others from typing, for `ttl_s`, or for as long as this viewer is attached and types.

        Where another holds it: wait up to `wait_s` for it, or take it by force; the other is told.
        """
        asked = messages.TakeLease(
            session=session,
            viewer=viewer,
            own_manager=self._own_manager,
            terminal=terminal,
            ttl_s=ttl_s,
            force=force,
            wait_s=wait_s,
        )
        return _held(await self._ask(asked, messages.LeaseState))

    async def release_lease(self, session: str, *, viewer: str) -> None:
        """Let go of the lease; it must be this viewer's."""
        asked = messages.ReleaseLease(
            session=session, viewer=viewer, own_manager=self._own_manager, once=os.urandom(8).hex()
        )
        await self._ask(asked, messages.LeaseState)

    async def transfer_lease(self, session: str, *, viewer: str, to: str, give_back: bool = False) -> Lease:
        """Hand the lease to another viewer, by its public name or its manager; with `give_back` it comes back."""
        asked = messages.TransferLease(
            session=session,
            viewer=viewer,
            to=to,
            give_back=give_back,
            own_manager=self._own_manager,
            once=os.urandom(8).hex(),
        )
        return _held(await self._ask(asked, messages.LeaseState))

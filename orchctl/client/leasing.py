"""What a client can ask about who may type: take, let go, hand on, look."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TypeVar

from orchctl.errors import PeerBroke
from orchctl.protocol import messages
from orchctl.session.lease_state import Lease

T = TypeVar("T", bound=messages.Answer)


class Leasing(ABC):
    """A part of `Client`. `viewer` is the secret of whoever asks: 32 hexadecimal digits of its own choosing."""

    _own_manager: str

    @abstractmethod
    def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    def lease(self, session: str, *, viewer: str = "") -> messages.LeaseState:
        """Who may type, whether that is this viewer, and who looks on."""
        asked = messages.GetLease(session=session, own_manager=self._own_manager, viewer=viewer)
        return self._ask(asked, messages.LeaseState)

    def take_lease(
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
        return _held(self._ask(asked, messages.LeaseState))

    def release_lease(self, session: str, *, viewer: str) -> None:
        """Let go of the lease; it must be this viewer's."""
        asked = messages.ReleaseLease(
            session=session, viewer=viewer, own_manager=self._own_manager, once=os.urandom(8).hex()
        )
        self._ask(asked, messages.LeaseState)

    def transfer_lease(self, session: str, *, viewer: str, to: str, give_back: bool = False) -> Lease:
        """Hand the lease to another viewer, by its public name or its manager; with `give_back` it comes back."""
        asked = messages.TransferLease(
            session=session,
            viewer=viewer,
            to=to,
            give_back=give_back,
            own_manager=self._own_manager,
            once=os.urandom(8).hex(),
        )
        return _held(self._ask(asked, messages.LeaseState))


def _held(state: messages.LeaseState) -> Lease:
    if state.lease is None:
        raise PeerBroke("a lease was granted that nobody holds")
    return state.lease

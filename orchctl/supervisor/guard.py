"""A fault in what belongs to one client or one session must not take the others down."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


async def guarded(name: str, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`; a bug in it is logged and ends it alone."""
    try:
        await work
    except Exception:
        log.exception("%s failed", name)

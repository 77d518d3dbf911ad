"""What every handler works on."""

from __future__ import annotations

import asyncio
from dataclasses import field

from orchctl.lazy_dataclass import dataclass
from orchctl.paths import Root
from orchctl.procfs import security_context
from orchctl.supervisor.context import House
from orchctl.supervisor.registry import Registry
from orchctl.supervisor.screen import Screening
from orchctl.supervisor.zygote import ZygoteLink


@dataclass(slots=True)
class Supervisor:
    """The whole of its state; everything in it can be rebuilt from disk."""

    root: Root
    house: House
    registry: Registry
    zygote: ZygoteLink
    started_at: float
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    restarting: asyncio.Lock = field(default_factory=asyncio.Lock)
    screening: Screening = field(default_factory=Screening)
    standing: dict[str, str] = field(default_factory=security_context)  # what every session has, whoever asks

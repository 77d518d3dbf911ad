"""opencode: its server on loopback, HTTP and server-sent events."""

from __future__ import annotations

from orchctl.agents.opencode.harness import HARNESS

__all__ = ["HARNESS"]

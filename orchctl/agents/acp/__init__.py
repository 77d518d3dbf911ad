"""Any agent that speaks the Agent Client Protocol, version 1, on its stdin and stdout."""

from __future__ import annotations

from orchctl.agents.acp.harness import HARNESS

__all__ = ["HARNESS"]

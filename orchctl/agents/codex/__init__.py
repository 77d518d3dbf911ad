"""codex: `codex app-server`, JSON-RPC lines on stdio. Version 0.166 is what this was written for."""

from __future__ import annotations

from orchctl.agents.codex.harness import HARNESS

__all__ = ["HARNESS"]

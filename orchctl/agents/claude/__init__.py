"""Claude Code, spoken to in JSON lines on its stdin and stdout. Each conversation is a process of its own."""

from __future__ import annotations

from orchctl.agents.claude.harness import HARNESS

__all__ = ["HARNESS"]

"""A harness without an agent: its server does what prompts tell it. For trying out what holds for all harnesses."""

from __future__ import annotations

from orchctl.agents.scripted.harness import HARNESS

__all__ = ["HARNESS"]

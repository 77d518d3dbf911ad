"""Holds: the zygote, and a keeper and a mover for each session. Standard library only.

Forked, never exec'd: everything is imported before the first fork and nothing afterwards, so that
an upgrade under a running session cannot hurt it. What they say to supervisors (`wire.py`) is frozen.
"""

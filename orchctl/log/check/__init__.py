"""Checks of what is on disk: `orchctl verify` and `orchctl audit --verify`, each in a process of its own."""

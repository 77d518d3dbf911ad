"""Serves: the only owner of mutable state. One asyncio loop, no locks; may be killed at any moment."""

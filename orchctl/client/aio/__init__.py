"""The client for asyncio. `client.py`, `handle.py` and `keeping.py` here are made from their blocking twins."""

"""Keeps: what is on disk, read and written through here by the supervisor."""

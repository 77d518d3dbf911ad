"""Slow or native work on what is kept, in processes of their own: `python -m orchctl.workers`."""

"""README's commands on a fresh machine: a minimal Debian in a folder, as root and as a normal user.

`machine.py` makes it, `tour.py` types README's tour in a real terminal, `python -m tests.fresh` does all of it.
"""

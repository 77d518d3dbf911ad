"""What each version wrote to disk and said on its sockets: the recordings, and the programs that make them.

`python -m tests.golden.make` records the present tree into `v2`, from nothing. A recording that is committed is never
edited: a later version gets a folder of its own, and has to read all of them.
"""

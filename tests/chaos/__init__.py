"""Thirty sessions of all kinds, faults at random moments, and an oracle that asks none of our processes.

`schedule` says which fault comes when (pure: a seed and a length in, a list out); `lives` has what runs in the sessions
and talks to them; `faults` strikes; `oracle` judges, by files that the programs themselves wrote and by /proc; `run`
brings them together. `python -m tests.chaos --seed N --minutes M` runs it for any length.
"""

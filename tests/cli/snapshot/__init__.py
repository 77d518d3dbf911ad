"""What every command line of the table prints and how it ends, kept as text.

One file for each command, `help/` for what `--help` says. Tests compare; a change that is meant is accepted with
`python -m tests.cli.snapshot [COMMAND ...]` and is reviewed as a diff of these files. `lines.py` says which command
lines there are, `normal.py` what is replaced so that every machine gives the same text.
"""

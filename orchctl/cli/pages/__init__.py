"""What is made from the command table: completion scripts and manual pages. `python -m orchctl.cli.pages` writes them.

Nothing here is imported by ordinary commands, and nothing here knows a command by heart that the table could tell.
"""

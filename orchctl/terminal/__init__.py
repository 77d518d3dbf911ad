"""Terminals: escape sequences, keys, modes, and views of what a program wrote to one. Pure."""

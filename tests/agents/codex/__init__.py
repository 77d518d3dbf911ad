"""The codex backend, on recorded messages and on the real program."""

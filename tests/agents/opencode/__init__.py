"""The opencode backend: on recorded traffic, on a server of our own, and on the real program."""

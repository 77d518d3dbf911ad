"""Asks: the blocking client, and the views it makes of output. Starts the supervisor, never imports it."""

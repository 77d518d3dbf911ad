"""Says: what crosses the socket, without touching one. Frames, messages and their codec."""

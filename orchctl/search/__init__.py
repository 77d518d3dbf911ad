"""Search: compiled patterns, matching lines, and the frames in which results travel. Pure."""

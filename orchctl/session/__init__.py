"""Names: the frozen values that every room, the socket and the disk share. Pure."""

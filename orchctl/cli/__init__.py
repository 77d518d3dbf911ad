"""Shows: the command line. Each command reads its arguments, calls the client, and prints."""

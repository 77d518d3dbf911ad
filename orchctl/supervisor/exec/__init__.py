"""`exec` in the supervisor: the queue of commands of a session, the prompt, and one command that runs."""

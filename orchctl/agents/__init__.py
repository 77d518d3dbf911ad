"""Agent servers: what each harness says, in the words of all of them, and how to talk to it."""

"""A model that does what its prompts say, for real agents: loopback only, in the dialects that they speak."""

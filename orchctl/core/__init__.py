"""Decides: rules without a clock, a file, a socket or a process. Time is an argument."""

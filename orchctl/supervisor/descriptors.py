"""A descriptor that a client sends along with a request: the stdin that a new session is to read.

It is taken with the bytes it came with and waits for the request that names it. Of a client that sends more, the last
one waits; what no request names is closed with the connection.
"""

from __future__ import annotations

import os
import socket


class DescriptorSocket(socket.socket):
    """A connection to a client; whoever reads it gets the bytes alone."""

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.descriptors: list[int] = []

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """As any socket's."""
        data, found, _, _ = socket.recv_fds(self, bufsize, 1, flags)
        if found:
            close(*self.descriptors)
            self.descriptors[:] = found
            os.set_inheritable(found[0], False)
        return data


def copy(descriptor: int | None) -> int | None:
    """Another of the same, for somebody who closes it."""
    return None if descriptor is None else os.dup(descriptor)


def close(*descriptors: int | None) -> None:
    """Nobody wants them any more."""
    for fd in descriptors:
        if fd is not None:
            os.close(fd)

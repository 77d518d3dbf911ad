"""Sockets of the daemon and its pairs: a place that a killed process has left is taken, one that is in use is not."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from orchctl.pair.daemon_io import bind, bind_fresh


def test_the_socket_of_a_process_that_is_gone_is_replaced(tmp_path: Path) -> None:
    bind(str(tmp_path), "pair.sock", 1).close()  # its file stays, as it does when its owner is killed
    with bind_fresh(str(tmp_path), "pair.sock", 1), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(f"{tmp_path}/pair.sock")
    assert [path.name for path in tmp_path.iterdir()] == ["pair.sock"]


def test_the_socket_of_a_process_that_listens_is_left_alone(tmp_path: Path) -> None:
    with bind(str(tmp_path), "pair.sock", 1) as first:
        with pytest.raises(OSError, match="in use") as refused:
            bind_fresh(str(tmp_path), "pair.sock", 1)
        assert refused.value.errno == errno.EADDRINUSE
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(f"{tmp_path}/pair.sock")
            first.setblocking(True)
            first.accept()[0].close()

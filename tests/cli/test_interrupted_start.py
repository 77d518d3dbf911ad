"""Ctrl-C while a command is still being imported."""

from __future__ import annotations

import os
import signal

import pytest

from orchctl.cli.main import is_interrupt


class _Interrupting:
    def __set_name__(self, owner: type, name: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_while_a_class_is_made_is_an_interrupt() -> None:
    """Python 3.11 raises a RuntimeError there, with the interrupt as its cause."""
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as raised:
        type("Made", (), {"field": _Interrupting()})
    assert is_interrupt(raised.value)


def test_an_error_with_another_cause_is_none() -> None:
    error = RuntimeError("other")
    error.__cause__ = ValueError("one")
    assert not is_interrupt(error)

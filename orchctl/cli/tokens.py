"""The token of a lease as an option: of commands that type, resize, or change who may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchctl.cli.app import DURATION
from orchctl.client.inherited import terminal_viewer

F = TypeVar("F", bound=Callable[..., Any])


def lease_option(command: F) -> F:
    """`--lease TOKEN`, or what `ORCHCTL_LEASE` says, else whoever works in this terminal."""
    found: F = click.option(
        "--lease",
        "viewer",
        envvar="ORCHCTL_LEASE",
        default="",
        callback=lambda _, __, given: given or terminal_viewer(),
        metavar="TOKEN",
        help="What 'lease take' printed; not needed in the terminal it ran in.",
    )(command)
    return found


def lease_wait_option(command: F) -> F:
    """`--lease-wait D`."""
    found: F = click.option(
        "--lease-wait",
        "lease_wait_s",
        type=DURATION,
        default="0s",
        metavar="D",
        help="Wait so long for another who holds the lease.",
    )(command)
    return found

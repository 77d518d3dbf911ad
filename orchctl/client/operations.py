"""The operations of a client, in one table for the blocking one and the awaiting one.

What a type checker sees depends on whose they are: `client.kill()` returns a report, or something to await. Those that
give a handle or a stream are in the clients, because each has its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from orchctl.client.call import iteration, make_methods, operation
from orchctl.client.caller import Caller
from orchctl.client.calls import control as controls
from orchctl.client.calls import output as logs
from orchctl.client.calls import sessions
from orchctl.client.calls import wait as waits
from orchctl.client.start import NotRunning, connect
from orchctl.paths import find_root

C = TypeVar("C")


class Operations(Caller):
    """What is written once."""

    def __init_subclass__(cls) -> None:
        make_methods(Operations, cls)

    # sessions
    list = operation(sessions.list_sessions)
    select = operation(sessions.select)
    info = operation(sessions.info)
    rename = operation(sessions.rename)
    label = operation(sessions.label)
    control = operation(sessions.control)
    restart = operation(sessions.restart)
    kill = operation(sessions.kill)
    kill_by_manager = operation(sessions.kill_by_manager)
    history = operation(sessions.history)
    prune = operation(sessions.prune)

    # commands, and waiting
    exec = operation(waits.exec_command)
    detach = operation(waits.detach)
    interrupt_command = operation(waits.interrupt_command)
    wait = operation(waits.wait)
    wait_each = iteration(waits.wait_each)
    wait_for = operation(waits.wait_for)
    wait_for_each = iteration(waits.wait_for_each)
    wait_for_output = operation(waits.wait_for_output)
    expect = operation(waits.expect)

    # what they write
    screen = operation(logs.screen)
    sizes = operation(logs.sizes)
    export = iteration(logs.export)

    # input, leases, agents
    send = operation(controls.send)
    send_eof = operation(controls.send_eof)
    interrupt = operation(controls.interrupt)
    terminal = operation(controls.terminal)
    lease = operation(controls.lease)
    take_lease = operation(controls.take_lease)
    release_lease = operation(controls.release_lease)
    transfer_lease = operation(controls.transfer_lease)
    pending = operation(controls.pending)
    approve = operation(controls.approve)
    deny = operation(controls.deny)
    answer = operation(controls.answer)
    harnesses = operation(controls.harnesses)

    # the supervisor
    status = operation(controls.status)
    start_supervisor = operation(controls.start_supervisor)
    stop_supervisor = operation(controls.stop_supervisor)
    restart_supervisor = operation(controls.restart_supervisor)


def ephemeral(own: Callable[[], C], _: Callable[[], C]) -> C:
    """A client with a private supervisor in a temporary directory, for tests and containers.

    Closing the client ends its sessions and the supervisor, and removes the directory. So does the end of
    this process, however it comes.
    """
    return own()


def auto(own: Callable[[], C], usual: Callable[[], C]) -> C:
    """A client of the supervisor that runs, if there is one, else an ephemeral one."""
    try:
        connect(find_root(os.environ)).close()
    except NotRunning:
        return own()
    return usual()


def constructor(
    plan: Callable[[Callable[[], C], Callable[[], C]], C], own: Callable[[], C], usual: Callable[[], C]
) -> classmethod[Any, [], C]:
    """A class method that gives a client: one with a supervisor of its own, or a usual one."""

    def method(_: type) -> C:
        return plan(own, usual)

    method.__doc__, method.__name__, method.__annotations__ = plan.__doc__, plan.__name__, {**own.__annotations__}
    return classmethod(method)

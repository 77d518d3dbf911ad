"""`doctor`: what could go wrong here, and the command that helps. It changes nothing, starts no supervisor, and comes
to an end whatever state things are in: a check that breaks is a finding like any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from orchctl import config
from orchctl.client.doctor import logout, machine, programs, state_dir, supervisor
from orchctl.client.doctor.check import Case, Finding, Level, problem, warning
from orchctl.errors import OrchctlError
from orchctl.paths import Root, find_root

__all__ = ["Finding", "Level", "diagnose"]
OF_STATE_DIR: tuple[Callable[[Case, Root], Iterator[Finding]], ...] = (
    state_dir.check_state_dir,
    state_dir.check_files,
    state_dir.check_socket_path,
    state_dir.check_config,
    machine.check_space,
    machine.check_file_system,
    supervisor.check_supervisor,
    supervisor.check_start_lock,
    supervisor.check_zygotes,
)
OF_MACHINE: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    machine.check_kernel,
    machine.check_limits,
    machine.check_terminals,
    machine.check_locale,
    logout.check_logout,
    logout.check_user_bus,
    logout.check_ci,
    programs.check_shells,
    programs.check_harnesses,
    programs.check_extras,
)


def diagnose(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Every finding, as it is found."""
    case, checks = Case(environ), list[tuple[str, Iterator[Finding]]]()
    try:
        root = find_root(environ)
    except OrchctlError as error:
        fix = f"export ORCHCTL_STATE_DIR=/var/tmp/orchctl-{os.geteuid()}"
        yield problem("state-dir", error.message, fix)
    else:
        if os.path.isdir(root.path) or root.home is not None:
            found = config.of(root)
            case.config, case.config_problems = found.config, found.problems
        checks += [(check.__name__, check(case, root)) for check in OF_STATE_DIR]
    checks += [(check.__name__, check(case)) for check in OF_MACHINE]
    for name, findings in checks:
        try:
            yield from findings
        except Exception as error:  # noqa: BLE001 - one check must not hide the others
            yield warning(name.removeprefix("check_"), f"this check failed: {type(error).__name__}: {error}")

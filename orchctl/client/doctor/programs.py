"""Programs beside orchctl: shells that exec can use, agent harnesses, and optional parts of orchctl itself."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from orchctl import extras
from orchctl.agents import registry
from orchctl.client.doctor.check import Case, Finding, note, ok, problem, run, warning
from orchctl.shell import detect

SHELLS, HARNESS, EXTRAS = "shells", "harness", "extras"
ALL_SHELLS = ("bash", "zsh", "fish", "sh", "dash", "ksh", "mksh", "busybox")
_INSTALL = re.compile(r"'(npm install [^']+)'")
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


def check_shells(case: Case) -> Iterator[Finding]:
    """Which are there, which of them exec can use, and whether the default is one of those."""
    default = case.config.shell or _login_shell()
    found = shutil.which(default, path=case.environ.get("PATH"))
    if found is None:
        what = f"{default}, which spawn starts without a command, cannot be executed"
        yield problem(SHELLS, what, "orchctl config set shell /bin/sh")
    elif _kind(found) is None:
        yield warning(SHELLS, f"exec cannot be used in {default}, which spawn starts without a command", _better(case))
    else:
        yield ok(SHELLS, f"spawn starts {default}, and exec can be used in it")
    there = [name for name in ALL_SHELLS if shutil.which(name, path=case.environ.get("PATH"))]
    able = [name for name in there if _kind(shutil.which(name, path=case.environ.get("PATH")) or name) is not None]
    others = [name for name in there if name not in able]
    rest = f"; these are there too, without it: {', '.join(others)}" if others else ""
    if able:
        yield ok(SHELLS, f"exec can be used in {', '.join(able)}{rest}")
    else:
        yield problem(SHELLS, f"there is no shell that exec can be used in{rest}", "sudo apt-get install bash")


def check_harnesses(case: Case) -> Iterator[Finding]:
    """Which agents are installed; asked for their versions all at once. One that only a profile names is left out."""
    commands = {name: found[1] for name in registry.shown() if (found := _INSTALL.search(registry.find(name).install))}
    paths = {name: shutil.which(name, path=case.environ.get("PATH")) for name in commands}
    with ThreadPoolExecutor(len(paths)) as pool:
        said = dict(
            zip(paths, pool.map(lambda path: run([path, "--version"]) if path else None, paths.values()), strict=True)
        )
    for name, what in registry.broken().items():
        yield warning(HARNESS, what, f"reinstall or remove the package that brings {name}")
    for name, path in paths.items():
        if path is None:
            yield note(HARNESS, f"{name} is not installed", commands[name])
        elif said[name] is None:
            yield warning(HARNESS, f"{path} does not say its version", f"{path} --version")
        else:
            version = _VERSION.search(said[name] or "")
            yield ok(HARNESS, f"{path}, version {version[0] if version else 'unknown'}")


def check_extras(_: Case) -> Iterator[Finding]:
    """Check which optional parts are installed."""
    for extra, modules in extras.MODULES.items():
        if absent := extras.missing(extra):
            yield note(EXTRAS, f"{extra}: not installed: {', '.join(absent)}", extras.install_command(extra))
        else:
            yield ok(EXTRAS, f"{extra}: {', '.join(modules)}")


def _better(case: Case) -> str:
    path = case.environ.get("PATH")
    found = [there for name in ALL_SHELLS if (there := shutil.which(name, path=path))]
    able = next((there for there in found if _kind(there) is not None), None)
    return f"orchctl config set shell {able or '/bin/bash'}"


def _kind(path: str) -> str | None:
    """Which shell a file is, after all links: `sh` is dash here and bash there; busybox is one by its applet."""
    words = (path, "sh") if os.path.basename(path) == "busybox" else (path,)
    return detect.known(words, os.path.basename(os.path.realpath(path)))


def _login_shell() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"

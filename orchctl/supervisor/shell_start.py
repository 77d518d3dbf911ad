"""Starting a shell that can tell its prompts: what the command really is, and the files and environment it gets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace

from orchctl.log.session_files import Spec
from orchctl.protocol.messages import SpawnSession
from orchctl.shell import base, detect


def kind(asked: SpawnSession) -> str | None:
    """Which shell the command is, if it is nothing but a shell that people and `exec` talk to.

    Without a terminal it has no prompt, and from a stdin that was handed over it reads a script.
    """
    if asked.backend != "pty" or asked.stdin == "handed":
        return None
    name = base.program(asked.command)
    path = {**asked.env, **asked.given}.get("PATH")
    found = os.path.join(asked.cwd, name) if "/" in name else shutil.which(name, path=path)
    return detect.known(asked.command, os.path.basename(os.path.realpath(found)) if found else None)


def equipped(spec: Spec, folder: str) -> tuple[Spec, dict[str, str]]:
    """The session with the words its shell is started with, and the start-up files to put into `folder`."""
    if spec.shell is None:
        return spec, {}
    kind = detect.named(spec.shell)
    words = replace(spec, argv=tuple(kind.argv(folder, spec.command)), executable=base.program(spec.command))
    return words, kind.start_up(spec.nonce, folder, spec.command)


def environment(spec: Spec, folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """The session's environment, which points a shell to its start-up files."""
    return detect.named(spec.shell).environment(folder, env, spec.command) if spec.shell else dict(env)

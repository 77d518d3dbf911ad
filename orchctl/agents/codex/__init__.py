"""codex: `codex app-server`, JSON-RPC lines on stdio. Version 0.166 is what this was written for."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Mapping

from orchctl.agents.codex.server import APPROVALS, SANDBOXES, CodexServer
from orchctl.agents.interface import Harness, Host, Launch, Opening, Profile, Server
from orchctl.errors import BadInput

_VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
OPTIONS = {"sandbox": tuple(SANDBOXES), "approval": APPROVALS}


class CodexHarness:
    """One process holds many threads."""

    name = "codex"
    shared = True
    speaks_on_stdout = True
    passes = ("CODEX_*", "OPENAI_*", "AZURE_OPENAI_*", "RUST_LOG")
    tested = ("0.166", "0.166")
    install = "install it with 'npm install -g @openai/codex', or give its path as argv in a profile"

    def program(self, profile: Profile, path: str) -> str | None:
        """The real program: npm puts a launcher in PATH that would stand between us and its signals."""
        found = shutil.which(profile.argv[0] if profile.argv else "codex", path=path)
        return _behind(found) if found is not None else None

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        return Launch(argv=(program, *(profile.argv[1:] or ("app-server",))))

    def version_of(self, printed: str) -> str | None:
        found = _VERSION.search(printed)
        return found[0] if found is not None else None

    def check(self, profile: Profile, opening: Opening) -> None:
        """Which models there are only the provider knows; a turn with one that is not there fails."""
        if opening.model is not None and (not opening.model.strip() or not opening.model.isprintable()):
            raise BadInput(f"{opening.model!r} is no model", code="unknown-model")
        for name, value in profile.options.items():
            if name not in OPTIONS:
                raise BadInput(f"codex has no option {name!r}; there are {', '.join(OPTIONS)}", code="bad-option")
            if value not in OPTIONS[name]:
                raise BadInput(f"{name} is {value!r}, which is none of {', '.join(OPTIONS[name])}", code="bad-option")

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        return CodexServer(host)


def _behind(found: str) -> str:
    """The program behind npm's launcher, or what was found."""
    real = os.path.realpath(found)
    if not real.endswith("codex.js"):
        return found
    packages = os.path.dirname(os.path.dirname(os.path.dirname(real)))
    for pattern in (
        f"{packages}/codex-*/vendor/*/bin/codex",
        f"{packages}/codex/node_modules/@openai/codex-*/vendor/*/bin/codex",
    ):
        if programs := sorted(glob.glob(pattern)):
            return programs[0]
    return found


HARNESS: Harness = CodexHarness()


__all__ = ["HARNESS"]

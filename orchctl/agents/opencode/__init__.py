"""opencode: its server on loopback, HTTP and server-sent events."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import socket
from collections.abc import Mapping

from orchctl.agents.interface import Harness, Host, Launch, Opening, Profile, Server
from orchctl.agents.opencode.records import variables
from orchctl.errors import BadInput

_VERSION = re.compile(r"\d+\.\d+\.\d+")
RULES = "rules"  # an option: who decides what is asked
ASK, OWN = "ask", "own"
# What only looks is not asked about; all else is, also tools that nobody here knows. In the configuration, because a
# sub-agent does not inherit what a conversation was begun with. The last rule that matches holds.
_RULES: dict[str, object] = {
    "*": "ask",
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("list", "glob", "grep", "lsp", "codesearch"), "allow"),
    **dict.fromkeys(("todoread", "todowrite", "question", "task", "skill"), "allow"),
}


class OpencodeHarness:
    """One server for all conversations with the same profile and environment, in any number of directories."""

    name = "opencode"
    shared = True
    speaks_on_stdout = False
    passes = ("OPENCODE_*", "*_API_KEY", "*_AUTH_TOKEN", "AWS_*", "GOOGLE_*", "AZURE_*", "npm_config_registry")
    tested = ("1.18.33", "1.18.33")
    install = "install it with 'npm install -g opencode-ai', or give its path as argv in a profile"

    def program(self, profile: Profile, path: str) -> str | None:
        return shutil.which(profile.argv[0] if profile.argv else "opencode", path=path)

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        """On a port that is free now, with a password that nobody knows, in its environment and nowhere else.

        Left to itself it would take port 4096, where others look for a server of theirs.
        """
        port, password = str(_free_port()), secrets.token_urlsafe(32)
        env = {
            "OPENCODE_SERVER_USERNAME": "opencode",
            "OPENCODE_SERVER_PASSWORD": password,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            **variables(profile.env),
        }
        if profile.options.get(RULES, ASK) == ASK:
            env["OPENCODE_PERMISSION"] = json.dumps(_RULES)
        argv = (program, *profile.argv[1:], "serve", "--hostname", "127.0.0.1", "--port", port)
        return Launch(argv=argv, env=env, notes={"port": port, "password": password})

    def version_of(self, printed: str) -> str | None:
        found = _VERSION.search(printed)
        return found[0] if found else None

    def check(self, profile: Profile, opening: Opening) -> None:
        """A model has a provider. Whether there is such a one, only the server knows."""
        provider, _, model = (opening.model or "provider/model").partition("/")
        if not provider or not model:
            message = f"{opening.model!r} is no model of opencode; one is written PROVIDER/MODEL"
            raise BadInput(message, code="unknown-model")
        unknown = sorted(set(opening.options) - {RULES})
        if unknown:
            raise BadInput(f"opencode has no option {unknown[0]!r}; it has {RULES}", code="unknown-option")
        if opening.options.get(RULES, ASK) not in (ASK, OWN):
            raise BadInput(f"{RULES} is {ASK} or {OWN}, not {opening.options[RULES]!r}", code="unknown-option")

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        from orchctl.agents.opencode.server import OpencodeServer

        return OpencodeServer(host, notes)


def _free_port() -> int:
    """Somebody may take it before the server does: then that one is of no use, and the next try has another."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


HARNESS: Harness = OpencodeHarness()


__all__ = ["HARNESS"]

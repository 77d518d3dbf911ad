"""Any agent that speaks the Agent Client Protocol, version 1, on its stdin and stdout."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Mapping

from orchctl.agents.acp.server import AcpServer
from orchctl.agents.interface import Harness, Host, Launch, Opening, Profile, Server
from orchctl.errors import BadInput

OPTIONS = ("mode",)


class AcpHarness:
    """One process of an agent holds many conversations."""

    name = "acp"
    shared = True
    speaks_on_stdout = True
    passes = (
        "ANTHROPIC_*", "AZURE_*", "DASHSCOPE_*", "DEEPSEEK_*", "GEMINI_*", "GOOGLE_*", "KIMI_*", "MISTRAL_*",
        "MOONSHOT_*", "OPENAI_*", "OPENROUTER_*", "QWEN_*", "VIBE_*", "XAI_*",
    )  # fmt: skip
    tested = ("1", "1")  # versions of the protocol; each agent counts its own by itself
    install = 'write a profile with harness = "acp" and the argv of an agent, such as ["gemini", "--acp"]'

    def program(self, profile: Profile, path: str) -> str | None:
        return shutil.which(profile.argv[0], path=path) if profile.argv else None

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        """As the profile says. opencode listens on a port as an agent too, and without a password it serves anybody."""
        return Launch(argv=(program, *profile.argv[1:]), env={"OPENCODE_SERVER_PASSWORD": secrets.token_hex(16)})

    def version_of(self, printed: str) -> str | None:
        found = re.search(r"\d+(\.\d+)+", printed)
        return found[0] if found else None

    def check(self, profile: Profile, opening: Opening) -> None:
        """What an agent offers is known only when it runs; which options there are is known now."""
        if not profile.argv:
            raise BadInput(f"profile {profile.name!r} does not say which agent to run; {self.install}", code="no-agent")
        for name in opening.options:
            if name not in OPTIONS:
                raise BadInput(
                    f"there is no option {name!r} for acp; there is {', '.join(OPTIONS)}", code="unknown-option"
                )

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        return AcpServer(host)


HARNESS: Harness = AcpHarness()


__all__ = ["HARNESS"]

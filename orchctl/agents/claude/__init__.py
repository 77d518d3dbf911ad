"""Claude Code, spoken to in JSON lines on its stdin and stdout. Each conversation is a process of its own."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Mapping

from orchctl.agents.claude.server import ClaudeServer
from orchctl.agents.interface import Harness, Host, Launch, Opening, Profile, Server
from orchctl.errors import BadInput

OPTIONS = {
    "mode": ("default", "acceptEdits", "plan", "dontAsk", "auto"),
    "settings": ("none", "user", "project", "local", "user,project", "user,project,local", "project,local"),
}
_FLAGS = (
    "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages",
    "--replay-user-messages", "--permission-prompt-tool", "stdio",
)  # fmt: skip
_NO_HOOKS = '{"disableAllHooks":true}'
_ENV = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


class ClaudeHarness:
    """One process for each conversation."""

    name = "claude"
    shared = False
    speaks_on_stdout = True
    passes = (
        "ANTHROPIC_*", "AWS_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "CLAUDE_CONFIG_DIR", "CLOUD_ML_REGION",
        "GOOGLE_*",
    )  # fmt: skip
    tested = ("2.1.325", "2.1.325")
    install = "install it with 'npm install -g @anthropic-ai/claude-code', or give its path as argv in a profile"

    def program(self, profile: Profile, path: str) -> str | None:
        return shutil.which(profile.argv[0] if profile.argv else "claude", path=path)

    def launch(self, profile: Profile, program: str, opening: Opening) -> Launch:
        """With a conversation that is on its disk, or with a new one under an id of ours."""
        native = opening.native.get("id")
        if native is not None and opening.native.get("begun", "yes") == "yes":
            which = ("--resume", native)
        else:  # one that was never begun cannot be resumed, and its id may be taken
            native = str(uuid.uuid4())
            which = ("--session-id", native)
        model = ("--model", opening.model) if opening.model else ()
        settings = opening.options.get("settings", "none")
        own = (
            ("--setting-sources", settings) if settings != "none" else ("--setting-sources", "", "--strict-mcp-config")
        )
        argv = (program, *profile.argv[1:], *_FLAGS, "--settings", _NO_HOOKS, *own, *which, *model)
        return Launch(argv=argv, env={**_ENV, **opening.tools_env}, notes={"id": native})

    def version_of(self, printed: str) -> str | None:
        found = re.search(r"\d+(\.\d+)+", printed)
        return found[0] if found else None

    def check(self, profile: Profile, opening: Opening) -> None:
        """Which models there are only the service knows; an option is known now."""
        for name, value in opening.options.items():
            if name not in OPTIONS:
                raise BadInput(
                    f"there is no option {name!r} for claude; there are {', '.join(OPTIONS)}", code="unknown-option"
                )
            if value not in OPTIONS[name]:
                raise BadInput(
                    f"{name} cannot be {value!r}; it is one of {', '.join(OPTIONS[name])}", code="bad-option"
                )

    def serve(self, host: Host, profile: Profile, notes: Mapping[str, str]) -> Server:
        return ClaudeServer(host, notes.get("id", ""))


HARNESS: Harness = ClaudeHarness()


__all__ = ["HARNESS"]

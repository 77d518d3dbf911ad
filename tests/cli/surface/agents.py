"""What is done with agents: `{agent}` asks ten things, called r0 to r9, and `{idle}` nothing."""

from __future__ import annotations

from tests.cli.surface.row import Row, rows

TABLE: dict[str, list[Row]] = {
    "pending": [
        Row("pending", sees="r9"),
        Row("pending {agent} --json", sees='"request": "r0"'),
        Row("pending -q", sees="r5"),
        Row("pending --quiet {agent}", sees="r5"),
        Row("pending --template {{request}}", sees="r5"),
        Row("pending --nothing", 2),
        Row("pending nobody", 3),
    ],
    "approve": [
        *rows(
            """
            approve {agent} --request r0 --json
            approve {agent} --request r1 --always -q
            approve {agent} --request r2 --quiet
            approve {agent} --request r3 --template {{title}}
            """
        ),
        Row("approve {agent}", 2),
        Row("approve nobody", 3),
        Row("approve {agent} --request r0", 5),
        Row("approve {idle}", 5),
        Row("approve {live}", 5),
    ],
    "deny": [
        *rows(
            """
            deny {agent} --request r0 --json
            deny {agent} --request r1 -q
            deny {agent} --request r2 --quiet
            deny {agent} --request r3 --template {{title}}
            """
        ),
        Row("deny {agent}", 2),
        Row("deny nobody", 3),
        Row("deny {idle}", 5),
    ],
    "answer": [
        *rows(
            """
            answer {agent} yes --request r0 --json
            answer {agent} no --request r1 -q
            answer {agent} Allow --request r2 --quiet
            answer {agent} Deny --request r3 --template {{title}}
            """
        ),
        Row("answer {agent} perhaps --request r4", 2),
        Row("answer {agent} yes", 2),
        Row("answer nobody yes", 3),
        Row("answer {idle} yes", 5),
    ],
    "harness list": [
        Row("harness list", sees="codex"),
        Row("harness list --json", sees='"name": "codex"'),
        Row("harness list -q", sees="codex"),
        Row("harness list --quiet", sees="codex"),
        Row("harness list --template {{name}}", sees="codex"),
        Row("harness list --nothing", 2),
    ],
}

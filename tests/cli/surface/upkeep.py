"""What is kept, set and looked after."""

from __future__ import annotations

from tests.cli.surface.row import Row, rows

TABLE: dict[str, list[Row]] = {
    "search": [
        *rows(
            """
            search over
            search -F over {ended}
            search --fixed-strings -i OVER
            search -E --ignore-case OVER -n
            search --regex --line-number over -A 1 -B 1
            search --after-context 1 --before-context 1 over
            search -C 1 --since 1h over
            search --context 1 --max 1 over
            search -c over
            search --count over --json
            search over -m user
            search over --manager user --all
            search over -q
            search over --quiet
            search over --template {{offset}}
            """
        ),
        Row("search nothing-like-that", 1),
        Row("search over -l a=b", 1),
        Row("search over --label a=b --repo {dir}", 1),
        Row("search ( {ended}", 2),
        Row("search over nobody", 2),
    ],
    "screen": [
        *rows(
            """
            screen {ended}
            screen --as ansi {live}
            screen {cat} --json
            screen {cat} -q
            screen {cat} --quiet
            screen {cat} --template {{cols}}
            """
        ),
        Row("screen --as colour {cat}", 2),
        Row("screen nobody", 3),
        Row("screen {pipe}", 5),
    ],
    "export": [
        *rows(
            """
            export --as raw {ended}
            export --as asciicast -o {dir}/cast {ended}
            export --as text --output {dir}/text {ended} --json
            export --as jsonl -o {dir}/lines {ended} -q
            export --as jsonl -o {dir}/lines {ended} --quiet
            export --as jsonl -o {dir}/lines {ended} --template {{bytes}}
            """
        ),
        Row("export --as raw -o {dir}/no/such {ended}", 1),
        Row("export {ended}", 2),
        Row("export --as raw nobody", 3),
    ],
    "events": [
        *rows(
            """
            events --since 1
            events --type command
            events --json {live}
            events -q
            events --quiet -m user
            events --manager user -l a=b
            events --label a=b --repo {dir}
            events --all --template {{seq}}
            events --type session.state --exec true
            """
        ),
        Row("events --exec false {live}", 1),
        Row("events --since never", 2),
        Row("events nobody", 3),
    ],
    "prune": [
        *rows(
            """
            prune --dry-run
            prune --older-than 1d
            prune --size 1G --json
            prune --output {live}
            prune -m user:none
            prune --manager user:none -q
            prune -l a=b --quiet
            prune --label a=b
            prune --repo {dir}
            prune --all --dry-run --template {{sessions}}
            """
        ),
        Row("prune --size 1G {ended}", 2),
        Row("prune nobody", 3),
        Row("prune {live}", 5),
    ],
    "verify": [
        *rows(
            """
            verify
            verify {ended} --json
            verify -q
            verify --quiet
            verify --template {{sessions}}
            """
        ),
        Row("verify --no", 2),
        Row("verify nobody", 3),
    ],
    "config show": [
        *rows(
            """
            config show
            config show --origin --json
            config show -q
            config show --quiet
            config show --template {{path}}
            """
        ),
        Row("config show x", 2),
    ],
    "config path": [
        *rows("""
            config path
            config path --json
            config path -q
            config path --quiet
            config path --template {{path}}
            config path --set {dir}/settings.toml
            """),
        Row("config path x", 2),
        Row("config path --set {dir}", 4),
    ],
    "config get": [
        *rows("""
            config get shell
            config get shell --json
            config get shell -q
            config get shell --quiet
            config get shell --template {{value}}
            """),
        Row("config get nothing", 2),
    ],
    "config set": [
        *rows("""
            config set retention.session 32M
            config set retention.session 33M --json
            config set retention.session 34M -q
            config set retention.session 35M --quiet
            config set retention.session 36M --template {{value}}
            """),
        Row("config set retention.session soon", 2),
    ],
    "config unset": [
        *rows("""
            config unset retention.session
            config unset retention.session --json
            config unset retention.session -q
            config unset retention.session --quiet
            config unset retention.session --template {{value}}
            """),
        Row("config unset nothing", 2),
    ],
    "config check": [
        *rows("""
            config check
            config check --json
            config check -q
            config check --quiet
            config check --template {{problems}}
            """),
        Row("config check x", 2),
    ],
    "limits": [
        *rows("""
            limits
            limits user --json
            limits -q
            limits --quiet
            limits --template {{manager}}:{{used}}
            """),
        Row("limits a::b", 2),
    ],
    "doctor": [
        *rows("""
            doctor
            doctor --json
            doctor -q
            doctor --quiet
            doctor --template {{problems}}
            """),
        Row("doctor x", 2),
    ],
    "audit": [
        *rows("""
            audit
            audit --since 1h --json
            audit -q
            audit --quiet {live}
            audit --template {{deed}}
            audit --verify
            """),
        Row("audit --verify --head 0123456789abcdef0123456789abcdef", 1),
        Row("audit --head 0123456789abcdef0123456789abcdef", 2),
        Row("audit nobody", 3),
    ],
    "completion": [
        *rows("""
            completion bash
            completion zsh --json
            completion fish -q
            completion fish --quiet
            completion fish --template {{shell}}
            """),
        Row("completion csh", 2),
    ],
    "schema": [
        *rows("""
            schema
            schema session --json
            schema -q
            schema --quiet
            schema --template {{$schema}}
            """)[:-1],
        Row("schema session --template {{title}}", 2),
        Row("schema nothing", 2),
    ],
    "supervisor start": rows("""
        supervisor start
        supervisor start --json
        supervisor start -q
        supervisor start --quiet
        supervisor start --template {{pid}}
        """),
    "supervisor status": rows("""
        supervisor status
        supervisor status --json
        supervisor status -q
        supervisor status --quiet
        supervisor status --template {{pid}}
        """),
    "supervisor restart": rows("""
        supervisor restart
        supervisor restart --json
        supervisor restart -q
        supervisor restart --quiet
        supervisor restart --template {{pid}}
        """),
    "supervisor logs": [
        *rows("""
            supervisor logs
            supervisor logs -n 5
            supervisor logs --lines all --json
            supervisor logs -q
            supervisor logs --quiet
            supervisor logs --template {{text}}
            """),
        Row("supervisor logs -n x", 2),
    ],
    "supervisor run": [Row("supervisor run")],
    "supervisor stop": [
        Row("supervisor stop", 5),
        Row("supervisor stop --kill --leave", 2),
        *rows("""
            supervisor stop --leave
            supervisor stop --kill
            supervisor stop --json
            supervisor stop -q
            supervisor stop --quiet
            supervisor stop --template {{stopped}}
            """),
    ],
}

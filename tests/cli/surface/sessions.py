"""What is done with sessions."""

from __future__ import annotations

from tests.cli.surface.row import Row, rows

TABLE: dict[str, list[Row]] = {
    "spawn": [
        *rows(
            """
            spawn --name n1 -m user:x -w {dir} -e A=1 --size 100x30 -l k=v -q sleep 1000
            spawn --manager user:x --cwd {dir} --env A=1 --label k=v --backend pipe --quiet true
            spawn --shell /bin/bash
            spawn --env-file {file} -b pty true
            spawn --timeout 1h --idle-timeout 1h --bind-pid 1 true
            spawn --restart on-failure:2 --no-pty true
            spawn --no-pty --stdin=open --wait true
            spawn --rm --id-file {dir}/id true
            spawn --name n1 --if-exists skip true
            spawn --template {{id}} true
            spawn --json true
            spawn --wait true
            spawn --follow true
            spawn --profile it --prompt 'say hello' --model fake --permission deny
            """
        ),
        Row("spawn --no-pty --stdin --follow cat", stdin="handed over", sees="handed over"),
        Row("spawn --stdin --follow sh", stdin="echo a script\n", sees="a script"),
        Row("spawn --wait sh -c 'exit 7'", 7),
        Row("spawn --follow sh -c 'kill -9 $$'", 137),
        Row("spawn --wait --timeout 0.2s sleep 1000", 124),
        Row("spawn --wait --size 0x0 true", 125),
        Row("spawn --attach true", 125),  # there is no terminal here
        Row("spawn --stdin=no true", 2),
        Row("spawn --size 0x0 true", 2),
        Row("spawn --restart perhaps true", 2),
        Row("spawn --name n1 true", 5),
        Row("spawn --profile it --resume nowhere", 5),
        Row("spawn --profile nobody", 2),
        Row("spawn --prompt hello true", 2),
        Row("spawn {dir}", 126),
        Row("spawn no-such-program", 127),
    ],
    "exec": [
        *rows(
            """
            exec {shell} true
            exec {shell} -w {dir} -e A=1 --pipe -c 'echo $A'
            exec {shell} --cwd {dir} --env A=1 --raw true
            exec {shell} --script {file}
            exec {shell} --tty-stdin --kill-after 1s --max-output 10 --wait-prompt 5s --timeout 1m true
            exec {shell} --no-record -q true
            exec {shell} --lease 0123456789abcdef0123456789abcdef --lease-wait 1s true
            """
        ),
        Row("exec {shell} --json true", sees='"status": "exited"'),
        Row("exec {shell} --template {{exit_code}} false", 1, sees="1"),
        Row("exec {shell} --quiet true"),
        Row("exec {shell} --stdin cat", stdin="handed over", sees="handed over"),
        Row("exec {shell} -", stdin="echo from stdin\n", sees="from stdin"),
        Row("exec {shell} 'exit_with() {{ return $1; }}; exit_with 42'", 42),
        Row("exec {shell} 'sh -c \"kill -9 \\$\\$\"'", 137),
        Row("exec {shell} --timeout 0.3s sleep 1000", 124),
        Row("exec {shell} --detach sleep 0.1"),
        Row("exec --once name {idle} say hello", sees="hello"),
        Row("exec {idle} fail at once", 1),
        Row("exec --no-wait-input {idle} ask file", 7),
        Row("exec {live} true", 125),
        Row("exec nobody true", 125),
        Row("exec {shell}", 125),
    ],
    "attach": [  # all of them without a terminal
        Row("attach {cat}", 125),
        Row("attach {cat} --read-only --json", 125),
        Row("attach {cat} --take --template {{id}}", 125),
        Row("attach {cat} --detach-keys ctrl-p,ctrl-q -q", 125),
        Row("attach nobody --quiet", 125),
    ],
    "list": [
        *rows(
            """
            list
            list -a --json
            list --all --sort name
            list --group-by repo -q
            list --group-by manager
            list -m user -l a=b --repo {dir}
            list --manager user --label a=b --quiet
            list --template {{id}}
            list {live}
            """
        ),
        Row("list --sort colour", 2),
        Row("list nobody", 3),
    ],
    "info": [
        *rows(
            """
            info {live}
            info {live} --env --json
            info {ended} --template {{exit_code}}
            info -q {live}
            info --quiet {live}
            """
        ),
        Row("info", 2),
        Row("info nobody", 3),
    ],
    "top": [
        *rows(
            """
            top --once
            top --json
            top -m user --label a=b -q
            top --manager user -l a=b --quiet
            top --repo {dir}
            top --all --template {{cpu}}
            """
        ),
        Row("top --no", 2),
        Row("top nobody", 3),
    ],
    "tail": [
        *rows(
            """
            tail {ended}
            tail -f -n all {ended}
            tail --follow --since 1h --until 0s -t {ended}
            tail --times --prefix --raw {ended}
            tail --plain {ended}
            tail --tail 1 {ended}
            tail --stream out {pipe}
            tail --command 1 {shell}
            """
        ),
        Row("tail --json {ended}", sees='"output"'),
        Row("tail --template {{offset}} {ended}", sees="0"),
        Row("tail -q --all"),
        Row("tail --quiet --manager user"),
        Row("tail -m user"),
        Row("tail -l a=b", 3),
        Row("tail --label a=b --repo {dir}", 3),
        Row("tail --exit-status {ended}", 3),
        Row("tail --exit-status {ended} {done}", 1),
        Row("tail --exit-status {ended} {live}", 125),
        Row("tail --exit-status nobody", 125),
        Row("tail -n x {ended}", 2),
        Row("tail nobody", 3),
    ],
    "send": [
        *rows(
            """
            send {cat} text
            send {cat} --no-enter text --key C-u
            send {cat} --paste text
            send {cat} --hex 61
            send {cat} --once id1 text --json
            send {cat} -q text
            send {cat} --quiet text
            send {cat} --template {{bytes}} text
            send {cat} --lease 0123456789abcdef0123456789abcdef --lease-wait 1s text
            """
        ),
        Row("send {cat} --stdin", stdin="bytes\n"),
        Row("send {pipe} --stdin --eof", stdin="bytes\n"),
        Row("send {pipe} --eof", 5),
        Row("send {cat} --eof", 5),
        Row("send {cat}", 2),
        Row("send {cat} --lease word text", 2),
        Row("send nobody text", 3),
        Row("send {ended} text", 3),
        Row("send {cat} --stdin", 5, stdin="x" * 5000),
    ],
    "history": [
        *rows(
            """
            history {shell}
            history --failed {shell} --json
            history -q {shell}
            history --quiet {shell}
            history --template {{number}} {shell}
            """
        ),
        Row("history", 2),
        Row("history nobody", 3),
    ],
    "wait": [
        Row("wait {ended}", 3),
        Row("wait {ended} {done}", 1),
        Row("wait {done}"),
        Row("wait --any {done} {live}"),
        Row("wait --json {done}", sees='"exit_code": 0'),
        Row("wait -q {done}"),
        Row("wait --quiet {done} {done}"),
        Row("wait --template {{exit_code}} {ended}", 3, sees="3"),
        Row("wait --for exit --timeout 0.2s {live}", 124),
        Row("wait --for prompt {shell}", sees="prompt"),
        Row("wait -m user:done"),
        Row("wait --manager user:done --repo {dir}", 3),
        Row("wait -l a=b", 3),
        Row("wait --label a=b", 3),
        Row("wait --all --timeout 0.2s", 124),
        Row("wait {killed}", 137),
        Row("wait --for output=over --since 1h {ended}", sees="over"),
        Row("wait --for output=over --new {ended}", 3),
        Row("wait --for nothing {live}", 2),
        Row("wait nobody", 125),
    ],
    "expect": [
        *rows(
            """
            expect {ended} over
            expect --timeout 1m {ended} nothing over --json
            expect {ended} over -q
            expect {ended} over --quiet
            expect {ended} over --template {{index}}
            """
        ),
        Row("expect {ended}", 2),
        Row("expect {ended} (", 2),
        Row("expect nobody over", 3),
        Row("expect {ended} nothing", 3),
        Row("expect --timeout 0.2s {live} nothing", 124),
    ],
    "interrupt": [
        *rows(
            """
            interrupt {cat} --json
            interrupt -q {shell}
            interrupt --quiet {shell}
            interrupt {shell} --template {{interrupted}}
            """
        ),
        Row("interrupt", 2),
        Row("interrupt {ended}", 3),
    ],
    "rename": [
        *rows(
            """
            rename {live} other
            rename other --none --json
            rename {live_id} other -q
            rename other other --quiet
            rename other {live} --template {{name}}
            """
        ),
        Row("rename {live}", 2),
        Row("rename nobody other", 3),
        Row("rename {live} {shell}", 5),
    ],
    "label": [
        *rows(
            """
            label {live} a=b
            label {live} --set c=d --remove a --json
            label -q {live}
            label --quiet {live}
            label -m user e=f
            label --manager user e=f
            label -l c=d
            label --label c=d
            label --repo {dir} x=y
            label --all z=1 --template {{labels}}
            """
        ),
        Row("label", 2),
        Row("label {ended} a=b", 3),
    ],
    "signal": [
        *rows(
            """
            signal {cat} CONT
            signal --json {cat} 18
            signal -q {cat} SIGCONT
            signal --quiet {cat} CONT
            signal -m user:none CONT
            signal --manager user:none CONT
            signal -l a=b CONT
            signal --label a=b CONT
            signal --repo {dir} CONT
            signal --all CONT --template {{id}}
            """
        ),
        Row("signal {cat} NOPE", 2),
        Row("signal nobody HUP", 3),
    ],
    "resize": [
        *rows(
            """
            resize {cat} 90x20
            resize --json {cat} 91x20
            resize -q {cat} 90x20
            resize --quiet {cat} 90x20
            resize -m user:none 90x20
            resize --manager user:none 90x20
            resize -l a=b 90x20
            resize --label a=b 90x20
            resize --repo {dir} 90x20
            resize --all 90x20 --template {{cols}}
            resize --lease 0123456789abcdef0123456789abcdef {cat} 90x20
            """
        ),
        Row("resize {cat} 0x0", 2),
        Row("resize nobody 80x24", 3),
        Row("lease take {cat}"),
        Row("resize {cat} 90x20", 5),
    ],
    "pause": [
        *rows(
            """
            pause {cat}
            pause --json {cat}
            pause -q {cat}
            pause --quiet {cat}
            pause -m user:none
            pause --manager user:none
            pause -l a=b
            pause --label a=b
            pause --repo {dir}
            pause --all --template {{paused}}
            """
        ),
        Row("pause", 2),
        Row("pause nobody", 3),
    ],
    "unpause": [
        *rows(
            """
            unpause {cat}
            unpause --json {cat}
            unpause -q {cat}
            unpause --quiet {cat}
            unpause -m user:none
            unpause --manager user:none
            unpause -l a=b
            unpause --label a=b
            unpause --repo {dir}
            unpause --all --template {{paused}}
            """
        ),
        Row("unpause", 2),
        Row("unpause nobody", 3),
    ],
    "restart": [
        *rows(
            """
            restart {cat} --grace 1s
            restart --json {cat}
            restart -q {cat}
            restart --quiet {cat}
            restart -m user:none
            restart --manager user:none
            restart -l a=b
            restart --label a=b
            restart --repo {dir}
            restart --all --template {{run}}
            """
        ),
        Row("restart", 2),
        Row("restart nobody", 3),
        Row("restart {gone}", 127),
        Row("restart {forbidden}", 126),
    ],
    "kill": [
        *rows(
            """
            kill --dry-run --all
            kill -s TERM --grace 1s {cat}
            kill --signal KILL {pipe}
            kill {ended}
            kill -m user:none
            kill --manager user:none
            kill -l a=b
            kill --label a=b --json
            kill --repo {dir} -q
            kill --quiet {shell}
            kill --template {{ended}} {live}
            """
        ),
        Row("kill", 2),
        Row("kill nobody", 3),
        Row("kill -", stdin="{live}\n"),
    ],
    "kill-by-manager": [
        *rows(
            """
            kill-by-manager nobody
            kill-by-manager --dry-run user --json
            kill-by-manager --exact user:none -q
            kill-by-manager --quiet --grace 1s user:none
            kill-by-manager --template {{ended}} user
            """
        ),
        Row("kill-by-manager a::b", 2),
        Row("kill-by-manager", 2),
    ],
}

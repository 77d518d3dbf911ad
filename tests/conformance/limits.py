"""Texts that take too long: they are stopped, the answer says so, and the shell can be used again at once."""

from __future__ import annotations

from tests.conformance.case import Case, Step

LIMIT_S = 0.5  # enough to start in a shell that is ready, on a busy machine too


def _stopped(name: str, text: str, output: bytes | None = b"", *then: Step, core: bool = False) -> Case:
    return Case(f"too long: {name}", (Step(":"), Step(text, 124, output, timeout_s=LIMIT_S), *then), core=core)


CASES = (
    Case("a limit that is not reached", (Step("echo hi; (exit 3)", 3, b"hi\n", timeout_s=60),), core=True),
    _stopped("a program", "echo a; sleep 60; echo b", b"a\n", core=True),
    _stopped("a program after half a line", "printf a; sleep 60; echo b", b"a"),
    _stopped("a loop of the shell", "until false; do :; done"),
    _stopped("a loop of programs", "while :; do sleep 0.01; done"),
    _stopped("a pipe", "sleep 60 | cat | cat"),
    _stopped("a substitution", "x=$(sleep 60); echo b"),
    _stopped("a subshell", "(echo a; sleep 60; echo b); echo c", b"a\n"),
    _stopped("a function", "f() { sleep 60; echo b; }; f; f"),
    _stopped("a nested shell", "bash -c 'sleep 60; echo b'; echo c"),
    _stopped("a read from the terminal", "read x </dev/tty; echo b"),
    _stopped("a program that reads the terminal", "cat </dev/tty; echo b"),
    _stopped("a program that asks for a password", "python3 -c 'import getpass; getpass.getpass()'", None),
    _stopped(
        "a program that catches the interrupt", "sh -c 'trap \"echo int; exit 5\" INT; sleep 60 & wait'; echo b", None
    ),
    _stopped("a text with a trap of its own", "trap 'echo int' INT; sleep 60", None, Step("trap - INT")),
    _stopped("waiting for a job", "sleep 60 & wait; echo b", None, Step("kill %1; wait %1", 143, None)),
    _stopped(
        "state stays", "x=5; cd /usr; f() { echo F; }; sleep 60", b"", Step("echo $x $PWD; f", output=b"5 /usr\nF\n")
    ),
    _stopped("under xtrace", "set -x; sleep 60", None, Step("set +x", output=None)),
    _stopped("the prompt command is taken away by the text", "PROMPT_COMMAND= PS1='here: '; echo a; sleep 60", None),
    Case(
        "too long: without a prompt command",
        (Step("PROMPT_COMMAND= PS1='here: '"), Step("echo a; sleep 60", 124, b"a\n", timeout_s=LIMIT_S)),
    ),
    Case(
        "too long: with a prompt command that prints",
        (
            Step("PROMPT_COMMAND='echo noise'"),
            Step("echo a; sleep 60", 124, b"a\n", timeout_s=LIMIT_S),
            Step('echo "$PROMPT_COMMAND" | tail -c 11', output=b"echo noise\n"),
        ),
    ),
    _stopped("with much output", "yes", None),
    Case(
        "too long: a program that ignores interrupt and request",
        (
            Step(
                "sh -c 'trap \"\" INT TERM; echo a; while :; do sleep 0.1; done'; echo b",
                124,
                match=rb"(?s)a\n.*",
                timeout_s=LIMIT_S,
            ),
        ),
    ),
)

"""Traps: they run for the text's own commands, as often as for typed ones, and leave the status alone."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one

_EIGHT = Step("(exit 8)", 8)
_STATUS = Step("echo $?", output=b"8\n")
_HI = Step("echo hi", output=b"hi\n")

CASES = (
    Case("a silent DEBUG trap", (Step("trap : DEBUG"), _EIGHT, _STATUS, _HI), core=True),
    Case(
        "a DEBUG trap that prints, in the same text",
        (Step("trap 'echo step' DEBUG; echo hi", output=b"step\nhi\n"), Step("trap - DEBUG", output=None)),
    ),
    Case(
        "a DEBUG trap that prints, from before",
        (
            Step("trap 'echo step' DEBUG"),
            Step("echo hi", match=rb"(step\n)?hi\n"),
            Step("(exit 8)", 8, match=rb"(step\n)*"),
            Step("echo $?", match=rb"(step\n)?8\n"),
            Step("trap - DEBUG", output=None),
        ),
        note="bash keeps such a trap out of sourced files; either is true to it",
    ),
    Case("a DEBUG trap that fails", (Step("trap 'false' DEBUG"), _EIGHT, _STATUS, _HI)),
    Case(
        "a DEBUG trap that is traced everywhere",
        (Step("set -T; trap 'n=$((n + 1))' DEBUG"), _EIGHT, _STATUS, Step("f() { return 3; }; f", 3)),
    ),
    Case(
        "an ERR trap fires once for a failure",
        (Step("trap 'echo failed' ERR"), Step("false", 1, b"failed\n"), _HI),
        core=True,
    ),
    Case(
        "an ERR trap sees the status",
        (Step("trap 'echo E$?' ERR"), Step("(exit 5)", 5, b"E5\n"), Step("echo $?", output=b"5\n")),
    ),
    Case(
        "an ERR trap and a here-document in a loop",
        (
            Step("trap 'echo E$?' ERR"),
            Step("for i in 1 2; do cat <<-x; done; (exit 3)\n\tin $i\n\tx", 3, b"in 1\nin 2\nE3\n"),
            _HI,
        ),
    ),
    Case(
        "an ERR trap and a here-document that is quoted",
        (Step("trap 'echo E$?' ERR; cat <<'a b'\n$x <<y\na b\necho '<<z'; (exit 6)", 6, b"$x <<y\n<<z\nE6\n"), _HI),
    ),
    Case("an ERR trap in the same text", (Step("trap 'echo failed' ERR; echo a; (exit 4)", 4, b"a\nfailed\n"),)),
    Case(
        "an ERR trap and a failure that is handled",
        (Step("trap 'echo failed' ERR"), Step("false || true; ! true", 1), _HI),
    ),
    Case(
        "an ERR trap that is inherited", (Step("set -E; trap 'echo failed' ERR"), Step("f() { false; }; f || :"), _HI)
    ),
    Case("an ERR trap and a return", (Step("trap 'echo failed' ERR"), Step("return 6", 6, match=rb"(failed\n)?"), _HI)),
    Case(
        "a RETURN trap",
        (Step("trap 'echo ret' RETURN"), _HI, _EIGHT, _STATUS, Step("trap - RETURN")),
        note="only in functions",
    ),
    Case(
        "a RETURN trap within a traced function",
        (
            Step(
                "f() { trap 'echo ret' RETURN; echo in; return 3; }; f; echo $?; trap - RETURN", output=b"in\nret\n3\n"
            ),
        ),
    ),
    Case("an EXIT trap does not run early", (Step("trap 'echo leaving' EXIT"), _HI, _EIGHT, _STATUS)),
    Case("an EXIT trap of a subshell", (Step("(trap 'echo leaving' EXIT; exit 3)", 3, b"leaving\n"),), core=True),
    Case(
        "a CHLD trap runs once for a child",
        (Step("trap 'echo chld' CHLD"), Step("/bin/true; /bin/true; :", output=b"chld\nchld\n")),
    ),
    Case(
        "a trap for a signal sent to the shell",
        (Step("trap 'echo caught' USR1"), Step("kill -USR1 $$; echo on", output=b"caught\non\n")),
    ),
    Case("a trap that ends in another status", (Step("trap '(exit 9)' USR1; kill -USR1 $$; echo $?", output=b"0\n"),)),
    Case(
        "a trap for INT",
        (Step("trap 'echo caught' INT; kill -INT $$; echo on", output=b"caught\non\n"), _EIGHT),
        core=True,
    ),
    Case("INT is ignored", (Step("trap '' INT; kill -INT $$; echo on", output=b"on\n"), Step("trap - INT"))),
    Case("TERM does not end an interactive shell", (Step("kill -TERM $$; echo still", output=b"still\n"),)),
    Case(
        "a trap is listed and removed",
        (Step("trap 'a b' HUP; trap -p HUP; trap - HUP; trap", output=b"trap -- 'a b' SIGHUP\n"),),
    ),
    Case("a trap for the terminal's size", (Step("trap 'echo w' WINCH; kill -WINCH $$; :", output=b"w\n"),)),
    Case("a trap that cleans up in a function", (Step("f() (trap 'rm -f t' EXIT; :>t; test -e t); f; test ! -e t"),)),
    one(
        "a child interrupts itself",
        "sh -c 'kill -INT $$'; echo after",
        b"\n",
        130,
        note="the newline is the shell's own",
    ),
    Case(
        "the shell is interrupted by its own text, and a prompt command prints",
        (Step("PROMPT_COMMAND='echo noise'"), Step("echo a; kill -INT $$; echo b", 130, b"a\n\n")),
        note="the newline is the shell's own, and the noise the prompt's",
    ),
    one("the shell is interrupted by its own text", "echo a; kill -INT $$; echo b", b"a\n\n", 130),
)

"""What reaches the terminal comes back byte for byte, whatever it looks like."""

from __future__ import annotations

import hashlib

from tests.conformance.case import Case, Step, one, saying

_ALL_BYTES = bytes(range(256)) * 16
_MILLION = b"".join(b"%d\n" % number for number in range(1, 150_001))


def _printed(name: str, data: bytes, *, code: int = 0, core: bool = False, strict: bool = False) -> Case:
    """These bytes, written by a program that knows nothing of the shell, before a status."""
    end = f"; (exit {code})" if code else ""
    return Case(
        f"printed: {name}",
        (Step(f"cat data{end}", code, data),),
        files=(("data", data),),
        core=core or strict,
        strict=strict,
    )


CASES = (
    one("no newline at the end", "printf xyz", b"xyz", strict=True),
    one("no newline at the end, and a failure", "printf xyz; (exit 4)", b"xyz", 4, core=True),
    one("a newline only", "echo", b"\n"),
    one("many newlines", r"printf '\n\n\na\n\n'", b"\n\n\na\n\n"),
    one("nothing at all", ":", strict=True),
    _printed("all byte values", _ALL_BYTES, core=True, strict=True),
    _printed("bytes of zero", b"a\0b\0\0c"),
    _printed("carriage returns before newlines", b"a\r\nb\r\r\nc\n", strict=True),
    _printed("carriage returns alone", b"10%\r20%\r100%\n", code=3),
    _printed("a carriage return at the very end", b"a\r"),
    _printed("backspaces and tabs", b"a\b\tb\v\fc\n"),
    _printed("no UTF-8", b"\xff\xfe\xc3\n\xe2\x82"),
    _printed("half a character at the end", "ż".encode()[:1]),
    _printed("colours left on", b"\x1b[31mred\x1b[1m"),
    _printed("the other screen left on", b"\x1b[?1049h\x1b[2J\x1b[Hx", core=True),
    _printed("modes left on", b"\x1b[?1000h\x1b[?2004h\x1b[?25l\x1b[4h\x1b7"),
    _printed("an escape at the end", b"x\x1b", code=5, core=True),
    _printed("half a title at the end", b"x\x1b]0;ti", code=5),
    _printed("half a device string at the end", b"x\x1bPq#0", code=5),
    _printed("half a colour at the end", b"x\x1b[3", code=5),
    _printed("a title", b"\x1b]0;title\x07x\n"),
    _printed("a reset of the terminal", b"\x1bcx\x1b[!p\n"),
    # what looks like a mark
    _printed(
        "marks of other tools", b"\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]633;D;0\x07\x1b]1337;x\x07", code=7, core=True
    ),
    _printed(
        "marks of another session", b"\x1b]6973;0123456789abcdef;D;1;0\x07\x1b]6973;00;P;99;0\x07", code=7, core=True
    ),
    _printed("a mark without its end", b"a\x1b]6973;", code=7),
    _printed("a mark without its end and much after it", b"\x1b]6973;0123" + b"x" * 5000 + b"\n", code=7),
    _printed("many beginnings of marks", b"\x1b]6973;\x1b]6973\x1b]69\x1b]\x1b" * 50, code=7),
    _printed("a mark without a number", b"\x1b]6973;;;;\x07\x1b]6973\x07", code=7),
    one("a prompt in the output", r"printf '\n$ \n%s' \> \# 'user@host:~$ '", b"\n$ \n>\n$ \n#\n$ \nuser@host:~$ "),
    one("the text itself in the output", "echo 'echo hi'; echo hi", b"echo hi\nhi\n"),
    # how much
    one("a line wider than the terminal", "printf '%0300d\\n' 5", b"0" * 299 + b"5\n", strict=True),
    Case("a million bytes", (Step("seq 1 150000", sha256=hashlib.sha256(_MILLION).hexdigest()),)),
    Case(
        "a million bytes without a newline",
        (
            Step(
                "head -c 1000000 /dev/zero | tr '\\0' x; (exit 9)",
                9,
                sha256=hashlib.sha256(b"x" * 1_000_000).hexdigest(),
            ),
        ),
    ),
    one("many small writes", "for i in {1..2000}; do printf x; done", b"x" * 2000),
    # who writes
    one("standard error", "echo e >&2", b"e\n", strict=True),
    one(
        "both streams in their order",
        "echo 1; echo 2 >&2; sh -c 'echo 3; echo 4 >&2'; echo 5",
        b"1\n2\n3\n4\n5\n",
        core=True,
    ),
    one("the terminal by name", "echo a >/dev/tty; echo b", b"a\nb\n"),
    one("a child of a child", "sh -c 'sh -c \"echo deep\"; exit 3'", b"deep\n", 3),
    one("a job of the same text", "{ echo job; } & wait $!", match=rb"job\n(\[1\]\+  Done .*\n)?"),
    Case(
        "a job of an earlier text",
        (
            Step("mkfifo p; (cat p; echo late) & j=$!"),
            Step("echo before; echo go >p; wait $j", match=rb"before\ngo\nlate\n(\[1\]\+  Done .*\n)?"),
        ),
        core=True,
    ),
    Case(
        "a job that writes at some time",
        (
            Step("(echo late) & j=$!", match=rb"(late\n)?"),
            Step("wait $j; echo end", match=rb"(late\n)?(\[1\].*\n)?end\n"),
        ),
    ),
    Case(
        "a job that never stops writing",
        (
            Step("while :; do echo noise; done & j=$!", output=None),
            Step("(exit 3)", 3, None),
            Step("kill $j; wait $j 2>/dev/null", 143, None),
            Step("echo end", output=None),
        ),
    ),
    one("a job outlives its text and its output is closed", "(exec >&- 2>&-; sleep 0.1) &"),
    one("output that nobody reads", "yes | head -n 2", b"y\ny\n"),
    one("a closed output", "echo hi >&-", match=saying(b"write error"), exit=1),
    one(
        "questions to the terminal",
        r"printf '\033[c\033[6n\033[5n\033]11;?\007'; (exit 6)",
        b"\x1b[c\x1b[6n\x1b[5n\x1b]11;?\x07",
        6,
    ),
    Case(
        "a terminal within the terminal",
        (
            Step("script -qc 'bash --norc -i -c \"echo in\"' /dev/null </dev/null", 0, match=rb"in\n|in\r\n"),
            Step("(exit 2)", 2),
        ),
    ),
)

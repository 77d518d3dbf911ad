"""Where a text reads from and writes to: its own input, the shell's streams sent elsewhere, numbered files."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one, saying

_EIGHT = Step("(exit 8)", 8)
_LARGE = bytes(range(256)) * 1000

CASES = (
    # the input nobody gave
    one("no input ends a reader at once", "cat; wc -c", b"0\n", strict=True),
    one("no input fails a read", "read x", exit=1, core=True),
    one("no input is the null device", "readlink /proc/self/fd/0", b"/dev/null\n", strict=True),
    one("no input is no terminal", "[ -t 0 ]", exit=1),
    one("no input for a pipe and a job", "cat | cat; cat & wait $!", match=rb"(\[1\]\+  Done .*\n)?"),
    one("the terminal can be asked for by name", "[ -t 0 ] </dev/tty", strict=True),
    one("a nested shell without input", "bash; sh; echo $?", b"0\n"),
    # input that was given
    Case("input", (Step("cat", stdin=b"l1\nl2", output=b"l1\nl2"), Step("cat")), core=True, strict=True),
    Case("empty input", (Step("cat; read x", 1, stdin=b""),)),
    Case("input with all bytes", (Step("cat | wc -c; cat", stdin=_LARGE, output=b"256000\n"),)),
    Case("input that comes back", (Step("cat", stdin=b"a\r\nb\x03\x04\x1a\x00c", output=b"a\r\nb\x03\x04\x1a\x00c"),)),
    Case(
        "input for read",
        (Step("read v w", stdin=b"val more words\nrest\n"), Step("echo $v $w", output=b"val more words\n")),
    ),
    Case("input without a newline for read", (Step("read v", 1, stdin=b"val"), Step("echo $v", output=b"val\n"))),
    Case("input shared by read and a program", (Step("read a; read b; cat", stdin=b"1\n2\n3\n4\n", output=b"3\n4\n"),)),
    Case(
        "input for a loop",
        (Step("n=0; while read -r l; do n=$((n + ${#l})); done; echo $n", stdin=b"abc\nde\n", output=b"5\n"),),
    ),
    Case("input for a nested shell", (Step("sh", 4, b"in\n", stdin=b"echo in\nexit 4\n"),)),
    Case("input and a here-document", (Step("cat <<E; cat\nhere\nE", stdin=b"input\n", output=b"here\ninput\n"),)),
    Case("input for a subshell", (Step("(read x; echo $x); cat", stdin=b"1\n2\n", output=b"1\n2\n"),)),
    Case("input that is not read", (Step("echo hi; (exit 3)", 3, b"hi\n", stdin=b"unread\n" * 1000),)),
    Case("input for a mapped array", (Step("mapfile -t a; echo ${#a[@]}", stdin=b"1\n2\n3", output=b"3\n"),)),
    Case("input when the shell ends", (Step("cat; exit 6", 6, b"x", stdin=b"x", ends=True),)),
    # the shell's own streams
    Case(
        "standard output goes to a file",
        (Step("exec >f"), Step("echo in_f"), _EIGHT, Step("exec >/dev/tty; grep -o in_f f", output=b"in_f\n")),
        core=True,
    ),
    Case(
        "standard error goes to a file",
        (
            Step("exec 2>f"),
            Step("no_such_program", 127),
            Step("echo hi", output=b"hi\n"),
            Step("grep -c no_such_program f", output=b"1\n"),
            _EIGHT,
        ),
        after=(),
        note="bash writes its prompt and the echo of its input there too",
    ),
    Case(
        "both go to a file",
        (Step("exec >f 2>&1"), Step("echo hi; echo e >&2"), _EIGHT, Step("exec >/dev/tty 2>&1; grep -q hi f")),
    ),
    Case(
        "both go to nowhere", (Step("exec >/dev/null 2>&1"), Step("echo hi"), _EIGHT, Step("exec >/dev/tty 2>/dev/tty"))
    ),
    Case("standard output is closed", (Step("exec >&-"), _EIGHT, Step("echo hi", 1, None), Step("exec >/dev/tty"))),
    Case(
        "standard error is closed", (Step("exec 2>&-"), _EIGHT, Step("no_such_program", 127), Step("exec 2>/dev/tty"))
    ),
    Case(
        "standard output goes through a pipe",
        (Step("exec > >(cat >f)"), Step("echo hi"), _EIGHT, Step("exec >/dev/tty")),
    ),
    Case(
        "standard input comes from a file within a text",
        (Step("printf '1\\n2\\n' >f; exec <f; read a; read b; echo $a$b", output=b"12\n"), Step("read x", 1)),
        note="the shell's own input is what it reads its next line from",
    ),
    Case("standard input is closed within a text", (Step("exec <&-; read x 2>/dev/null", 1), Step("cat"), _EIGHT)),
    Case("both are put aside and come back", (Step("exec 5>&1 >f; echo hi; exec >&5 5>&-; cat f", output=b"hi\n"),)),
    one(
        "a redirection of the shell that fails",
        "exec >/nonexistent/f; echo b",
        match=saying(b"/nonexistent/f: No such", after=b"b\n"),
    ),
    # numbered files
    Case(
        "a numbered output",
        (Step("exec 3>f"), Step("echo a >&3"), Step("echo b >&3; exec 3>&-; cat f", output=b"a\nb\n")),
    ),
    Case(
        "a numbered input keeps its place",
        (Step("printf '1\\n2\\n' >f; exec 4<f"), Step("read -u 4 x"), Step("cat <&4", output=b"2\n")),
        core=True,
    ),
    Case(
        "a named number",
        (Step("exec {fd}>f; echo a >&$fd"), Step("echo b >&$fd; exec {fd}>&-; cat f", output=b"a\nb\n")),
    ),
    Case("a number that is not open", (Step("echo a >&7", 1, match=saying(b"7: Bad file descriptor")),)),
    Case("a high number", (Step("exec 60>f; echo a >&60"), _EIGHT, Step("exec 60>&-; cat f", output=b"a\n"))),
    Case("low numbers taken", (Step('for i in 3 4 5 6 7 8 9; do eval "exec $i>/dev/null"; done'), _EIGHT)),
    # of one command
    one("output and errors together", "{ echo o; echo e >&2; } >f 2>&1; cat f", b"o\ne\n"),
    one("errors before output", "{ echo o; echo e >&2; } 2>&1 >/dev/null | tr e E", b"E\n"),
    one("both by short form", "sh -c 'echo o; echo e >&2' &>f; sh -c 'echo e >&2' &>>f; cat f", b"o\ne\ne\n"),
    one("both through a pipe", "sh -c 'echo e >&2' |& tr e E", b"E\n"),
    one("append", "echo a >f; echo b >>f; cat f", b"a\nb\n", strict=True),
    one("read and write", "echo abc >f; echo X 1<>f; cat f", b"X\nc\n"),
    one("streams swapped", "sh -c 'echo o; echo e >&2' 3>&1 1>&2 2>&3 3>&- | tr a-z A-Z", match=rb"o\nE\n|E\no\n"),
    one(
        "an output that cannot be opened",
        "echo a >/nonexistent/f; echo $?",
        match=saying(b"/nonexistent/f: No such", after=b"1\n"),
    ),
    one("a full device", "echo a >/dev/full", match=saying(b"No space left on device"), exit=1),
    one("process substitution", "cat <(echo a) <(echo b); tee >(cat >/dev/null) <<<c", b"a\nb\nc\n"),
    one(
        "a loop with its own input and output",
        "while read x; do echo \"<$x>\"; done <<<$'a\\nb' >f; cat f",
        b"<a>\n<b>\n",
    ),
    Case(
        "very few open files",
        (Step("ulimit -S -n 6; echo ok; sh -c 'exit 3'", 3, b"ok\n"),),
        after=(),
        note="a shell that can open no more files may be of no further use",
        refusable=True,
    ),
)

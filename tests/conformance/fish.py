"""The table for fish, whose language is its own: the same themes, in its words.

What fish cannot have, and why:
- `exit N` ends the file that is read, not the shell: the code is right, and the session goes on.
- It has no here-documents, no `set -e`, `-u` or `-x`, and no DEBUG or ERR traps.
- A program that a sourced file starts is in fish's own process group: fish is interrupted together with it.
- `exec` cannot send the shell's own streams elsewhere, and there are no numbered files that stay open.
"""

from __future__ import annotations

import hashlib

from tests.conformance.case import Case, Step, one
from tests.conformance.limits import LIMIT_S

_EIGHT = Step("sh -c 'exit 8'", 8)
_STATUS = Step("echo $status", output=b"8\n")
_HI = Step("echo hi", output=b"hi\n")
_READY = Step(":")
_HOME = Step('test "$PWD" = "$HOME"')
_UNSET = Step("set -q K", 1)
_MILLION = b"".join(b"%d\n" % number for number in range(1, 150_001))


def _message(*words: bytes) -> bytes:
    return b"(?s)(?!.*__oc)" + b".*".join([b"", *words, b""])


def _printed(name: str, data: bytes, code: int = 0) -> Case:
    return Case(f"printed: {name}", (Step(f"cat data; sh -c 'exit {code}'", code, data),), files=(("data", data),))


def _stopped(name: str, text: str, output: bytes | None = b"", *then: Step) -> Case:
    return Case(f"too long: {name}", (_READY, Step(text, 124, output, timeout_s=LIMIT_S), *then))


TEXTS = (
    one("two words", "echo hi", b"hi\n", strict=True),
    one("an empty text", ""),
    one("a comment only", "# nothing to do"),
    one("a comment after a command", "echo hi # it's \"open", b"hi\n"),
    one("a first line that names an interpreter", "#!/usr/bin/perl -w\necho hi", b"hi\n"),
    one("blank lines before and after", "\n\n   echo hi\n\n\n", b"hi\n"),
    one("both kinds of quotes", """printf '%s|' 'a "b"' "c 'd'" "it's"; echo""", b"a \"b\"|c 'd'|it's|\n", core=True),
    one("backslashes", r"printf '%s\n' a\ b \\ \' \" '\\' \$x", b"a b\n\\\n'\n\"\n\\\n$x\n"),
    one("a loop over several lines", "for n in x y z\n\techo $n\nend", b"x\ny\nz\n", core=True),
    one("a function over several lines", "function f\n  echo $argv[1]\n  return 4\nend\nf x", b"x\n", 4, core=True),
    one("a line continued with a backslash", "echo a \\\n  b\\\nc", b"a bc\n"),
    one("exclamation marks and patterns", """echo 'a!b!!' "x!y" '*' !!""", b"a!b!! x!y * !!\n"),
    one("letters beyond ASCII", "echo 'żółć 漢字 🎉'", "żółć 漢字 🎉\n".encode(), core=True),
    one("control characters", "printf %s 'a\tb\x01\x15\x17c\x7f\x1b[A'", b"a\tb\x01\x15\x17c\x7f\x1b[A", core=True),
    one("a byte that is no UTF-8", "printf %s 'a\udcffb'", b"a\xffb"),
    one("a line longer than a terminal's", "printf %s " + "a" * 6000 + " | wc -c", b"6000\n", core=True),
    one("very many lines", "set x 1\n" * 5000 + "echo $x", b"1\n"),
    one("a substitution", 'echo (echo (echo "a  b") c)', b"a  b c\n"),
    one("a group", "begin; echo grp; end | cat", b"grp\n"),
)
MISTAKES = (
    one("an unclosed quote", "echo 'never closed", match=_message(b"line 1", b"Unexpected end of string"), exit=1),
    one("an unclosed substitution", "echo (ls", match=_message(b"line 1"), exit=1),
    one("an open loop", "while true", match=_message(b"line 1", b"Missing end"), exit=1, core=True),
    one(
        "a stray end", "echo a\necho b\nend", match=_message(b"line 3", b"'end' outside of a block"), exit=1, core=True
    ),
    one("a pipe at the end", "echo a |", match=_message(b"line 1"), exit=1),
    one("an unknown command", "no_such_program", match=_message(b"no_such_program"), exit=127, core=True),
    one("an unknown command on line 3", "echo a\n\nno_such_program", match=_message(b"a\n", b"line 3"), exit=127),
    one("a missing directory", "cd /nonexistent", match=_message(b"/nonexistent"), exit=1),
    one("a pattern that matches nothing", "echo /nonexistent/*", match=_message(b"No matches"), exit=124),
    Case(
        "a mistake runs nothing",
        (Step("set x 5\nend", 1, match=_message(b"line 2")), Step("set -q x", 1)),
        note="it reads all of it first",
    ),
    Case(
        "the status after a mistake", (Step("end", 1, match=_message(b"line 1")), Step("echo $status", output=b"1\n"))
    ),
)
STATE = (
    Case("the directory", (Step("cd /usr"), Step("pwd", output=b"/usr\n")), core=True),
    Case("a variable", (Step("set x 'a  b' c"), Step('echo "$x[1]" (count $x)', output=b"a  b 2\n")), core=True),
    Case("an exported variable", (Step("set -gx Y 6"), Step("sh -c 'echo $Y'", output=b"6\n"))),
    Case("a function", (Step("function f; echo F$argv; end"), Step("f 1", output=b"F1\n"))),
    Case("an alias", (Step("alias zz='echo AL'"), Step("zz x", output=b"AL x\n"))),
    Case(
        "the last status",
        (Step("sh -c 'exit 7'", 7), Step("echo $status", output=b"7\n"), Step("echo $status", output=b"0\n")),
        core=True,
    ),
    Case("a status of 255", (Step("sh -c 'exit 255'", 255),)),
    Case("the statuses of a pipe", (Step("sh -c 'exit 3' | sh -c 'exit 4'; echo $pipestatus", output=b"3 4\n"),)),
    Case("a child killed by a signal", (Step("sh -c 'kill -KILL $$'", 137, None),), core=True),
    Case(
        "functions over commands",
        (Step("function printf; command echo FAKE; end; function cat; end; function source; end"), _EIGHT, _HI),
    ),
    Case(
        "our functions are gone",
        (Step("functions -e __oc_p __oc_a __oc_c; set -e __oc_s __oc_k __oc_l; sh -c 'exit 8'", 8), _EIGHT, _STATUS),
        core=True,
    ),
    Case("no search path", (Step("set -g PATH /nonexistent"), Step("no_such_program", 127, match=_message()), _HI)),
    Case(
        "the history stays empty",
        (_HI, Step("history | cat", output=b""), Step("history | wc -l", output=b"0\n")),
        core=True,
    ),
    Case("vi editing", (Step("fish_vi_key_bindings"), _EIGHT, _STATUS, _HI)),
    Case("the prompt is replaced", (Step("function fish_prompt; echo -n here; end"), _EIGHT, _STATUS), core=True),
    Case(
        "a job of an earlier text",
        (
            Step("mkfifo p; sh -c 'cat p; echo late' &"),
            Step("echo before; echo go >p; wait", match=rb"(?s)before\n.*go\nlate\n.*"),
        ),
    ),
    Case(
        "a job that never stops writing",
        (
            Step("sh -c 'while :; do echo noise; done' &", output=None),
            Step("sh -c 'exit 3'", 3, None),
            Step("kill (jobs -p)", output=None),
            Step("echo end", output=None),
        ),
    ),
)
OUTPUT = (
    one("no newline at the end", "printf xyz; sh -c 'exit 4'", b"xyz", 4, core=True),
    _printed("all byte values", bytes(range(256)) * 16),
    _printed("carriage returns before newlines", b"a\r\nb\r\r\nc\n", 3),
    _printed("an escape at the end", b"x\x1b", 5),
    _printed("half a title at the end", b"x\x1b]0;ti", 5),
    _printed("the other screen left on", b"\x1b[?1049h\x1b[2J\x1b[Hx", 6),
    _printed("marks of other tools", b"\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]633;D;0\x07", 7),
    _printed("marks of another session", b"\x1b]6973;0123456789abcdef;D;1;0\x07\x1b]6973;00;P;99;0\x07", 7),
    one("a line wider than the terminal", "printf '%0300d\\n' 5", b"0" * 299 + b"5\n", core=True),
    Case("a million bytes", (Step("seq 1 150000", sha256=hashlib.sha256(_MILLION).hexdigest()),)),
    one(
        "both streams in their order",
        "echo 1; echo 2 >&2; sh -c 'echo 3; echo 4 >&2'; echo 5",
        b"1\n2\n3\n4\n5\n",
        core=True,
    ),
    one("the terminal by name", "echo a >/dev/tty; echo b", b"a\nb\n"),
    one("questions to the terminal", r"printf '\e[c\e[6n\e[5n'; sh -c 'exit 6'", b"\x1b[c\x1b[6n\x1b[5n", 6, core=True),
)
ENDS = (
    one("exit leaves the text", "echo a; exit 3; echo b", b"a\n", 3, core=True, note="and not the shell"),
    one("another program takes over", "exec sh -c 'echo other; exit 24'", b"other\n", 24, ends=True, core=True),
    one("the shell kills itself", "kill -KILL $fish_pid", exit=137, ends=True, core=True),
    one("return", "echo in; return 19; echo out", b"in\n", 19, core=True),
    Case("return leaves the status", (Step("return 9", 9), Step("echo $status", output=b"9\n"))),
    one("a missing program takes over", "exec /nonexistent/x", match=_message(b"/nonexistent/x"), exit=127),
    Case(
        "an exit handler",
        (Step("function bye --on-event fish_exit; echo leaving; end"), Step("exec sh -c 'exit 3'", 3, None, ends=True)),
    ),
)
STREAMS = (
    one("no input ends a reader at once", "cat; wc -c", b"0\n", core=True),
    one("no input is the null device", "readlink /proc/self/fd/0", b"/dev/null\n"),
    Case("input", (Step("cat", stdin=b"l1\nl2", output=b"l1\nl2"), Step("cat")), core=True),
    Case("input with all bytes", (Step("cat | wc -c", stdin=bytes(range(256)) * 1000, output=b"256000\n"),)),
    Case("input for read", (Step("read -g v", stdin=b"val\nrest\n"), Step("echo $v", output=b"val\n"))),
    Case("stty: no echo", (Step("stty -echo </dev/tty"), _HI, _EIGHT), core=True),
    Case("stty: raw with newlines mapped", (Step("stty raw opost onlcr </dev/tty"), _HI, _EIGHT)),
    Case("stty: narrow", (Step("stty cols 5 </dev/tty"), _HI, _EIGHT)),
)
FORMS = (
    Case(
        "a variable for one text",
        (Step("echo $K; sh -c 'echo $K'", env=(("K", "v"),), output=b"v\nv\n"), _UNSET),
        core=True,
    ),
    Case(
        "a value with everything in it",
        (
            Step(
                'printf %s "$K"', env=(("K", " a'b\"c $x `y` \\ *\n\tż!"),), output=" a'b\"c $x `y` \\ *\n\tż!".encode()
            ),
        ),
    ),
    Case(
        "an exported variable gets its value back",
        (
            Step("set -gx K old"),
            Step("sh -c 'echo $K; exit 4'", 4, b"new\n", env=(("K", "new"),)),
            Step("sh -c 'echo $K'", output=b"old\n"),
        ),
    ),
    Case(
        "the rest of the state stays",
        (Step("set keep $K; cd /usr", env=(("K", "v"),)), Step("echo $keep $PWD", output=b"v /usr\n")),
    ),
    Case(
        "a variable and a time-out",
        (_READY, Step("echo $K; sleep 60", 124, b"v\n", env=(("K", "v"),), timeout_s=LIMIT_S), _UNSET),
    ),
    Case(
        "a directory for one text", (Step("pwd; sh -c 'pwd; exit 3'", 3, b"/usr\n/usr\n", cwd="/usr"), _HOME), core=True
    ),
    Case(
        "a directory that is missing",
        (Step("echo not here", 125, match=_message(), cwd="/nonexistent/zz"), _HOME),
        core=True,
    ),
    Case("a directory and a mistake", (Step("end", 1, match=_message(b"line 1"), cwd="/usr"), _HOME)),
    Case(
        "a directory and a return",
        (Step("pwd; return 6", 6, b"/usr\n", cwd="/usr"), Step("echo $status", output=b"6\n"), _HOME),
    ),
    Case(
        "a directory and a time-out",
        (_READY, Step("pwd; sleep 60", 124, b"/usr\n", cwd="/usr", timeout_s=LIMIT_S), _HOME),
    ),
    Case(
        "variable, directory and input",
        (
            Step("cat; pwd; echo $K; sh -c 'exit 5'", 5, b"in/usr\nv\n", stdin=b"in", env=(("K", "v"),), cwd="/usr"),
            Step("echo $status; cat", output=b"5\n"),
            _UNSET,
            _HOME,
        ),
        core=True,
    ),
)
LIMITS = (
    _stopped("a program", "echo a; sleep 60; echo b", b"a\n"),
    _stopped("a program after half a line", "printf a; sleep 60; echo b", b"a"),
    _stopped("a loop of the shell", "while true; end"),
    _stopped("a loop of programs", "while true; sleep 0.01; end"),
    _stopped("a pipe", "sleep 60 | cat | cat"),
    _stopped("a substitution", "set x (sleep 60); echo b"),
    _stopped("a function", "function f; sleep 60; echo b; end; f; f"),
    _stopped("a program that reads the terminal", "cat </dev/tty; echo b"),
    _stopped("state stays", "set x 5; cd /usr; sleep 60", b"", Step("echo $x $PWD", output=b"5 /usr\n")),
    _stopped("the prompt handler is taken away by the text", "functions -e __oc_p __oc_a; echo a; sleep 60", None),
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
CASES = (*TEXTS, *MISTAKES, *STATE, *OUTPUT, *ENDS, *STREAMS, *FORMS, *LIMITS)
CORE = tuple(case for case in CASES if case.core)

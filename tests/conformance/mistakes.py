"""Texts with mistakes: what does not parse, what does not exist, what stops half-way."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one, saying

# bash counts the end of a text as a line of its own, or not: both are true
_UNCLOSED = rb"(?!.*__oc)bash: .*line [12]: unexpected EOF while looking for matching .*\n"
_END = rb"(?!.*__oc)bash: .*line [%d%d]: syntax error: unexpected end of file\n"
_OPEN_TEXTS = (
    ("true &&", "an and"),
    ("false ||", "an or"),
    ("echo a |", "a pipe"),
    ("true && # more", "an and before a comment"),
    ("echo a |\n# more", "a pipe before a comment line"),
    ("f()", "the head of a function"),
    ("function f", "the keyword form of a function head"),
    ("if true; then", "an open if"),
    ("while true; do", "an open while"),
    ("for x in", "a for without words"),
    ("for x in a", "a for without a body"),
    ("select x in a", "a select without a body"),
    ("for ((i = 0; i < 1; i++))", "an arithmetic for without a body"),
    ("case a in", "an open case"),
    ("case a in a)", "an open branch"),
    ("{ echo a", "an open group"),
    ("(echo a", "an open subshell"),
)

CASES = (
    *(
        one(f"the text ends in {what}", text, match=_END % (lines, lines + 1), exit=2)
        for text, what in _OPEN_TEXTS
        for lines in [text.count("\n") + 1]
    ),
    one("an unclosed single quote", "echo 'never closed", match=_UNCLOSED, exit=2, core=True),
    one("an unclosed double quote", 'printf "%s $HOME', match=_UNCLOSED, exit=2),
    one("an unclosed dollar quote", "echo $'never closed", match=_UNCLOSED, exit=2),
    one("an unclosed backquote", "echo `ls", match=_UNCLOSED, exit=2),
    one("an unclosed substitution", "echo $(ls", match=_UNCLOSED, exit=2),
    one("an unclosed parameter", "echo ${x", match=_UNCLOSED, exit=2),
    one("an unclosed arithmetic command", "((1 + ", match=_UNCLOSED, exit=2),
    one("an unclosed index", "x[1=2", match=_UNCLOSED, exit=2),
    one("an unclosed condition", "[[ a", match=saying(b"conditional binary operator expected"), exit=2),
    one(
        "an unclosed quote on a later line",
        "echo a\necho 'b",
        match=saying(b"line 2", b"matching", before=b"a\n"),
        exit=2,
    ),
    one(
        "a stray parenthesis",
        "echo a; )",
        match=saying(b"line 1: syntax error near", b"`echo a; )'"),
        exit=2,
        core=True,
    ),
    one("a stray brace", "}", match=saying(b"line 1: syntax error near", b"`}'"), exit=2),
    one("a stray end of a loop", "done", match=saying(b"line 1: syntax error near", b"`done'"), exit=2),
    one("two semicolons", "echo a;; echo b", match=saying(b"line 1: syntax error near", b"`;;'"), exit=2),
    one(
        "the lines before a mistake run, and its line number is true",
        "echo 1st\necho 2nd\nesac (",
        match=saying(b"line 3: syntax error near", b"`esac ('", before=b"1st\n2nd\n"),
        exit=2,
        core=True,
    ),
    Case(
        "a mistake leaves the state before it",
        (Step("x=5\ncd /usr\n)", 2, match=saying(b"line 3")), Step("echo $x $PWD", output=b"5 /usr\n")),
    ),
    Case("the status after a mistake", (Step(")", 2, match=saying(b"syntax error")), Step("echo $?", output=b"2\n"))),
    one("a mistake in an evaluated text", "eval 'echo a; )'; echo $?", match=saying(b"syntax error", after=b"2\n")),
    one("a mistake in a nested shell", "bash -c 'echo a; )'", match=saying(b"bash: -c: line 1: syntax error"), exit=2),
    # what is not there
    one(
        "an unknown command",
        "no_such_program",
        match=saying(b"no_such_program: command not found"),
        exit=127,
        core=True,
    ),
    one("an unknown command, then another", "no_such_program 2>/dev/null; echo $?", b"127\n"),
    one("a directory as a command", "/usr", match=saying(b"/usr: Is a directory"), exit=126),
    one("a file that is no program", ":>f; ./f", match=saying(b"./f: Permission denied"), exit=126),
    one(
        "a missing interpreter",
        "echo '#!/nonexistent/x' >f; chmod +x f; ./f",
        match=saying(b"./f: ", b"required file not found"),
        exit=127,
    ),
    one("a missing directory", "cd /nonexistent", match=saying(b"cd: /nonexistent: No such file"), exit=1),
    one("a missing file to source", ". ./nofile; echo $?", match=saying(b"./nofile: No such file", after=b"1\n")),
    one("a missing file to read", "cat <nofile", match=saying(b"nofile: No such file"), exit=1),
    # what stops half-way
    one("a division by zero", "echo $((1 / 0)); echo b", match=saying(b"division by 0"), exit=1),
    one(
        "an unset parameter that is required",
        "echo a; echo ${nope?gone}; echo b",
        match=saying(b"nope: gone\n", before=b"a\n"),
        exit=1,
    ),
    one("a bad substitution", "echo ${x!y}; echo b", match=saying(b"bad substitution\n"), exit=1),
    one(
        "a write to a constant", "readonly r=1; r=2; echo b", match=saying(b"r: readonly variable\n"), exit=1, core=True
    ),
    one(
        "an index before the start of an array",
        "a=(1); a[-5]=2; echo b",
        match=saying(b"bad array subscript\n"),
        exit=1,
    ),
    one("a bad integer", "declare -i n=5/0; echo b", match=saying(b"division by 0"), exit=1),
    one(
        "a local variable outside a function",
        "local x=1; echo $?",
        match=saying(b"local: can only be used in a function", after=b"1\n"),
    ),
    one("a break outside a loop", "break; echo b", match=saying(b"break: only meaningful", after=b"b\n")),
    one("an unknown option", "set -o nosuch", match=saying(b"nosuch: invalid option name"), exit=2),
    one("a bad test", "[ a b ]", match=saying(b"[: a: unary operator expected"), exit=2),
    one("a bad number", "printf %d abc", match=saying(b"abc: invalid number", after=b"0"), exit=1),
    one("too many arguments to exit", "exit 1 2; echo b", match=saying(b"exit: too many arguments\n"), exit=1),
    one("a shift too far", "shift 5", exit=1),
)

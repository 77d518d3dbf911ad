"""Terminal settings that a text leaves changed, and what the text can see of its terminal."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one

_EIGHT = Step("(exit 8)", 8)
_HI = Step("echo hi", output=b"hi\n")


def _stty(name: str, words: str, *then: Step, core: bool = False) -> Case:
    return Case(f"stty: {name}", (Step(f"stty {words} </dev/tty"), *then, _HI, _EIGHT), core=core)


_IN_FRONT = "read -r pid name state parent group session tty front rest </proc/$$/stat; echo $((group == front))"
CASES = (
    one("output and errors are the terminal", "[ -t 1 ] && [ -t 2 ] && [ -t 2 ] </dev/null", strict=True),
    one("the size of the terminal", "stty size </dev/tty", b"24 80\n"),
    one("the size follows a change", "stty rows 10 cols 33 </dev/tty; stty size </dev/tty", b"10 33\n"),
    one("a program in front owns the terminal", f"sh -c '{_IN_FRONT}'", b"1\n"),
    _stty("no echo", "-echo", core=True),
    _stty("no line discipline", "-icanon"),
    _stty("raw with newlines mapped", "raw opost onlcr", core=True),
    _stty("no signals from keys", "-isig -ixon"),
    _stty("other special characters", "intr ^X erase ^H kill ^K eof ^Y"),
    _stty("sane again", "raw </dev/tty; stty sane"),
    _stty("narrow", "cols 5"),
    _stty("one row, one column", "rows 1 cols 1"),
    _stty("no size", "rows 0 cols 0"),
    _stty("carriage returns are dropped", "igncr"),
    _stty("newlines arrive as carriage returns", "inlcr"),
    _stty("only seven bits", "istrip"),
    Case(
        "newlines are not mapped",
        (
            Step("stty -onlcr </dev/tty"),
            Step(r"printf 'one\r\ntwo\n'", output=b"one\r\ntwo\n"),
            Step("stty onlcr </dev/tty"),
            _EIGHT,
        ),
    ),
    Case(
        "output is not processed",
        (
            Step("stty -opost </dev/tty"),
            Step(r"printf 'a\n\tb\r\n'", output=b"a\n\tb\r\n"),
            Step("stty opost </dev/tty"),
            _EIGHT,
        ),
    ),
    Case(
        "tabs are turned into blanks",
        (
            Step("stty tab3 </dev/tty"),
            Step(r"printf 'a\tb'", output=b"a       b"),
            Step(r"printf 'abcd\tb\n'", output=b"abcd    b\n", cwd="/usr"),
            Step("stty tab0 </dev/tty"),
            _EIGHT,
        ),
    ),
    Case(
        "small letters are turned into capitals",
        (
            Step("stty olcuc </dev/tty; echo abc", output=b"ABC\n"),
            Step("echo abc; sh -c 'exit 8'", 8, b"ABC\n"),
            Step("cat; sh -c 'exit 8'", 8, b"ABC", stdin=b"abc", cwd="/usr"),
            Step("stty -olcuc </dev/tty; echo abc", output=b"abc\n"),
        ),
    ),
    one(
        "the setting is put back by the text",
        "s=$(stty -g </dev/tty); stty raw </dev/tty; stty $s </dev/tty; echo hi",
        b"hi\n",
    ),
    one("a screen program", r"tput smcup; tput cup 5 5; printf x; tput rmcup", match=rb"\x1b[^x]*x\x1b[^x]*"),
)

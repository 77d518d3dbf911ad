"""What a text finds in its shell, and what it leaves for the next, is the user's alone: no trace of what runs it."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one, saying

_HI = Step("echo hi", output=b"hi\n")
_OURS = rb"(?s)(?!.*(__oc|x6973|shell/))"

CASES = (
    # the statuses of a pipe
    Case(
        "the statuses of a pipe are there for the next text",
        (Step("false | true | (exit 3)", 3), Step("echo $? ${PIPESTATUS[@]}", output=b"3 1 0 3\n")),
    ),
    Case(
        "the statuses of a pipe that succeeds",
        (Step("(exit 4) | true"), Step('printf "<%s>" "${PIPESTATUS[@]}" $?', output=b"<4><0><0>")),
    ),
    Case(
        "the statuses of a negated pipe",
        (Step("! false | true", 1), Step("echo $? ${PIPESTATUS[@]}", output=b"1 1 0\n")),
    ),
    Case("a negation", (Step("! true", 1), Step("echo $? ${PIPESTATUS[@]}", output=b"1 0\n"))),
    Case(
        "the statuses of a pipe under pipefail",
        (
            Step("set -o pipefail; (exit 5) | true", 5),
            Step("echo $? ${PIPESTATUS[@]}", output=b"5 5 0\n"),
            Step("! (exit 5) | true"),
            Step("echo $? ${PIPESTATUS[@]}", output=b"0 5 0\n"),
        ),
    ),
    Case(
        "the statuses of a pipe and an ERR trap",
        (Step("trap 'echo E' ERR"), Step("true | false", 1, b"E\n"), Step("echo ${PIPESTATUS[@]}", output=b"0 1\n")),
    ),
    Case(
        "one status",
        (Step("(exit 8)", 8), Step("echo ${#PIPESTATUS[@]} $PIPESTATUS", output=b"1 8\n"), _HI),
    ),
    # functions, variables, options
    one("no function is there", "declare -F; compgen -A function", b"", 1),
    one("no variable is there", "set | grep -a -c ^__oc; compgen -v | grep -c __oc", b"0\n0\n", 1),
    Case(
        "no variable is exported under allexport",
        (Step("set -a"), Step("(exit 3)", 3), Step("env | grep -c __oc; declare -xp | grep -c __oc", 1, b"0\n0\n")),
    ),
    Case(
        "nothing stays after a variable, a directory and an input",
        (
            Step("cat; (exit 4)", 4, b"in", stdin=b"in", env=(("ZQ", "1"),), cwd="/usr"),
            Step(
                "echo $? ${ZQ-unset}; set | grep -a -c -e ^__oc -e ^ZQ; declare -F; [ $PWD = $HOME ]",
                0,
                b"4 unset\n0\n",
            ),
        ),
    ),
    Case(
        "a variable for one text in posix mode",
        (
            Step("set -o posix"),
            Step("echo $ZQ", output=b"one\n", env=(("ZQ", "one"),)),
            Step("echo ${ZQ-unset}", 0, b"unset\n"),
        ),
    ),
    Case(
        "a variable for one failing text in posix mode",
        (Step("set -o posix"), Step("false", 1, env=(("ZQ", "one"),)), Step("echo $? ${ZQ-unset}", 0, b"1 unset\n")),
    ),
    # traps
    Case(
        "an ERR trap and a here-document",
        (Step("trap 'echo failed' ERR"), Step("cat <<x; false\nin it\nx", 1, b"in it\nfailed\n"), _HI),
    ),
    Case(
        "a RETURN trap and a here-document",
        (Step("trap 'echo ret' RETURN"), Step("cat <<x\nin it\nx", 0, b"in it\n"), _HI),
    ),
    Case(
        "an ERR trap counts once",
        (Step("n=0; trap 'n=$((n + 1))' ERR"), Step("false", 1), Step("(exit 3)", 3), Step("echo $n", output=b"2\n")),
    ),
    Case(
        "a DEBUG trap that prints is set by a text with a pipe",
        (Step("trap 'echo step' DEBUG; true | true", match=rb"(step\n)+"), Step("trap - DEBUG", output=None), _HI),
    ),
    Case(
        "a CHLD trap does not run for a text without children",
        (Step("n=0; trap 'n=$((n + 1))' CHLD"), Step(":"), Step("test a = b", 1), Step("echo $n", output=b"0\n")),
    ),
    # the depth of a text
    Case(
        "xtrace shows one sourced file",
        (Step("set -x"), Step("echo hi", output=b"++ echo hi\nhi\n"), Step("set +x", output=b"++ set +x\n")),
    ),
    Case("xtrace in the text shows one sourced file", (Step("set -x; : a; set +x", output=b"++ : a\n++ set +x\n"),)),
    one("one file is sourced", 'echo "${FUNCNAME[*]}" ${#BASH_SOURCE[@]}', b" 1\n"),
    one("a function is called by one file", 'f() { echo "${FUNCNAME[*]}"; }; f', b"f source\n"),
    Case("verbose shows no line of ours", (Step("set -v"), Step("echo a\necho b", match=_OURS + rb"a\necho b\nb\n"))),
    Case(
        "verbose in the text shows no line of ours",
        (Step("set -v\necho a\nset +v", output=b"echo a\na\nset +v\n"), _HI),
    ),
    one("the line of an open quote", "echo a\necho 'b", match=saying(b"line 2", before=b"a\n"), exit=2),
    one(
        "the line of an open group", "echo a\n{ echo b", match=saying(b"line 3: syntax error: ", before=b"a\n"), exit=2
    ),
    # the history
    Case(
        "no line of ours is in the history",
        (Step("HISTIGNORE= HISTCONTROL="), _HI, Step("history | grep -c x6973", 1, b"0\n")),
    ),
    Case(
        "no line of ours is in the history once the choice of lines is gone",
        (Step("unset HISTIGNORE HISTCONTROL"), Step("true | false", 1), Step("history | grep -c x6973", 1, b"0\n")),
    ),
)

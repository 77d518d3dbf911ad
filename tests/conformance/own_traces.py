"""No trace of what runs a text, in the words of each shell that is no bash: its own names, and its own statuses."""

from __future__ import annotations

from tests.conformance.case import Case, Step

_NONE_EXPORTED = Step("env | grep -c ^__oc", 1, b"0\n")

# the last word of the text before: others give it back to nobody
BASH = (
    Case(
        "the last word is there for the next text",
        (Step("echo one two", output=None), Step("echo $_", output=b"two\n")),
    ),
    Case("the last word of a failure", (Step("test a = b", 1), Step('echo "$_" $?', output=b"b 1\n"))),
)
# the statuses of a pipe, in zsh
ZSH = (
    Case(
        "the statuses of a pipe are there for the next text",
        (Step("false | true | (exit 3)", 3), Step("echo $? $pipestatus", output=b"3 1 0 3\n")),
    ),
    Case(
        "the statuses of a negated pipe and of one that succeeds",
        (
            Step("! false | true", 1),
            Step("echo $? $pipestatus", output=b"1 1 0\n"),
            Step("(exit 4) | true"),
            Step("echo $? $pipestatus", output=b"0 4 0\n"),
        ),
    ),
    Case(
        "the statuses of a pipe under pipefail",
        (
            Step("setopt pipefail; (exit 5) | true", 5),
            Step("echo $? $pipestatus", output=b"5 5 0\n"),
            Step("! (exit 5) | true"),
            Step("echo $? $pipestatus", output=b"0 5 0\n"),
        ),
    ),
    Case(
        "what stops a text is a failure like any other",
        (
            Step("echo /nonexist*", 1, match=rb"[^\n]*no matches found: /nonexist\*\n"),
            Step(": ${nope?gone}", 1, match=rb"[^\n]*nope: gone\n"),
            Step("echo $((1/0))", 1, match=rb"[^\n]*division by zero\n"),
            Step("echo $?", output=b"1\n"),
        ),
    ),
    Case(
        "what does not parse is a failure like any other",
        (Step("echo a; )", 1, match=rb"[^\n]*parse error[^\n]*\n"), Step("echo $?", output=b"1\n")),
    ),
    Case(
        "a file that is no program keeps its status",
        (Step(":>f; ./f", 126, match=rb"[^\n]*permission denied[^\n]*\n"),),
    ),
    Case("a return keeps its status", (Step("return 126", 126), Step("echo $?", output=b"126\n"))),
)
FISH = (
    Case(
        "the statuses of a pipe are there for the next text",
        (Step("false | true | sh -c 'exit 3'", 3), Step("echo $status $pipestatus", output=b"3 1 0 3\n")),
    ),
    Case(
        "the statuses of a negated pipe and of one that succeeds",
        (
            Step("not false | true", 1),
            Step("echo $status $pipestatus", output=b"1 1 0\n"),
            Step("sh -c 'exit 4' | true"),
            Step("echo $status $pipestatus", output=b"0 4 0\n"),
        ),
    ),
    Case(
        "one status",
        (Step("sh -c 'exit 8'", 8), Step("echo $status (count $pipestatus)", output=b"8 1\n")),
    ),
)
# wherever variables are exported all alike
ALLEXPORT = (
    Case(
        "no variable is exported under allexport",
        (Step("set -a"), _NONE_EXPORTED, Step("(exit 3)", 3), Step("echo $?", output=b"3\n"), _NONE_EXPORTED),
    ),
    Case(
        "no variable is exported under allexport to a text with a directory and a variable",
        (
            Step("set -a; Z=1"),
            Step("env | grep -c -e ^__oc -e ^Z= -e ^K=", 0, b"2\n", env=(("K", "v"),), cwd="/usr"),
            Step("env | grep -c -e ^__oc -e ^K=", 1, b"0\n"),
        ),
    ),
)

"""No trace of what runs a text, in the words of each shell that is no bash: its own names, and its own statuses."""

from __future__ import annotations

from tests.conformance.case import Case, Step

_NONE_EXPORTED = Step("env | grep -c __oc", 1, b"0\n")

# the last word of the text before
LAST_WORD = (
    Case(
        "the last word is there for the next text",
        (Step("echo one two", output=None), Step("echo $_", output=b"two\n")),
    ),
    Case("the last word of a failure", (Step("test a = b", 1), Step('echo "$_" $?', output=b"b 1\n"))),
    Case(
        "the last word given to a function, in a directory of its own",
        (Step("f() { : inner; return 5; }; f last", 5, cwd="/usr"), Step("echo $? $_", output=b"5 last\n")),
    ),
)
# where it may have blanks in it
LAST_WORDS = (
    Case("a last word of two", (Step(': "a  b"'), Step('echo "$_" $?', output=b"a  b 0\n"))),
    Case(
        "the last word under allexport",
        (Step("set -a; Z=1; : last"), Step("echo $_; env | grep -c -e __oc -e x6973", 1, b"last\n0\n")),
    ),
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
_NO_JOB = rb"orchctl: %\d+ is no job of this shell: see jobs; nothing was run\n"
# zsh numbers the sourcing of a text as a job, and to end that job would end the shell
ZSH_JOBS = (
    Case(
        "a number that is no job does not end the shell",
        (
            Step("sleep 60 &", match=rb"\[\d+\] \d+\n"),
            Step("kill -9 %1", 125, match=_NO_JOB),
            Step("echo $? $#jobstates; kill -9 $!", output=b"125 1\n"),
        ),
    ),
    Case(
        "a number alone and a number in a list are no jobs",
        (
            Step("%1", 125, match=_NO_JOB),
            Step("touch made; wait '%2' || fg %3", 125, match=_NO_JOB),
            Step("printf 'a|%3d\\n;kill %%1\\n' 7", output=b"a|  7\n;kill %1\n"),
            Step("x=a%1; echo ${x%%1} $((7 %2)) 'kill %1'; ls", output=b"a% 1 kill %1\n"),
        ),
    ),
    Case(
        "a job is ended by the number that it was told with",
        (
            Step("sleep 60 &", output=None),
            Step("kill %4; wait %4", 143, None),
        ),
    ),
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
            Step("env | grep -c -e __oc -e ^Z= -e ^K=", 0, b"2\n", env=(("K", "v"),), cwd="/usr"),
            Step("env | grep -c -e __oc -e ^K=", 1, b"0\n"),
        ),
    ),
)
_REFUSED = rb"orchctl: a function named (command|builtin) hides the builtin; nothing was run\n"
# where a function takes the place of the only builtin that could do it
SHADOWED = (
    Case(
        "a text that cannot be given a variable or a directory is not run",
        (
            Step("command() { :; }; builtin() { :; }"),
            Step("touch made", 125, match=_REFUSED, env=(("K", "v"),)),
            Step("echo $?", output=b"125\n"),
            Step("touch made", 125, match=_REFUSED, cwd="/tmp"),
            Step("cd /; touch made", 125, match=_REFUSED, env=(("K", "v"),), cwd="~"),
            Step("ls; echo ${K-unset}; [ $PWD = $HOME ]", output=b"unset\n"),
        ),
    ),
    Case(
        "a text with functions over command and builtin",
        (
            Step("command() { echo FAKE; }; builtin() { echo FAKE; }"),
            Step("echo a; (exit 7)", 7, b"a\n"),
            Step("echo $?", output=b"7\n"),
            Step("unset -f command builtin; (exit 3)", 3),
            Step("echo $? $K $PWD", output=b"3 v /usr\n", env=(("K", "v"),), cwd="/usr"),
        ),
    ),
    Case(
        "a function that passes everything on",
        (
            Step('command() { "$@"; }; builtin() { command "$@"; }'),
            Step("(exit 7)", 7),
            Step("unset -f command builtin; set -- a b"),
            Step("echo $# $K", output=b"2 v\n", env=(("K", "v"),)),
        ),
    ),
)

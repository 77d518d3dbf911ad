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
# the numbers of jobs are those that a person's line would get
ZSH_JOBS = (
    Case(
        "the first job of a text is number 1",
        (
            Step("sleep 60 &", match=rb"\[1\] \d+\n"),
            Step("jobs %1 >/dev/null && echo 1; kill -9 %1; wait %1", (127, 137), match=rb"(?s)1\n.*"),
            Step("sleep 60 & sleep 60 &", match=rb"\[1\] \d+\n\[2\] \d+\n"),
            Step("kill -9 %2 %1; wait", output=None),
        ),
    ),
    Case(
        "the jobs of a text of several lines",
        (
            Step("sleep 60 &\nsleep 60 &\nkill -9 %1\nwait %1", (127, 137), match=rb"(?s)\[1\] \d+\n\[2\] \d+\n.*"),
            Step("kill -9 %2", output=None),
        ),
    ),
    Case(
        "a number that is no job does not end the shell",
        (
            Step("kill -9 %1", 1, b"kill: %1: no such job\n"),
            Step("%1", 127, b"fg: %1: no such job\n"),
            Step("echo $? $#jobstates; printf 'a|%3d\\n;kill %%1\\n' 7", output=b"127 0\na|  7\n;kill %1\n"),
        ),
    ),
    # there it is sourced, which has a number too, and to end that job would end the shell
    Case(
        "a number that is no job in a directory of its own",
        (
            Step("kill -9 %1", 125, match=_NO_JOB, cwd="/usr"),
            Step("touch made; wait '%2' || fg %3", 125, match=_NO_JOB, env=(("K", "v"),)),
            Step("x=a%1; echo ${x%%1} $((7 %2)) 'kill %1'; ls", output=b"a% 1 kill %1\n", env=(("K", "v"),)),
        ),
    ),
)
# messages, traces and names as if the text had been typed
ZSH_TYPED = (
    Case(
        "the statuses of a pipe are there for a text of several lines, and after it",
        (
            Step("false | true | (exit 3)", 3),
            Step("echo $? $pipestatus\nfalse | (exit 4)", 4, b"3 1 0 3\n"),
            Step("echo $? $pipestatus", output=b"4 1 4\n"),
        ),
    ),
    Case(
        "what stops a text of several lines is a failure like any other",
        (
            Step("true\necho /nonexist*", 1, match=rb"[^\n]*:2: no matches found: /nonexist\*\n"),
            Step("true\necho $((1/0))", 1, match=rb"[^\n]*:2: division by zero\n"),
            Step("echo $?", output=b"1\n"),
        ),
    ),
    Case(
        "a message names the shell and no file",
        (
            Step("nosuch", 127, b"zsh: command not found: nosuch\n"),
            Step("true"),
            Step(": ${nope?gone}", 1, b"zsh: nope: gone\n"),
            Step("cd /nonexist; echo $?", 0, b"cd: no such file or directory: /nonexist\n1\n"),
        ),
    ),
    Case(
        "a message of what does not parse names the shell and no file",
        (
            Step("echo a; )", 1, b"zsh: parse error near `)'\n"),
            Step("echo 'a", 1, b"zsh: unmatched '\n"),
            Step("echo $?", output=b"1\n"),
        ),
    ),
    Case(
        "the line of what does not end",
        (
            Step("echo a\necho 'b", 1, match=rb"a\n[^\n]*:2: unmatched '\n"),
            Step("echo a\n\necho $((1 + ", 1, match=rb"a\n[^\n]*:3: [^\n]*\n"),
            Step("echo a\nnosuch\n", 127, match=rb"a\n[^\n]*:2: command not found: nosuch\n"),
        ),
    ),
    Case(
        "no text is in the history",
        (
            Step("HISTSIZE=50; : secret"),
            Step("set -e; : secret\n: more"),
            Step(": secret"),
            Step("fc -l 1 | grep -c -e 'secre[t]' -e 'x697[3]' || :", 0, b"0\n"),
        ),
    ),
    Case(
        "nothing is there but the hook",
        (
            Step("typeset + | grep -c __oc; functions + | grep -c __oc", 0, b"0\n4\n"),
            Step("print $#preexec_functions $#zshaddhistory_functions $#precmd_functions", 0, b"0 1 1\n"),
        ),
    ),
    Case(
        "nothing stays but the hook after a directory, a variable and several lines",
        (
            Step("true", cwd="/usr", env=(("K", "v"),)),
            Step("true\n(exit 3)", 3),
            Step("echo $?; typeset + | grep -c __oc; functions + | grep -c __oc", 0, b"3\n0\n4\n"),
        ),
    ),
    Case(
        "what lines have and files have not is off, and on again",
        (
            Step("setopt correct correct_all bang_hist; ehco '!!' 2>/dev/null", 127),
            Step("ehco a!b 2>/dev/null; echo a!b !! # no comment", 0, b"a!b !!\n"),
            Step("print $options[correct] $options[correct_all] $options[bang_hist] $histchars", 0, b"on on on !^#\n"),
            Step("print $options[interactive_comments]", 0, b"off\n"),
        ),
    ),
    Case(
        "a trace of one line is that of a typed one",
        (
            Step("set -x"),
            Step("echo hi", 0, match=rb"\+zsh:\d+> echo hi\nhi\n"),
            Step("set +x", 0, match=rb"\+zsh:\d+> set \+x\n"),
        ),
    ),
    Case(
        "a DEBUG trap runs for the commands of a text alone",
        (
            Step("trap 'echo step' DEBUG"),
            Step("echo hi", 0, b"step\nhi\n"),
            Step("test a = b", 1, b"step\n"),
            Step("trap - DEBUG", 0, b"step\n"),
        ),
    ),
    Case(
        "a shell with few open files goes on",
        (
            Step("ulimit -S -n 6; echo ok; sh -c 'exit 3'", 3, b"ok\n"),
            Step("echo more; sh -c 'exit 4'", 4, b"more\n"),
        ),
        after=(),
    ),
    Case(
        "a hook of the user's that prints, and no mark for lines without an end",
        (
            Step("unsetopt prompt_sp; precmd() { echo PRE; }", output=None),
            Step("printf x; (exit 3)", 3, b"x"),
            Step("unset -f precmd; precmd_functions+=(mine); mine() { echo MINE; }", output=b""),
            Step("printf x; (exit 4)", 4, b"x"),
        ),
    ),
    Case(
        "an alias that opens a quote",
        (Step("alias oq='echo \"'"), Step("oq a", 1, match=rb"[^\n]*\n"), Step("echo $?", output=b"1\n")),
    ),
    Case(
        "no line editor",
        (
            Step("unsetopt zle"),
            Step("echo a!b; (exit 3)", 3, b"a!b\n"),
            Step("echo $? $pipestatus; setopt zle", 0, b"3 3\n"),
            Step("sleep 60 &", 0, match=rb"\[1\] \d+\n"),
            Step("kill -9 %1", output=None),
        ),
    ),
    Case(
        "a text that takes the hook away",
        (
            Step("precmd_functions=(); (exit 3)", 3),
            Step("echo $?; unset 'functions[__oc_p]' 'functions[__oc_f]'", 0, b"3\n"),
            Step("sh -c 'exit 4'", 4),
            Step("sleep 60 & kill -9 %1", 0, match=rb"\[1\] \d+\n"),
        ),
    ),
    Case(
        "a widget of the user's at the end of a line",
        (
            Step("mine() { typeset -g ran=$(( ${ran-0} + 1 )); }\nzle -N zle-line-finish mine"),
            Step("sleep 60 &", 0, match=rb"\[1\] \d+\n"),
            Step("echo $ran; kill -9 %1", 0, b"2\n"),
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

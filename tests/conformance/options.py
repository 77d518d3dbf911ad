"""Options, traps and prompt settings of the shell, set by one text and in force for the next."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one, saying

_EIGHT = Step("(exit 8)", 8)
_STATUS = Step("echo $?", output=b"8\n")
_HI = Step("echo hi", output=b"hi\n")


def _set(
    name: str, text: str, *then: Step, core: bool = False, after: tuple[Step, ...] = (_EIGHT, _STATUS, _HI)
) -> Case:
    """A setting that succeeds and prints nothing, what it does, and that all else is as before."""
    return Case(f"set: {name}", (Step(text), *then), after=after, core=core)


_TRACED = rb"(?!.*__oc)(\++ echo hi\n)hi\n"

CASES = (
    # set
    _set(
        "errexit, and nothing fails",
        "set -e",
        _HI,
        Step("false || echo or", output=b"or\n"),
        Step("! true", 1),
        after=(_HI,),
    ),
    Case("errexit after a failure", (_EIGHT, Step("set -e"), _HI)),
    Case(
        "errexit and a list that fails in its middle",
        (Step("set -e; false && echo no", 1), _HI),
        note="no reason to end",
    ),
    one("errexit in a subshell", "(set -e; echo in; false; echo no)", b"in\n", 1),
    _set("errexit switched off again", "set -e; set +e"),
    _set(
        "nounset",
        "set -u",
        _HI,
        Step("echo a; echo $nope; echo b", 1, match=saying(b"nope: unbound variable\n", before=b"a\n")),
        core=True,
    ),
    Case(
        "nounset stops a text within loops and functions",
        (
            Step(
                "set -u; f() { for i in 1 2; do echo $i; echo $nope; done; }; f; echo b",
                1,
                match=saying(b"nope", before=b"1\n"),
            ),
            Step("echo $?", output=b"1\n"),
        ),
    ),
    _set("pipefail", "set -o pipefail", Step("false | true", 1), Step("(exit 3) | (exit 4) | true", 4)),
    Case(
        "xtrace in the same text",
        (Step("set -o xtrace; echo hi", match=_TRACED), Step("echo hi", match=_TRACED)),
        after=(),
    ),
    Case(
        "xtrace from before shows the text alone",
        (
            Step("set -x"),
            Step("echo hi", match=_TRACED),
            Step("x=1\n(exit 3)", 3, match=rb"(?!.*__oc)\++ x=1\n\++ exit 3\n"),
            Step("echo $?", match=rb"(?!.*__oc)\++ echo 3\n3\n"),
            Step("set +x", match=rb"\++ set \+x\n"),
        ),
        core=True,
    ),
    Case(
        "xtrace with a prompt that runs commands",
        (
            Step("PS4='<$(echo p; exit 9)$?> '; set -x"),
            Step("(exit 4)", 4, match=rb"<+p9> exit 4\n"),
            Step("set +x", output=None),
        ),
        note="the status of the command is its own all the same",
    ),
    Case(
        "xtrace into a file",
        (Step("exec 7>t; BASH_XTRACEFD=7; set -x"), _HI, Step("set +x; grep -c 'echo hi' t", 0, b"1\n")),
        note="what runs the command leaves its own lines in such a file",
    ),
    Case(
        "verbose", (Step("set -v"), Step("echo hi", match=rb"(?!.*__oc)(echo hi\n)?hi\n"), Step("set +v", output=None))
    ),
    _set("noclobber", "set -C; :>f", Step(":>f", 1, match=saying(b"f: cannot overwrite")), Step(":>|f")),
    _set("noglob", "set -f", Step("echo /*", output=b"/*\n")),
    _set("allexport", "set -a; Z=1", Step("sh -c 'echo $Z'", output=b"1\n"), Step("env | grep -c __oc", 1, b"0\n")),
    _set("keyword", "set -k", Step("sh -c 'echo $Z' Z=3", output=b"3\n")),
    _set("physical", "set -P; ln -s /usr l; cd l", Step("pwd", output=b"/usr\n")),
    _set("no brace expansion", "set +B", Step("echo {a,b}", output=b"{a,b}\n")),
    _set("no job control", "set +m", Step("sleep 0 & wait $!"), Step("true | cat")),
    _set("no command hashing", "set +h", Step("true | cat")),
    _set("no history", "set +o history"),
    _set("posix", "set -h -o posix"),
    _set("no line editing", "set +o emacs"),
    _set("vi editing", "set -o vi", core=True),
    _set("functrace and errtrace", "set -TE"),
    _set("all kinds of options", "set -CfakuP; shopt -s extglob nullglob dotglob nocasematch; IFS=/", core=True),
    # shopt
    _set("nullglob", "shopt -s nullglob", Step("echo a /nonexistent/*", output=b"a\n")),
    _set("failglob", "shopt -s failglob", Step("echo a /nonexistent/*; echo b", 1, match=saying(b"no match"))),
    _set("extglob", "shopt -s extglob", Step("[[ aab == +(a)b ]] && echo yes", output=b"yes\n")),
    _set("nocasematch", "shopt -s nocasematch", Step("[[ A == a ]]")),
    _set("no aliases", "alias zz='echo AL'; shopt -u expand_aliases", Step("zz", 127, None)),
    _set("escapes in echo", "shopt -s xpg_echo", Step(r"echo 'a\nb'", output=b"a\nb\n")),
    _set(
        "a pipe's last part in this shell", "shopt -s lastpipe; set +m", Step("echo v | read x; echo $x", output=b"v\n")
    ),
    _set("extended debugging", "shopt -s extdebug"),
    _set(
        "a failed exec does not end the shell",
        "shopt -s execfail",
        Step("exec /nonexistent/x; echo on", match=saying(b"No such", after=b"on\n")),
    ),
    _set("no search for sourced files", "shopt -u sourcepath"),
    _set("older behaviour", "BASH_COMPAT=4.2"),
    # the prompt
    _set("the prompt command is replaced", "PROMPT_COMMAND=true", core=True),
    _set("the prompt command is removed", "unset PROMPT_COMMAND; PS1='$ '"),
    _set("the prompt command prints", "PROMPT_COMMAND='echo noise; false'"),
    _set(
        "the prompt command prints, then an abort",
        "PROMPT_COMMAND='echo noise'; set -u",
        Step("echo a; echo $nope", 1, match=saying(b"nope: unbound variable\n", before=b"a\n")),
    ),
    _set("the prompt command becomes an array", "PROMPT_COMMAND=('echo a' 'echo b')"),
    _set("the prompt command is constant", "readonly PROMPT_COMMAND"),
    _set("the prompt runs commands", "PS1='$(echo p; exit 5)\\n> '; PS0='$(echo zero)'; PS2="),
    _set("no prompt", "unset PS1 PS2 PS4"),
    _set(
        "the prompt command is removed, then a mistake",
        "PROMPT_COMMAND= PS1='here: '",
        Step("echo a; )", 2, match=saying(b"syntax")),
    ),
    Case(
        "a text that removes the prompt command and stops",
        (
            Step(
                "PROMPT_COMMAND= PS1='here: '; set -u; echo $nope; echo b", 1, match=saying(b"nope: unbound variable\n")
            ),
            Step("set +u"),
        ),
        after=(_EIGHT, _STATUS, _HI),
    ),
    _set("another kind of terminal", "TERM=dumb"),
    _set("other sizes", "LINES=3 COLUMNS=5"),
    _set("another locale", "LC_ALL=C"),
    _set("no home", "unset HOME"),
)

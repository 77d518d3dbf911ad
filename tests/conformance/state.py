"""What a text leaves behind for the next: directory, variables, functions, status, jobs; and no trace of the tool."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one


def _then(name: str, *pairs: tuple[str, bytes], core: bool = False, strict: bool = False) -> Case:
    """Texts that all succeed, each with its output."""
    return Case(name, tuple(Step(text, output=out) for text, out in pairs), core=core or strict, strict=strict)


CASES = (
    _then(
        "the directory", ("cd /usr", b""), ("pwd", b"/usr\n"), ("cd - >/dev/null; cd ~-; pwd", b"/usr\n"), strict=True
    ),
    _then("the directory before", ("cd /usr; cd /", b""), ("echo $OLDPWD; cd -", b"/usr\n/usr\n")),
    _then("the directory stack", ("pushd /usr >/dev/null", b""), ("dirs", b"/usr ~\n"), ("popd", b"~\n")),
    _then(
        "a directory that is gone",
        ("mkdir d; cd d; rmdir ../d", b""),
        ("echo hi", b"hi\n"),
        ("cd; pwd -P | wc -l", b"1\n"),
    ),
    _then("a variable", ("x='a  b'", b""), ('echo "$x"; x=2', b"a  b\n"), ("echo $x", b"2\n"), strict=True),
    _then(
        "an exported variable",
        ("export Y=6", b""),
        ("sh -c 'echo $Y'", b"6\n"),
        ("unset Y", b""),
        ("echo ${Y-no}", b"no\n"),
    ),
    _then(
        "a function",
        ('f() { echo "F$1"; x=in; }', b""),
        ("f 1; echo $x", b"F1\nin\n"),
        ("unset -f f", b""),
        strict=True,
    ),
    _then(
        "an array",
        ("a=(1 '2 3' 4); a[7]=z", b""),
        ('echo ${#a[@]} "${a[1]}" ${!a[@]}', b"4 2 3 0 1 2 7\n"),
        strict=True,
    ),
    _then("a map", ("declare -A m=([k]=v ['a b']=c)", b""), ('echo ${m[k]} "${m[a b]}"', b"v c\n"), strict=True),
    _then(
        "a declared variable is global",
        ("declare z=3; typeset y=4; declare -i n=2+3", b""),
        ("echo $z $y $n", b"3 4 5\n"),
    ),
    _then("a reference", ("declare -n r=target; r=5", b""), ("echo $target", b"5\n")),
    _then(
        "positional parameters",
        ("set -- a 'b c' d", b""),
        ('echo $# "$2"; shift', b"3 b c\n"),
        ('echo "$*"', b"b c d\n"),
        core=True,
    ),
    _then("no positional parameters", ("echo $#", b"0\n")),
    _then(
        "an alias",
        ("alias zz='echo AL'", b""),
        ("zz x", b"AL x\n"),
        ("unalias zz\nzz() { echo FN; }", b""),
        ("zz", b"FN\n"),
        core=True,
    ),
    _then("an alias used on the line after its own", ("alias zz='echo AL'\nzz x", b"AL x\n")),
    _then(
        "a mask for new files",
        ("umask 077", b""),
        (":>f; stat -c %a f; umask", b"600\n0077\n"),
        ("umask 777", b""),
        ("echo hi", b"hi\n"),
    ),
    _then("a limit", ("ulimit -S -c 0; ulimit -S -n 64", b""), ("ulimit -S -n", b"64\n")),
    _then("a pattern's groups", ("[[ ab12 =~ ([a-z]+)([0-9]+) ]]", b""), ("echo ${BASH_REMATCH[2]}", b"12\n")),
    _then("a position in getopts", ("set -- -a -b; getopts ab o", b""), ("getopts ab o; echo $o", b"b\n")),
    # the status
    Case(
        "the last status",
        (Step("(exit 7)", 7), Step("echo $?", output=b"7\n"), Step("echo $?", output=b"0\n")),
        core=True,
    ),
    Case("the status of a shell function", (Step("f() { return 200; }; f", 200), Step("echo $?", output=b"200\n"))),
    Case("every status up to 255", (Step("(exit 255)", 255), Step("exit_with() { return $1; }; exit_with 128", 128))),
    one("the statuses of a pipe", "(exit 3) | (exit 4) | true; echo ${PIPESTATUS[@]} $?", b"3 4 0 0\n"),
    one("a child killed by a signal", "sh -c 'kill -KILL $$'", b"Killed\n", 137, core=True),
    one("a child killed by TERM, and then more", "bash -c 'kill -TERM $$'; echo $?", b"Terminated\n143\n"),
    # jobs
    Case(
        "a job can be waited for later",
        (Step("(exit 9) & p=$!"), Step("wait $p", 9, match=rb"(\[1\]\+  Exit 9 +\( exit 9 \)\n)?"), Step("wait")),
        note="bash tells of the job's end in wait, unless it did so at the prompt before",
    ),
    Case(
        "jobs can be listed and ended by number",
        (
            Step("sleep 60 &"),
            Step("jobs", output=b"[1]+  Running                 sleep 60 &\n"),
            Step("kill %1; wait %1", 143, None),
            Step("jobs", output=None),
            Step("jobs", output=b""),
        ),
    ),
    Case(
        "a job can be taken to the front",
        (Step("(exit 5) &"), Step("fg %1 >/dev/null", (5, 1), None)),
        note="1: it was over",
    ),
    Case("a job can be forgotten", (Step("sleep 60 & p=$!; disown"), Step("jobs"), Step("kill $p"))),
    # names that are the shell's or were taken over
    Case(
        "aliases over builtins",
        (
            Step("for a in printf echo . source return command builtin eval exec cd test [ :; do alias $a=false; done"),
            Step("(exit 8)", 8),
            Step(r"\echo hi", output=b"hi\n"),
        ),
        after=(),
        core=True,
    ),
    Case(
        "functions over builtins",
        (
            Step(
                'for f in printf echo source return eval cd trap test; do eval "$f() { command echo FAKE; }"; done',
                0,
                None,
            ),
            Step("(exit 8)", 8),
            Step("command echo hi", output=b"hi\n"),
        ),
        after=(),
    ),
    Case(
        "functions over command and builtin",
        (Step("command() { :; }; builtin() { :; }"), Step("(exit 8)", 8), Step("echo hi", output=b"hi\n")),
        refusable=True,
    ),
    Case(
        "functions over command and builtin, and a variable and a directory of its own",
        (
            Step("command() { :; }; builtin() { :; }"),
            Step("mkdir made", env=(("ZQ", "1"),), cwd="~"),
            Step("cd /; ls ~", output=b"made\n"),
        ),
        refusable=True,
    ),
    Case(
        "a function over command, and a variable of its own",
        (
            Step("command() { echo FAKE; }", output=b""),
            Step("touch made; (exit 7)", 7, env=(("ZQ", "1"),)),
            Step("ls; unset -f command", output=b"made\n"),
        ),
    ),
    Case(
        "a function over command, and a directory of its own",
        (
            Step("mkdir other; command() { :; }"),
            Step("pwd; touch made; (exit 3)", 3, match=rb"/[^\n]*/other\n", cwd="~/other"),
            Step("ls -d made other/made 2>/dev/null; pwd; unset -f command", match=rb"other/made\n/.*(?<!other)\n"),
        ),
    ),
    Case(
        "a text that makes a function of command goes back to where it was",
        (Step("command() { :; }", cwd="/usr"), Step("[ $PWD = $HOME ]; unset -f command")),
    ),
    Case("an alias over a reserved word", (Step("alias case='echo CASE' if='echo IF'"), Step("(exit 8)", 8))),
    Case(
        "builtins that are switched off",
        (Step("enable -n printf echo"), Step("(exit 8)", 8), Step("enable printf echo")),
        refusable=True,
    ),
    Case(
        "no search path", (Step("PATH="), Step("ls", 127, None), Step("unset PATH"), Step("echo $((1))", output=b"1\n"))
    ),
    Case(
        "a word separator of digits",
        (Step("IFS=0123456789"), Step("(exit 126)", 126), Step('echo "$?"', output=b"126\n")),
    ),
    Case("an empty word separator", (Step("IFS="), Step("(exit 6)", 6), Step("IFS=/; (exit 7)", 7))),
    Case("constant names", (Step("readonly IFS PS1 PS4 HOME PATH"), Step("(exit 6)", 6))),
    # no trace
    _then("the history stays empty", ("echo one", b"one\n"), ("history", b""), ("history | wc -l", b"0\n"), core=True),
    _then("the functions are the user's", ("f() { :; }", b""), ("declare -F | grep -v __oc", b"declare -f f\n")),
    _then("the traps are the user's", ("trap 'echo u' USR1", b""), ("trap", b"trap -- 'echo u' SIGUSR1\n")),
    _then("the options of an interactive shell", ("echo $-; shopt -q login_shell || echo no", b"himBHs\nno\n")),
    _then("the name of the shell", ("echo $0 ${BASH##*/} $BASH_SUBSHELL", b"bash bash 0\n")),
    one(
        "no open files but the shell's own",
        "ls /proc/$$/fd | tr '\\n' ' '",
        match=rb"0 1 (1\d )*2 255 ",
        note="10 and on: what it put aside",
    ),
    Case(
        "what a constant prints",
        (Step("readonly zz=1; readonly -p | grep -v BASH", 0, match=rb"(?s)(?!.*__oc).*declare -r zz=\"1\"\n"),),
    ),
    Case(
        "the variables are the user's",
        (Step("compgen -v | grep -v ^__oc | grep -i -e orchctl_ -e '^_.'", (0, 1), match=rb"(ORCHCTL_\w+\n)*"),),
    ),
    Case(
        "a message names the shell alone",
        (Step("cd /nonexistent", 1, b"bash: cd: /nonexistent: No such file or directory\n"),),
    ),
)

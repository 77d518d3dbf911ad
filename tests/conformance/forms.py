"""Environment, directory and input for one text alone: there while it runs, gone without a trace after it."""

from __future__ import annotations

from tests.conformance.case import Case, Step, saying
from tests.conformance.limits import LIMIT_S

_READY = Step(":")
_SEEN = Step("echo ${K-unset}; sh -c 'echo ${K-unset}'", output=b"unset\nunset\n")
_HOME = Step('[ "$PWD" = "$HOME" ] && [ "$(pwd -P)" = "$(cd ~ && pwd -P)" ]')

CASES = (
    # environment
    Case(
        "a variable for one text",
        (Step("echo $K; sh -c 'echo $K'", env=(("K", "v"),), output=b"v\nv\n"), _SEEN),
        core=True,
        strict=True,
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
        "an empty value",
        (Step("echo ${K-unset}.; sh -c 'echo ${K-unset}.'", env=(("K", ""),), output=b".\n.\n"), _SEEN),
    ),
    Case(
        "several variables",
        (
            Step("echo $A$B$C", env=(("A", "1"), ("B", "2"), ("C", "3")), output=b"123\n"),
            Step("echo $A$B$C", output=b"\n"),
        ),
    ),
    Case(
        "an exported variable gets its value back",
        (
            Step("export K=old"),
            Step("sh -c 'echo $K; exit 4'", 4, b"new\n", env=(("K", "new"),)),
            Step("sh -c 'echo $K'", output=b"old\n"),
        ),
        core=True,
    ),
    Case(
        "a shell variable gets its value back and stays unexported",
        (
            Step("K=old"),
            Step("sh -c 'echo $K'", env=(("K", "new"),), output=b"new\n"),
            Step("echo $K; sh -c 'echo ${K-unset}'", output=b"old\nunset\n"),
        ),
    ),
    Case(
        "the rest of the state stays",
        (Step("keep=$K; cd /usr", env=(("K", "v"),)), Step("echo $keep $PWD", output=b"v /usr\n")),
    ),
    Case(
        "a search path for one text",
        (Step("type ls", 1, None, env=(("PATH", "/nonexistent"),)), Step("type -t ls", output=b"file\n")),
    ),
    Case(
        "a word separator for one text",
        (
            Step("x=a:b; set -- $x; echo $#", env=(("IFS", ":"),), output=b"2\n"),
            Step("set -- $x; echo $#", output=b"1\n"),
        ),
    ),
    Case(
        "a locale for one text",
        (Step("x=ż; echo ${#x}", env=(("LC_ALL", "C"),), output=b"2\n"), Step("echo ${#x}", output=b"1\n")),
    ),
    Case("a home for one text", (Step("echo ~ $HOME", env=(("HOME", "/usr"),), output=b"/usr /usr\n"), _HOME)),
    Case("a variable and a mistake", (Step("echo $K; )", 2, match=saying(b"syntax error"), env=(("K", "v"),)), _SEEN)),
    Case("a variable and a return", (Step("return 5", 5, env=(("K", "v"),)), _SEEN)),
    Case(
        "a variable and an abort",
        (Step("set -u; echo $nope", 1, match=saying(b"nope"), env=(("K", "v"),)), Step("set +u"), _SEEN),
    ),
    Case("a variable and an end", (Step('exit "$K"', 7, env=(("K", "7"),), ends=True),)),
    Case(
        "a variable and a time-out",
        (_READY, Step("echo $K; sleep 60", 124, b"v\n", env=(("K", "v"),), timeout_s=LIMIT_S), _SEEN),
    ),
    # directory
    Case(
        "a directory for one text", (Step("pwd; sh -c pwd; (exit 3)", 3, b"/usr\n/usr\n", cwd="/usr"), _HOME), core=True
    ),
    Case(
        "the directory before stays",
        (
            Step("cd /usr; cd /"),
            Step("pwd", cwd="/usr/bin", output=b"/usr/bin\n"),
            Step("echo $PWD $OLDPWD", output=b"/ /usr\n"),
        ),
    ),
    Case(
        "the directory stack stays",
        (Step("pushd /usr >/dev/null"), Step(":", cwd="/"), Step("dirs", output=b"/usr ~\n")),
    ),
    Case(
        "a directory with odd characters",
        (Step('mkdir "a \'b\\$c"'), Step('basename "$PWD"', cwd="~/a 'b$c", output=b"a 'b$c\n"), _HOME),
    ),
    Case(
        "a directory that starts with a dash",
        (Step("mkdir ./-P"), Step('basename "$PWD"', cwd="~/-P", output=b"-P\n"), _HOME),
    ),
    Case("a directory that is missing", (Step("echo not here", 125, None, cwd="/nonexistent/zz"), _HOME), core=True),
    Case("a file as a directory", (Step(":>f"), Step("echo not here", 125, None, cwd="~/f"), _HOME)),
    Case("a change within the directory", (Step("cd /; pwd", cwd="/usr", output=b"/\n"), _HOME)),
    Case("a directory and a mistake", (Step("echo a; )", 2, match=saying(b"syntax error"), cwd="/usr"), _HOME)),
    Case(
        "a directory and a return",
        (Step("pwd; return 6", 6, b"/usr\n", cwd="/usr"), Step("echo $?", output=b"6\n"), _HOME),
    ),
    Case(
        "a directory and an abort",
        (Step("set -u; echo $nope", 1, match=saying(b"nope"), cwd="/usr"), Step("set +u"), _HOME),
    ),
    Case("a directory and an end", (Step("pwd; exit 5", 5, b"/usr\n", cwd="/usr", ends=True),)),
    Case(
        "a directory and a time-out",
        (_READY, Step("pwd; sleep 60", 124, b"/usr\n", cwd="/usr", timeout_s=LIMIT_S), _HOME),
    ),
    Case(
        "a directory and a search path for directories",
        (Step("CDPATH=/usr:/"), Step("pwd", cwd="/usr/bin", output=b"/usr/bin\n"), _HOME),
    ),
    Case(
        "a directory when cd is a function",
        (
            Step('cd() { echo CD; builtin cd "$@"; }'),
            Step("pwd", cwd="/usr", output=b"/usr\n"),
            Step("unset -f cd"),
            _HOME,
        ),
    ),
    Case(
        "a directory when the shell's own is gone",
        (Step("mkdir d; cd d; rmdir ../d"), Step("pwd", cwd="/usr", output=b"/usr\n")),
    ),
    Case(
        "a missing directory under errexit",
        (Step("set -e"), Step("echo not here", 125, None, cwd="/nonexistent/zz"), _HOME),
    ),
    # all at once
    Case(
        "variable, directory and input",
        (
            Step("cat; pwd; echo $K; (exit 5)", 5, b"in/usr\nv\n", stdin=b"in", env=(("K", "v"),), cwd="/usr"),
            Step("echo $?; cat", output=b"5\n"),
            _SEEN,
            _HOME,
        ),
        core=True,
    ),
    Case(
        "variable, directory and input, and all succeeds",
        (Step("cat; pwd; echo $K", output=b"in/usr\nv\n", stdin=b"in", env=(("K", "v"),), cwd="/usr"), _SEEN, _HOME),
        core=True,
        strict=True,
    ),
    Case(
        "variable, directory and input, and the shell ends",
        (Step("cat; pwd; exit $K", 9, b"in/usr\n", stdin=b"in", env=(("K", "9"),), cwd="/usr", ends=True),),
    ),
)

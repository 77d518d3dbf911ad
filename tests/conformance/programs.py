"""What everyday scripts do together with other programs: pipes, jobs, temporary files, searching, time."""

from __future__ import annotations

from tests.conformance.case import one

CASES = (
    # pipes
    one("a pipe", "printf '3\\n1\\n2\\n' | sort -r | head -n 2", b"3\n2\n"),
    one("the status of a pipe is its last part's", "(exit 3) | true"),
    one("the status of a pipe that fails at its end", "true | (exit 3)", exit=3, core=True),
    one("a pipe with pipefail", "set -o pipefail; (exit 3) | cat; echo $?; set +o pipefail", b"3\n"),
    one(
        "a loop at the end of a pipe",
        "n=0; printf '1\\n2\\n' | while read x; do n=$x; done; echo $n",
        b"0\n",
    ),
    one("a loop at the start of a pipe", "for i in 2 1; do echo $i; done | sort", b"1\n2\n"),
    one("a substitution cuts final newlines", "x=$(printf 'a\\n\\n\\n'); printf '[%s]' \"$x\"", b"[a]"),
    one("a substitution from a file", "echo abc >f; x=$(<f); echo ${#x}", b"3\n"),
    one("a pipe that is closed early", "seq 1 100000 | head -n 1; echo ${PIPESTATUS[@]}", b"1\n141 0\n"),
    one("differences of two outputs", "diff <(printf '1\\n2\\n') <(printf '1\\n3\\n')", b"2c2\n< 2\n---\n> 3\n", 1),
    one(
        "counting words",
        "printf 'a b\\na\\n' | tr ' ' '\\n' | sort | uniq -c | awk '{ print $2 $1 }'",
        b"a2\nb1\n",
        strict=True,
    ),
    one("editing a stream", "printf 'k=1\\nj=2\\n' | sed -n 's/^j=\\(.*\\)/\\1/p'", b"2\n"),
    # files
    one("a temporary file", 't=$(mktemp); echo x >"$t"; cat "$t"; rm "$t"; [ ! -e "$t" ]', b"x\n", strict=True),
    one(
        "a temporary directory that is cleaned up",
        "d=$(mktemp -d); (trap 'rm -r \"$d\"' EXIT; :>$d/f; ls $d); ls -d $d 2>/dev/null",
        b"f\n",
        2,
    ),
    one(
        "finding files",
        "mkdir -p a/b; touch a/x.c 'a/b/y z.c' a/b/n.h; find . -name '*.c' -print0 | sort -z | xargs -0 -n 1 basename",
        b"y z.c\nx.c\n",
    ),
    one("a status from xargs", "printf '1\\n' | xargs -I{} sh -c 'exit 3'", exit=123),
    one(
        "tests on files",
        "mkdir d; :>e; echo x >f; [ -d d ] && [ ! -s e ] && [ -s f ] && [ f -nt /etc ]; echo $?",
        b"0\n",
    ),
    one("a lock", "exec 9>lock; flock -n 9 && ! flock -n lock true; echo $?; exec 9>&-", b"0\n"),
    one("a link and its target", "ln -s /usr l; readlink l; cd l; basename $PWD; pwd -P", b"/usr\nl\n/usr\n"),
    one("an archive", "mkdir d; echo x >d/f; tar cf - d | tar tf -", b"d/\nd/f\n"),
    one(
        "the arguments of a program",
        "printf '<%s>' \"a b\" 'c\"d' '' '*' $'e\\nf'",
        b'<a b><c"d><><*><e\nf>',
    ),
    # jobs
    one(
        "jobs side by side",
        "for i in 1 2 3; do (exit $i) & p[i]=$!; done; for i in 3 2 1; do wait ${p[i]}; echo $?; done",
        match=rb"(\[\d\].*\n)*3\n(\[\d\].*\n)*2\n(\[\d\].*\n)*1\n",
    ),
    one(
        "waiting for all",
        "(echo a) & (echo b) & wait; echo $?",
        match=rb"(?=[^b]*b\n)(?=[^a]*a\n)([ab]\n|\[\d\].*\n)*0\n",
    ),
    one("waiting for the next", "(exit 4) & wait -n; echo $?", match=rb"(\[\d\].*\n)*4\n"),
    one("a job that is ended", "sleep 60 & kill $!; wait $! 2>/dev/null; echo $?", match=rb"(\[\d\].*\n)*143\n"),
    one(
        "a job that stops and goes on",
        "sleep 60 & kill -STOP %1; kill -CONT %1; kill %1; wait %1 2>/dev/null; echo $?",
        match=rb"(\[\d\].*\n)*143\n",
    ),
    one(
        "a program that stops itself",
        "sh -c 'kill -STOP $$; exit 6'; echo $?; fg >/dev/null",
        match=rb"\n?(\[1\]\+  Stopped .*\n)?147\n",
        exit=6,
    ),
    one(
        "a co-process",
        "coproc C { read x; echo got $x; }; echo hi >&${C[1]}; read y <&${C[0]}; echo $y; wait",
        match=rb"(\[\d\].*\n)*got hi\n(\[\d\].*\n)*",
    ),
    one("a time limit of another program's", "timeout 0.1 sleep 60", exit=124),
    one("a job without a hang-up", "nohup sh -c 'echo n' 2>/dev/null | cat", b"n\n"),
    one("a session of its own", "setsid -w sh -c 'echo s; exit 3'", b"s\n", 3),
    one("a low priority", "nice -n 5 sh -c 'exit 2'", exit=2),
    # time
    one("measuring", "TIMEFORMAT=%0lR; time true", match=rb"0m0s\n", core=True),
    one("measuring a failure", "TIMEFORMAT=t; time (exit 5)", b"t\n", 5),
    one("measuring nothing", "TIMEFORMAT=t; time", b"t\n"),
    one("the clock", "SECONDS=0; printf '%(%Y)T\\n' 0; [ $SECONDS -lt 100 ]", b"1970\n"),
    one("a read that takes too long", "read -t 0.1 x <> <(:)", match=rb"", exit=142),
    # surroundings
    one("a clean environment", "env -i A=1 /usr/bin/env", b"A=1\n"),
    one(
        "the environment of the session",
        'echo $HOME | grep -c /; [ "$PWD" = "$HOME" ] && [ "$TMPDIR" = "$HOME" ]',
        b"1\n",
    ),
    one(
        "a program in another language",
        "python3 -c 'import sys; print(sys.argv[1:]); sys.exit(9)' a 'b c'",
        b"['a', 'b c']\n",
        9,
    ),
    one(
        "a script that does it all at once",
        """\
set -- one two three
total=0
log() { printf '%s: %s\\n' "$1" "${*:2}"; }
for word in "$@"; do
    case $word in
        t*) ((total += ${#word})) ;;
        *) log skip "$word" ;;
    esac
done
while IFS== read -r key value; do
    [[ $key ]] || continue
    log "$key" "$value"
done <<-'END'
	a=1

	b=x y
END
log total $total
(exit $total)""",
        b"skip: one\na: 1\nb: x y\ntotal: 8\n",
        8,
        core=True,
    ),
)

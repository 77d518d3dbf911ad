"""What everyday scripts do, by means of the shell alone: loops, functions, strings, arrays, arithmetic, subshells."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one

CASES = (
    # control
    one("a loop over words with a list", "for w in a 'b c' d; do echo \"[$w]\"; done", b"[a]\n[b c]\n[d]\n"),
    one("a loop over files", "touch a.x b.x c.y; for f in *.x; do echo ${f%.x}; done", b"a\nb\n", strict=True),
    one("a loop that counts", "for ((i = 0; i < 3; i++)); do printf '%d ' $i; done; echo", b"0 1 2 \n"),
    one("a loop until something holds", "n=0; until [ $n -ge 3 ]; do n=$((n + 1)); done; echo $n", b"3\n"),
    one("the status of a loop", "for i in 1 2; do (exit $i); done", exit=2),
    one(
        "loops within loops",
        "for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done",
        b"1a\n2a\n",
    ),
    one(
        "branches",
        "for x in ab 42 '' x.t; do case $x in [0-9]*) echo n;; *.t|*.md) echo f;; '') echo e;; *) echo o;; esac; done",
        b"o\nn\ne\nf\n",
        strict=True,
    ),
    one("branches that fall through", "case a in a) echo 1;& b) echo 2;;& *) echo 3;; esac", b"1\n2\n3\n"),
    one(
        "nested conditions", "if false; then echo 1; elif [[ -d / && ! -e /zz ]]; then echo 2; else echo 3; fi", b"2\n"
    ),
    one("lists", "false && echo no || echo yes; true || echo no; true && echo and", b"yes\nand\n"),
    one("the status of a condition that does not hold", "if false; then :; fi"),
    # functions
    one(
        "arguments of a function",
        'f() { echo $# "$1" "${@:2}"; shift; echo "$*"; }; f \'a b\' c d',
        b"3 a b c d\nc d\n",
    ),
    one(
        "local variables",
        "x=out; f() { local x=in; g; echo $x; }; g() { x=$x+; }; f; echo $x",
        b"in+\nout\n",
        strict=True,
    ),
    one(
        "a recursive function", "fac() { (($1 < 2)) && echo 1 || echo $(($1 * $(fac $(($1 - 1))))); }; fac 6", b"720\n"
    ),
    one("a function that gives a text", 'up() { printf %s "${1^^}"; }; x=$(up abc); echo "$x"', b"ABC\n"),
    one(
        "a function in a subshell",
        "f() (cd /usr; x=1; pwd); f; echo ${x-unset} $(basename $PWD | wc -l)",
        b"/usr\nunset 1\n",
    ),
    one(
        "options of a function",
        "f() { local OPTIND o; while getopts b: o; do echo $o$OPTARG; done; shift $((OPTIND - 1)); echo $1; }; f -b5 c",
        b"b5\nc\n",
    ),
    one("the name of a function", "f() { echo ${FUNCNAME[0]}; }; f", b"f\n"),
    # strings
    one(
        "parts of a string",
        "s=/usr/lib/x.tar.gz; echo ${s##*/} ${s%/*} ${s%%.*} ${s#*.} ${s:5:3}",
        b"x.tar.gz /usr/lib /usr/lib/x tar.gz lib\n",
    ),
    one(
        "replacements",
        "s=a-b-c; echo ${s/-/+} ${s//-/+} ${s/#a/z} ${s/%c/z} ${s^} ${s^^}",
        b"a+b-c a+b+c z-b-c a-b-z A-b-c A-B-C\n",
    ),
    one("defaults", "unset u; e=; echo ${u-1} ${e-2} ${e:-3} ${u:=4} $u ${e:+5}x ${u:+6}", b"1 3 4 4 x 6\n"),
    one("lengths and indirection", "s=hello; n=s; echo ${#s} ${!n}", b"5 hello\n"),
    one("a string split at a character", "IFS=: read -r a b c <<<'1:2:3:4'; echo $c", b"3:4\n", strict=True),
    one("formatted numbers", "printf '%05.1f|%x|%-4s|%3d\\n' 3.14159 255 ab 7", b"003.1|ff|ab  |  7\n"),
    one("a format that is used again", "printf '%s=%s\\n' a 1 b 2", b"a=1\nb=2\n"),
    one("printing into a variable", "printf -v x '%03d' 7; echo $x", b"007\n"),
    one(
        "quoting for later use",
        "x=\"a 'b' \\$c\"; printf '%q\\n' \"$x\"; echo ${x@Q}",
        b"a\\ \\'b\\'\\ \\$c\n'a '\\''b'\\'' $c'\n",
    ),
    one("comparisons", "[[ abc < abd ]] && [[ a1 =~ ^[a-z][0-9]$ ]] && [[ ! x == y ]] && echo ok", b"ok\n"),
    # numbers
    one(
        "arithmetic",
        "echo $((2 ** 10)) $((7 / 2)) $((7 % 3)) $((1 << 4)) $((16#ff)) $((5 > 3 ? 1 : 0))",
        b"1024 3 1 16 255 1\n",
    ),
    one("counting up", "n=1; ((n++)); ((n += 5)); let n*=2; echo $n", b"14\n"),
    one(
        "large numbers", "echo $((2 ** 62)) $((9223372036854775807 + 1))", b"4611686018427387904 -9223372036854775808\n"
    ),
    # arrays
    one("arrays", "a=(x y z); a+=(w); unset 'a[1]'; echo ${a[@]} ${#a[@]} ${!a[@]} ${a[-1]}", b"x z w 3 0 2 3 w\n"),
    one("parts of an array", "a=(1 2 3 4 5); echo ${a[@]:1:3} ${a[@]/#/n}", b"2 3 4 n1 n2 n3 n4 n5\n"),
    one(
        "maps",
        "declare -A m; m[a]=1; m[b c]=2; for k in a 'b c'; do echo \"$k=${m[$k]}\"; done; echo ${#m[@]}",
        b"a=1\nb c=2\n2\n",
    ),
    one("lines into an array", "mapfile -t l < <(printf '1\\n2 2\\n3'); echo ${#l[@]} \"${l[1]}\"", b"3 2 2\n"),
    one("words into an array", "read -ra w <<<'a b  c'; echo ${#w[@]} ${w[2]}", b"3 c\n"),
    one("an array to a function by name", "f() { local -n r=$1; r+=(new); }; a=(old); f a; echo ${a[@]}", b"old new\n"),
    # shells within
    one("a subshell keeps its changes", "x=1; (x=2; cd /; echo $x); echo $x", b"2\n1\n"),
    one("a group changes this shell", "x=1; { x=2; }; echo $x", b"2\n"),
    one("an evaluated text", "v=x; eval \"$v='a b'\"; eval 'echo \"$x\"'", b"a b\n"),
    one("a nested shell with arguments", "bash -c 'echo $0 $1 $#' name 'a b'", b"name a b 1\n", strict=True),
    one("a nested shell that fails under errexit", "bash -ec 'echo a; false; echo b'", b"a\n", 1),
    one("a nested shell from a pipe", "echo 'echo in; exit 3' | bash; echo $?", b"in\n3\n"),
    one("a nested shell from a here-document", "bash <<'E'\nx=5\necho $x\nexit 4\nE", b"5\n", 4),
    one(
        "a script file",
        "printf '#!/bin/sh\\necho \"$0 $1\"; exit 5' >s; chmod +x s; ./s arg",
        b"./s arg\n",
        5,
        core=True,
    ),
    Case(
        "a sourced file",
        (Step("printf 'v=7\\nh() { echo H$1; }\\nreturn 3' >lib; . ./lib", 3), Step("h $v", output=b"H7\n")),
    ),
    one("a sourced file with arguments", "echo 'echo $# $1' >lib; set -- keep; . ./lib a b; echo $1", b"2 a\nkeep\n"),
    one("a sourced stream", ". <(echo 'y=9'); echo $y", b"9\n", strict=True),
    one(
        "variables for a nested shell", "A=1 B='x y' bash -c 'echo $A $B'; export C=3; bash -c 'echo $C'", b"1 x y\n3\n"
    ),
    one("functions for a nested shell", "f() { echo F; }; export -f f; bash -c f", b"F\n"),
)

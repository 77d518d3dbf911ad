"""Texts that are awkward to hand over: odd characters, quotes, here-documents, many lines, long lines."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one, saying

_LINES = 20_000
_LONG = 300_000  # more than a terminal line, a pipe or one argument of a program can hold

CASES = (
    one("one word", "pwd >/dev/null"),
    one("two words", "echo hi", b"hi\n", strict=True),
    one("an empty text", ""),
    one("blanks only", " \t  \n \n"),
    one("a comment only", "# nothing to do"),
    one("a comment after a command", "echo hi # it's \"open", b"hi\n", strict=True),
    one("a comment that ends in a backslash", "echo hi # and \\", b"hi\n"),
    one("a first line that names an interpreter", "#!/usr/bin/perl -w\necho hi", b"hi\n"),
    one("blank lines before and after", "\n\n   echo hi\n\n\n", b"hi\n"),
    one("a semicolon at the end", "echo hi;", b"hi\n"),
    one("an ampersand at the end", ": &"),
    # quotes
    one("both kinds of quotes", """printf '%s|' 'a "b"' "c 'd'" "it's"; echo""", b"a \"b\"|c 'd'|it's|\n", strict=True),
    one("quotes within quotes", """bash -c 'echo "a '"'"'b'"'"' c"'""", b"a 'b' c\n"),
    one("escapes in dollar quotes", r"printf %s $'a\tb\x41\n\'q\''", b"a\tbA\n'q'"),
    one("backslashes", r"printf '%s\n' a\ b \\ \' \" '\' \$x", b"a b\n\\\n'\n\"\n\\\n$x\n"),
    one("a quoted newline", "echo 'a\nb'", b"a\nb\n"),
    one("an empty word", "printf '[%s]' '' \"\" x", b"[][][x]"),
    one("exclamation marks", """echo 'a!b!!' "x!y" !$ !!:0 ^a^b""", b"a!b!! x!y !$ !!:0 ^a^b\n", core=True),
    one("dollars and backquotes", "echo '$x `ls` $(ls)' \\$x", b"$x `ls` $(ls) $x\n"),
    one("globs that match nothing", "echo '*' /nonexistent/* [z]?", b"* /nonexistent/* [z]?\n"),
    one("braces", "echo {1..3} {a,b}c '{'x'}' ${x:-{}}", b"1 2 3 ac bc {x} {}\n"),
    one("nested substitutions", 'echo "$(echo "$(echo "a  b")" $(echo c))"', b"a  b c\n"),
    one("a closing parenthesis inside a substitution", "echo $(case x in x) echo in;; esac)", b"in\n"),
    one("backquotes in backquotes", "echo `echo \\`echo deep\\``", b"deep\n"),
    # more than one line
    one("a loop over several lines", "for n in x y z\ndo\n\techo $n\ndone", b"x\ny\nz\n", strict=True),
    one("a function over several lines", 'f() {\n  echo "$1"\n  return 4\n}\nf x', b"x\n", 4, core=True),
    one("a line continued with a backslash", "echo a \\\n  b\\\nc", b"a bc\n"),
    one("a backslash at the very end", "echo hi \\", b"hi\n"),
    one("a backslash and a newline at the very end", "echo hi \\\n", b"hi\n"),
    one("a backslash alone", "\\"),
    one("a pipe continued on the next line", "echo a |\n\n  # between\n  cat", b"a\n"),
    one("line numbers count from the text's first line", "echo $LINENO\n\necho $LINENO", b"1\n3\n"),
    one("carriage returns at line ends", "echo a\r\necho b\r\n", b"a\r\nb\r\n"),
    # here-documents
    one("a here-document", "cat <<EOF\nl1 $((1 + 1))\n  l2\nEOF", b"l1 2\n  l2\n", strict=True),
    one("a quoted here-document", "cat <<'EOF'\n$x `y` \\z\nEOF\n", b"$x `y` \\z\n"),
    one("a here-document with tabs", "cat <<-EOF\n\ta\n\t\tb\n\tEOF\necho z", b"a\nb\nz\n"),
    one(
        "two here-documents on one line",
        'cat - <<ONE; cat <<"TWO"\n$((3 * 3))\nONE\n$HOME\nTWO\necho last',
        b"9\n$HOME\nlast\n",
        core=True,
    ),
    one("a here-document within a substitution", 'echo "$(cat <<EOF\nx"y\nEOF\n)"', b'x"y\n'),
    one("a here-document within a loop", "for i in 1 2; do cat <<E\n$i\nE\ndone", b"1\n2\n"),
    one(
        "a here-document without its end",
        "tr a-z A-Z <<STOP\nabc",
        match=rb"(?!.*__oc)(bash: warning: here-document .*\n)?ABC\n",
    ),
    one("an empty here-document", "cat <<EOF\nEOF\necho $?", b"0\n"),
    one("a here-string", 'cat <<<"a  b"; tr a-z A-Z <<<x', b"a  b\nX\n"),
    # characters
    one("letters beyond ASCII", "x='żółć 漢字 🎉'; echo \"$x\" ${#x}", "żółć 漢字 🎉 9\n".encode(), strict=True),
    one("control characters", "printf %s 'a\tb\x01\x15\x17c\x7f\x1b[A'", b"a\tb\x01\x15\x17c\x7f\x1b[A", core=True),
    one(
        "characters that end or stop terminal input",
        "printf %s 'a\x03b\x04c\x1ad\x11\x13\x16\x1c'",
        b"a\x03b\x04c\x1ad\x11\x13\x16\x1c",
    ),
    one("a byte that is no UTF-8", "printf %s 'a\udcffb'", b"a\xffb"),
    one("an end of a bracketed paste", "printf %s '\x1b[201~x\x1b[200~'", b"\x1b[201~x\x1b[200~"),
    # length
    one("a line longer than a terminal's", "printf %s " + "a" * 6000 + " | wc -c", b"6000\n", strict=True),
    one("a very long line", f"x='{'b' * _LONG}'; echo ${{#x}}", f"{_LONG}\n".encode()),
    one("very many lines", "x=1\n" * _LINES + "echo $x $LINENO", f"1 {_LINES + 1}\n".encode()),
    one("a here-document of many lines", "wc -l <<E\n" + "line\n" * _LINES + "E\n", f"{_LINES}\n".encode()),
    one("many words", "set -- " + "w " * _LINES + "; echo $#", f"{_LINES}\n".encode()),
    # what a line may begin with
    one("a reserved word first", "if true; then echo yes; fi", b"yes\n", strict=True),
    one("an arithmetic command first", "((1 > 2))", exit=1),
    one("a condition first", "[[ abc == a* ]]", strict=True),
    one("a negation first", "! true", exit=1, strict=True),
    one("a negation alone", "!", exit=1),
    one("a subshell first", "(echo sub; exit 6)", b"sub\n", 6, core=True),
    one("a group first", "{ echo grp; }", b"grp\n"),
    one("an assignment first", "x=1 y=2; echo $x$y", b"12\n"),
    one("an assignment for one command", "x=1 sh -c 'echo $x'; echo ${x-unset}", b"1\nunset\n"),
    one("a redirection first", ">out echo hi; cat out", b"hi\n"),
    Case(
        "a function definition only", (Step("function f { echo F; }"), Step("f", output=b"F\n")), core=True, strict=True
    ),
    one("a word that starts with a dash", "-n", match=saying(b"-n: command not found"), exit=127),
)

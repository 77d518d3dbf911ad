"""What a user does all day, in one shell: it takes one start for many answers. Data only."""

from __future__ import annotations

from tests.conformance.case import Case, Step


def everyday(kind: str, *, strict: bool, asks: bool = False) -> Case:
    """For a kind of shell; where a failure ends the shell, nothing in it fails but the last.

    A shell without hooks whose prompt `asks` the terminal cannot be told from a command that does so once the command
    was interrupted, and no answer is given: there the time-out is left out.
    """
    status, assign = ("$status", "set x 'a  b'") if kind == "fish" else ("$?", "x='a  b'")
    wide = "0" * 299 + "5"
    fails = (
        Step("printf xyz; sh -c 'exit 4'", 4, b"xyz"),
        Step(f"echo {status}", output=b"4\n"),
        Step("cat; pwd; echo $K; sh -c 'exit 5'", 5, b"in/usr\nv\n", stdin=b"in", env=(("K", "v"),), cwd="/usr"),
        Step("sh -c 'kill -TERM $$' 2>/dev/null", 143, None),
        Step("no_such_program", 127, match=rb"(?s)(?!.*__oc).*no_such_program.*"),
    )
    works = (
        Step("echo hi", output=b"hi\n"),
        Step("printf xyz", output=b"xyz"),
        Step(assign),
        Step('echo "$x"', output=b"a  b\n"),
        Step(f"printf '%s\\n' {wide}", output=wide.encode() + b"\n"),
        Step("echo o; echo e >&2; sh -c 'echo p; echo f >&2'", output=b"o\ne\np\nf\n"),
        Step("cat; echo $K", output=b"l1\nl2v\n", stdin=b"l1\nl2", env=(("K", "v"),)),
        Step("cat", output=b""),
        Step("\n# a comment\necho żółć 漢字\n\n", output="żółć 漢字\n".encode()),
        Step("sleep 60", 124, None, timeout_s=0.5) if not (strict or asks) else Step("sleep 0"),
        Step("seq 1 5000 | tail -n 1", output=b"5000\n"),
    )
    ends = Step("exec sh -c 'echo gone; exit 24'", 24, b"gone\n", ends=True)
    return Case("a day's work", (*(() if strict else fails), *works, ends))

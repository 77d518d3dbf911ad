"""Generated scripts, in the words of each shell: pipes, traps, functions, redirections, jobs. Data and its making.

A shell that is to be compared gets its dialect here, in `DIALECTS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.conformance.kinds import BASH, BUSYBOX, DASH, KSH93, MKSH, ZSH, Kind

Texts = st.SearchStrategy[str]
Scripts = st.SearchStrategy[list[str]]

SLEEP = "{ exec sleep 60; } 2>/dev/null & c=$!"  # its trace may come at any time
names = st.sampled_from(["a", "b"])
codes = st.integers(0, 5)
words = st.sampled_from(["one", "two words", "x=y", "/tmp", "-n", "$a", "${b:-none}", "$?", "é"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a plain shell of this kind is started and made to tell its prompts; what is typed into it, and looked at.

    `state` looks at what a text leaves; it comes first to `$?`. `own` are patterns of what tells a typed line from a
    sourced file: `(?P<keep>…)` is what stays of a match. `examples` are tried each time.
    """

    kind: Kind
    plain: tuple[str, ...]
    first: str
    state: str
    scripts: Scripts
    own: tuple[bytes, ...] = ()
    examples: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    alone: str = ":"  # what is typed into the plain shell only, so that nothing but prompts is drawn
    signals_from: int = 128  # a status of this and N is the end by signal N

    def code(self, status: int) -> int:
        """What is told of a status that the shell has."""
        return (
            status - self.signals_from + 128 if self.signals_from < status <= self.signals_from + 64 else status & 255
        )


def scripts(*more: str, quoted: Texts = words) -> Scripts:
    """For a Bourne shell; `more` are texts of its own."""
    simple = (
        st.builds("echo {}".format, quoted.map('"{}"'.format))
        | st.builds("(exit {})".format, codes)
        | st.builds("{}={}".format, names, quoted.map('"{}"'.format))
        | st.sampled_from([":", "true", "false", "test a = b", "cd /", "cd /usr", "! true", "echo e >&2"])
    )
    quiet = st.builds("(exit {})".format, codes) | st.sampled_from([":", "true", "false", "test a = b"])
    pipes = st.builds("{} | {}".format, st.lists(quiet, min_size=1, max_size=3).map(" | ".join), quiet | st.just("cat"))
    part = simple | pipes
    blocks = (
        st.builds("{} && {}".format, part, part)
        | st.builds("{} || {}".format, part, part)
        | st.builds("if {}; then {}; else {}; fi".format, part, part, part)
        | st.builds("for i in 1 2; do {}; done".format, part)
        | st.builds("f() {{ {}; return {}; }}; f".format, part, codes)
        | st.builds("{{ {}; }} >~/f; cat ~/f".format, part)
        | st.builds("({}; exit {})".format, part, codes)
        | st.builds("{{ {}; }} & wait $!".format, part)
        | st.sampled_from([SLEEP, "kill -9 $c; wait $c", "set -u", "set +u", "set -f", "set -x", "set +x"])
        | st.sampled_from(["trap 'echo U' USR1; kill -USR1 $$", "exec 5>&1; echo five >&5", *more])
    )
    lines = st.lists(part | blocks, min_size=1, max_size=4).map("; ".join)
    documents = st.builds("cat <<x; {}\nin $a\nx".format, simple)
    # one command line each: a person's next line is run whatever the one before did
    return st.lists(lines | documents, min_size=1, max_size=4)


_FAILPIPE = ("set -o pipefail", "set +o pipefail")
_ERR = ("trap 'echo E$?' ERR", "trap - ERR")
_EXIT = ("trap 'echo X' EXIT", "trap - EXIT")
_JOBS = "jobs >~/j; wc -l <~/j"
_MESSAGES = rb"[^\n: ]*/(?:x6973-|[bc])[0-9a-f]{16}(?:\[\d+\])?: (?:line \d+: |\d+: )?"
_EXAMPLES = (
    ("! true",),
    ("false | true | (exit 3)",),
    ("set -x", "f() { false; return 3; }; f", "set -u", "echo $nope; echo b"),
    (SLEEP, "kill -9 $c; wait $c", "cd /usr; (exit 4)"),
)

_BASH = Dialect(
    kind=BASH,
    plain=("bash", "--norc", "--noprofile", "--noediting", "-i"),
    first="set +H; PS2=",
    state='echo "$? ${PIPESTATUS[*]}"; echo "${a-} ${b-} $PWD $-"; jobs -r >~/j; wc -l <~/j; trap -p; declare -F;'
    " shopt -o pipefail; shopt -o posix; echo ${FUNCNAME-none}",
    scripts=scripts(*_FAILPIPE, *_ERR, "set -E", "set -o posix", "set +o posix"),
    own=(rb"(?<=bash: )" + _MESSAGES,),
    examples=(*_EXAMPLES, ("trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true")),
)
_DASH = Dialect(
    kind=DASH,
    plain=("dash", "-i"),
    first="PS2=",
    state=f'echo "$?"; echo "${{a-}} ${{b-}} $PWD $-"; {_JOBS}; trap; type f',
    scripts=scripts(*_EXIT),
    own=(_MESSAGES, rb"(?<=dash: )\d+: "),
    examples=_EXAMPLES,
)
_BUSYBOX = Dialect(
    kind=BUSYBOX,
    plain=("busybox", "ash", "-i"),
    first="PS2=",
    state=f'echo "$?"; echo "${{a-}} ${{b-}} $PWD $-"; {_JOBS}; trap; type f',
    scripts=scripts(*_EXIT, *_FAILPIPE, *_ERR),
    own=(_MESSAGES, rb"(?<=ash: )line \d+: "),
    examples=(*_EXAMPLES, ("trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true")),
)
_KSH93 = Dialect(
    kind=KSH93,
    plain=("ksh93", "-i"),
    first="PS2=; set +o emacs; set +o vi; set +o multiline",
    state=f'echo "$?"; echo "${{a-}} ${{b-}} $PWD $-"; {_JOBS}; trap; type f',
    scripts=scripts(*_EXIT, *_FAILPIPE, *_ERR),
    signals_from=256,
    own=(_MESSAGES, rb"(?<=ksh93: )(?:\.: ){1,2}"),
    examples=(*_EXAMPLES, ("trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true")),
)
_MKSH = Dialect(
    kind=MKSH,
    plain=("mksh", "-i"),
    first="PS2=; set +o emacs; set +o vi",
    state=f'echo "$?"; echo "${{a-}} ${{b-}} $PWD $-"; {_JOBS}; trap; type f',
    scripts=scripts(*_EXIT, *_FAILPIPE, *_ERR),
    own=(_MESSAGES,),
    examples=(*_EXAMPLES, ("trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true")),
)
_ZSH = Dialect(
    kind=ZSH,
    plain=("zsh", "-f", "-i", "+Z"),
    first="setopt prompt_subst; PS2=",
    alone="unsetopt prompt_sp prompt_cr",
    state='echo "$? $pipestatus"; echo "${a-} ${b-} $PWD $options[xtrace] $options[nounset] $options[pipefail]";'
    f" {_JOBS}; trap; whence -w f",
    scripts=scripts(*_EXIT, *_FAILPIPE, *_ERR),
    own=(
        rb"(?m)^\+[^\n>]*> ",
        rb"[^\n: ]*/(?:x6973-|[bc])[0-9a-f]{16}:(?:\d+:)?(?: (?=\w))?",
        rb"(?m)^zsh:(?:\d+:)? ?",
    ),
    examples=(*_EXAMPLES, ("trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true")),
)
DIALECTS = (_BASH, _DASH, _BUSYBOX, _KSH93, _MKSH, _ZSH)

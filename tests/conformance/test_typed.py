"""Generated scripts: `exec` and the same texts typed into a plain bash agree in output, status and state."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import tempfile
import time
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.world import DEADLINE_S, World

# What a text leaves; the first line has to come first, because it looks at the text before.
STATE = (
    'echo "$? ${PIPESTATUS[*]}"; echo "${a-} ${b-} $PWD $-"; jobs -r >~/j; wc -l <~/j; trap -p; declare -F;'
    " shopt -o pipefail; shopt -o posix; echo ${FUNCNAME-none}"
)

names = st.sampled_from(["a", "b"])
codes = st.integers(0, 5)
words = st.sampled_from(["one", "two words", "x=y", "/tmp", "-n", "$a", "${b:-none}", "$?", "é"])
simple = (
    st.builds("echo {}".format, words.map('"{}"'.format))
    | st.builds("(exit {})".format, codes)
    | st.builds("{}={}".format, names, words.map('"{}"'.format))
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
    | st.sampled_from(["sleep 60 & c=$!", "kill $c; wait $c", "set -o pipefail", "set +o pipefail", "set -u", "set +u"])
    | st.sampled_from(["trap 'echo E$?' ERR", "trap - ERR", "trap 'echo U' USR1; kill -USR1 $$", "set -E", "set -x"])
    | st.sampled_from(["set +x", "set -f", "exec 5>&1; echo five >&5", "set -o posix", "set +o posix"])
)
lines = st.lists(part | blocks, min_size=1, max_size=4).map("; ".join)
documents = st.builds("cat <<x; {}\nin $a\nx".format, simple)
texts = lines | documents  # one command line each: a person's next line is run whatever the one before did
scripts = st.lists(texts, min_size=1, max_size=4)


class PlainBash:
    """A bash as a person has it, on a terminal. Texts are typed, and its prompt tells their status."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._number = 0
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], _environment(folder))
        self._tell("set +H; PS2=; stty -echo; PS1='=end-$?='")
        self._tell("")

    def run(self, text: str) -> tuple[int, bytes]:
        """Its status and its output."""
        seen = self._tell(text)
        end = re.search(rb"=end-(\d+)=\Z", seen)
        assert end is not None, seen
        return int(end[1]), seen[: end.start()].replace(b"\r\n", b"\n")

    def close(self) -> None:
        """Gone, with what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGHUP)
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def _tell(self, line: str) -> bytes:
        os.write(self._terminal, line.encode() + b"\n")
        seen, until = b"", time.monotonic() + DEADLINE_S
        while not re.search(rb"=end-\d+=\Z", seen) or select.select([self._terminal], [], [], 0.05)[0]:
            assert time.monotonic() < until, seen
            if select.select([self._terminal], [], [], 0.05)[0]:
                seen += os.read(self._terminal, 65536)
        return seen


def _environment(folder: str) -> dict[str, str]:
    return {"HOME": folder, "TMPDIR": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def _common(output: bytes, folder: str) -> bytes:
    """Without what tells a typed line from a file: where a message comes from, how deep a trace is, and jobs."""
    output = output.replace(folder.encode(), b"~")
    output = re.sub(rb"bash: \S*/(x6973-|c)[0-9a-f]{16}: (line \d+: )?", b"bash: ", output)
    output = re.sub(rb"(?m)^\++ ", b"+ ", output)
    return re.sub(rb"(?m)^(\[\d+\]|[^\n]* Terminated +sleep)[^\n]*\n", b"", output)


def _agree(world: World, script: Sequence[str]) -> None:
    steps = [step for text in script for step in (text, STATE)]
    with tempfile.TemporaryDirectory(dir=world.folder) as mine, tempfile.TemporaryDirectory(dir=world.folder) as plain:
        typed = PlainBash(plain)
        try:
            expected = [typed.run(step) for step in steps]
        finally:
            typed.close()
        with world.client() as client:
            shell = client.spawn(["bash"], cwd=mine, env=_environment(mine))
            try:
                shell.exec("set +H")
                done = [shell.exec(step, timeout_s=DEADLINE_S) for step in steps]
            finally:
                shell.kill(grace_s=0)
        for step, one, (status, output) in zip(steps, done, expected, strict=True):
            found, wanted = _common(one.output, mine), _common(output, plain)
            if "|" in step:  # its parts may be written in any order
                found, wanted = (b"".join(sorted(text.splitlines(keepends=True))) for text in (found, wanted))
            assert (one.exit_code, found) == (status, wanted), (step, steps)


def test_a_script_does_what_it_does_in_a_plain_bash(shared_world: World, pytestconfig: pytest.Config) -> None:
    """Half of its steps look at the state: `$?`, PIPESTATUS, variables, directory, options, jobs, traps, functions."""
    examples = 150 if pytestconfig.getoption("--long") else 6

    @settings(
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )
    @given(scripts)
    @example(["! true"])
    @example(["false | true | (exit 3)"])
    @example(["trap 'echo E$?' ERR", "cat <<x; false\nin\nx", "! false | true"])
    @example(["set -x", "f() { false; return 3; }; f", "set -u", "echo $nope; echo b"])
    @example(["sleep 60 & c=$!", "kill $c; wait $c", "cd /usr; (exit 4)"])
    def agree(script: list[str]) -> None:
        _agree(shared_world, script)

    agree()

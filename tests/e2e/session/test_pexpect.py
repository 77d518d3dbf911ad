"""`session.pexpect()` against the real thing: the same script, the same answers; and a supervisor that is killed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pytest
from pexpect import EOF, TIMEOUT, replwrap
from pexpect.spawnbase import SpawnBase

from orchctl import Client, OrchctlError
from tests.world import World, until

PYTHON = sys.executable
TIMEOUT_S = 60
ASKS = """
import getpass, sys
name = input("name? ")
print("hello", name)
if getpass.getpass("secret: ") != "xyzzy":
    sys.exit(3)
print("grüße\\tand\\x1b[1m colours\\x1b[0m")
for line in sys.stdin:
    print("<" + line.rstrip() + ">")
print("bye")
sys.exit(5)
"""
Open = Callable[..., Any]


@pytest.fixture(params=["pexpect.spawn", "session.pexpect"])
def opened(request: pytest.FixtureRequest, world: World) -> Iterator[Open]:
    """Opens a program either way; the same test must hold for both."""
    if request.param == "pexpect.spawn":
        made = list[Any]()

        def real(argv: list[str], **options: Any) -> Any:
            made.append(pexpect.spawn(argv[0], argv[1:], timeout=TIMEOUT_S, **options))
            made[-1].delayafterterminate = 1.0  # for a machine on which nothing dies in a tenth of a second
            return made[-1]

        yield real
        for one in made:
            one.close()
        return
    with world.client() as client:

        def ours(argv: list[str], *, echo: bool = True, **options: Any) -> Any:
            return client.spawn(argv, echo=echo).pexpect(timeout=TIMEOUT_S, **options)

        yield ours


def _script(child: Any, text: Callable[[str], Any]) -> list[Any]:
    """One conversation, and all that pexpect said of it."""
    said = [child.expect(["nothing", r"na(m)e\? "])]
    said += [child.before, child.after, child.match.group(1), child.match_index]
    child.sendline("World")
    said += [child.expect_exact(["hello World\r\n", EOF]), child.before, child.after]
    said += [child.waitnoecho(), child.expect("secret: "), child.before]
    child.sendline("xyzzy")
    said += [child.expect([TIMEOUT, "colours"]), child.before, child.after]
    child.delaybeforesend = None
    child.expect(text("\x1b\\[0m\r\n"))
    child.send("a b")
    child.sendline()
    said += [child.expect_list([child.compile_pattern_list("<(.*)>")[0], EOF]), child.before, child.match.group(1)]
    said += [child.readline(), child.isalive(), child.expect(["never", TIMEOUT], timeout=0.2), child.after is TIMEOUT]
    child.sendcontrol("d")
    said += [child.expect(EOF), child.before, child.after is EOF, child.wait(), child.isalive(), child.exitstatus]
    return [*said, child.signalstatus, child.eof()]


@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_conversation_is_the_same_as_with_pexpect_itself(world: World, encoding: str | None) -> None:

    def text(one: str) -> Any:
        return one if encoding else one.encode()

    argv = [PYTHON, "-X", "utf8", "-c", ASKS]
    with world.client() as client:
        ours = client.spawn(argv).pexpect(timeout=TIMEOUT_S, encoding=encoding)
        assert isinstance(ours, SpawnBase)
        said = _script(ours, text)
    real = pexpect.spawn(argv[0], argv[1:], timeout=TIMEOUT_S, encoding=encoding)
    try:
        assert said == _script(real, text)
    finally:
        real.close()
    assert said[:5] == [1, text(""), text("name? "), text("m"), 1]
    assert said[-7:] == [text("bye\r\n"), True, 5, False, 5, None, True]


def test_signals_sizes_and_echo_are_as_there(opened: Open) -> None:
    child = opened(["cat"])
    assert child.isatty()
    assert child.getwinsize() == (24, 80)
    child.setwinsize(30, 100)
    assert child.getwinsize() == (30, 100)
    assert (child.echo, child.getecho()) == (True, True)
    child.sendline("1234")
    assert [child.expect(["1234"]), child.expect(["1234\r\n"])] == [0, 0]
    child.setecho(False)
    assert not child.getecho()
    child.sendline("abcd")
    child.expect("abcd\r\n")
    assert child.before == b""
    child.sendintr()
    child.expect(EOF)
    assert (child.wait(), child.signalstatus, child.status) == (None, signal.SIGINT, signal.SIGINT)


def test_a_program_that_is_asked_to_end_ends(opened: Open) -> None:
    child = opened(["sh", "-c", "trap '' HUP INT; echo ready; while :; do sleep 0.1; done"])
    child.expect("ready")
    assert not child.terminate()
    until(lambda: child.terminate(force=True))
    assert (child.isalive(), child.signalstatus) == (False, signal.SIGKILL)


def test_logs_get_what_goes_in_and_out(opened: Open) -> None:
    child = opened(["sh", "-c", "stty -echo; echo ready; read x; echo got $x"], encoding="utf-8")
    child.logfile_read, child.logfile_send, child.logfile = io.StringIO(), io.StringIO(), io.StringIO()
    child.expect("ready\r\n")
    child.sendline("wörd")
    child.expect(EOF)
    assert child.logfile_send.getvalue() == "wörd\n"
    assert child.logfile_read.getvalue() == "ready\r\ngot wörd\r\n"
    assert child.logfile.getvalue() == "ready\r\nwörd\ngot wörd\r\n"


def test_what_has_not_come_yet_is_a_timeout_and_the_end_an_error(opened: Open) -> None:
    child = opened(["cat"])
    with pytest.raises(TIMEOUT):
        child.expect("never", timeout=0)
    with pytest.raises(TIMEOUT):
        child.read_nonblocking(10, timeout=0.1)
    child.send("abc")
    child.expect("abc")
    child.sendeof()
    child.sendeof()
    with pytest.raises(EOF):
        child.expect("never")
    assert child.before == b"abc"
    child.close()
    with pytest.raises(ValueError, match="closed"):
        child.read_nonblocking(1)


def test_a_repl_wrapper_runs_bash_and_our_marks_do_not_show(world: World) -> None:
    with open(f"{world.folder}/.bashrc", "w", encoding="utf-8") as file:
        file.write("PS1='$ '\nbind 'set enable-bracketed-paste off'\n")
    with world.client() as client:
        session = client.spawn(["bash"], env={"HOME": world.folder}, echo=False)
        first, second = (
            f"{one[:5]}\\[\\]{one[5:]}" for one in (replwrap.PEXPECT_PROMPT, replwrap.PEXPECT_CONTINUATION_PROMPT)
        )
        child = session.pexpect(encoding="utf-8", timeout=TIMEOUT_S)
        bash = replwrap.REPLWrapper(child, "\\$ ", f"PS1='{first}' PS2='{second}'", extra_init_cmd="export PAGER=cat")
        assert bash.run_command("echo hello") == "hello\r\n"
        assert bash.run_command("for i in 1 2 3\ndo\n  echo $i\ndone") == "1\r\n2\r\n3\r\n"
        assert bash.run_command("f() {\n  printf '%s' \"$1\"\n}\nf x") == "x"
        with pytest.raises(ValueError, match="incomplete"):
            bash.run_command("for i in 1 2 3")
        assert bash.run_command("env | grep -c PAGER=cat") == "1\r\n"
        assert b"\x1b]6973;" in world.log(session.id)
        assert session.exec("echo ours").output == b"ours\n"


def test_a_repl_wrapper_runs_python(world: World) -> None:
    with world.client() as client:
        session = client.spawn([PYTHON, "-q"], env={"PYTHON_BASIC_REPL": "1"}, echo=False)
        child = session.pexpect(encoding="utf-8", timeout=TIMEOUT_S)
        python = replwrap.REPLWrapper(child, ">>> ", "import sys; sys.ps1={0!r}; sys.ps2={1!r}")
        assert python.run_command("4 + 7") == "11\r\n"
        assert python.run_command("for a in range(3): print(a)\n") == "0\r\n1\r\n2\r\n"
        python.run_command("def double(x):\n    y = x * 2\n    return y\n")
        assert python.run_command("double('ab')") == "'abab'\r\n"
        with pytest.raises(ValueError, match="incomplete"):
            python.run_command("for a in range(3):")
        assert python.run_command("1") == "1\r\n"


def test_reading_and_typing_go_on_when_the_supervisor_is_killed(world: World) -> None:
    with world.client() as client:
        child: Any = client.spawn(["sh", "-c", 'stty -echo; echo ready; while read x; do echo "<$x>"; done']).pexpect(
            timeout=TIMEOUT_S, encoding="utf-8"
        )
        child.delaybeforesend = None
        child.expect("ready\r\n")
        for number in range(20):
            if number % 7 == 3:
                os.kill(world.supervisor(), signal.SIGKILL)
            child.sendline(f"line {number}")
            if number % 7 == 5:
                os.kill(world.supervisor(), signal.SIGKILL)
            child.expect(r"<line (\d+)>\r\n")
            assert (child.match.group(1), child.before) == (str(number), "")


def test_closing_lets_go_of_the_session_and_it_goes_on(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["cat"])
        with session.pexpect(timeout=TIMEOUT_S) as child:
            child.sendline("one")
            child.expect("one\r\none\r\n")
        assert child.closed
        assert session.info().is_alive
        again = session.pexpect(timeout=TIMEOUT_S)
        again.sendline("two")
        again.expect("two\r\ntwo\r\n")
        again.close(force=True)
        assert not session.info().is_alive
        assert session.pexpect(offset=0, timeout=TIMEOUT_S).read() == b"one\r\none\r\ntwo\r\ntwo\r\n"


def test_what_cannot_be_is_a_clear_error(world: World) -> None:
    with world.client() as client:
        with pytest.raises(OrchctlError) as refused:
            client.spawn(["cat"], pty=False).pexpect()
        assert refused.value.code == "no-terminal"
        child = client.spawn(["cat"]).pexpect(timeout=1)
        with pytest.raises(NotImplementedError, match="async_"):
            child.expect("x", async_=True)
        with pytest.raises(OrchctlError) as refused:
            child.setwinsize(0, 80)
        assert refused.value.code == "bad-size"
        child.terminate(force=True)
        with pytest.raises(OrchctlError) as refused:
            child.getecho()
        assert refused.value.code == "session-ended"
        with pytest.raises(OrchctlError) as refused:
            child.sendline("x")
        assert refused.value.code == "session-ended"


INTERACT = """
import sys
from orchctl import Client
with Client(state_dir=sys.argv[1]) as client:
    child = client.session(sys.argv[2]).pexpect(timeout=60)
    child.interact(input_filter=lambda keys: keys.replace(b"q", b"Q"))
    print("left", child.isalive())
"""


def test_a_person_can_take_over_and_leave_again(world: World) -> None:
    with Client(state_dir=world.state) as client:
        session = client.spawn(["sh", "-c", 'echo ready; while read x; do echo "<$x>"; done'])
        person = pexpect.spawn(PYTHON, ["-c", INTERACT, world.state, session.id], timeout=TIMEOUT_S, env=world.env)
        try:
            person.expect("ready")
            person.send("quick\r")
            person.expect("<Quick>")
            person.send("\x1d")
            person.expect("left True")
            person.expect(EOF)
            person.wait()
            person = pexpect.spawn(PYTHON, ["-c", INTERACT, world.state, session.id], timeout=TIMEOUT_S, env=world.env)
            person.expect("<Quick>")
            person.send("\x04")
            person.expect("left False")
            person.expect(EOF)
            person.wait()
        finally:
            person.close()
        done = subprocess.run(
            [PYTHON, "-c", INTERACT, world.state, session.id],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert (done.returncode, b"interact needs a terminal" in done.stderr) == (1, True)


def test_a_program_that_ends_at_once_is_read_to_its_end_every_time(world: World) -> None:
    """It may end before, while and after the terminal's modes are asked for."""
    with world.client() as client:
        for number in range(100):
            child = client.spawn(["/bin/sh", "-c", f"echo hi {number}; exit 3"]).pexpect(timeout=TIMEOUT_S)
            child.expect(EOF)
            assert child.before == b"hi %d\r\n" % number
            child.wait()
            assert (child.exitstatus, child.isalive()) == (3, False)


def test_a_session_that_has_ended_already_is_read_to_its_end(world: World) -> None:
    with world.client() as client:
        handle = client.spawn(["/bin/echo", "hi"])
        client.wait(handle.id)
        until(lambda: os.path.exists(f"{world.state}/sessions/{handle.id}/ended.json"))  # only the disk knows of it
        child = handle.pexpect(timeout=TIMEOUT_S)
        child.expect_exact("hi\r\n")
        child.expect(EOF)
        assert (child.wait(), child.exitstatus, child.echo) == (0, 0, False)
        killed = client.spawn(["/bin/sh", "-c", "echo bye; kill -TERM $$"])
        client.wait(killed.id)
        child = killed.pexpect(timeout=TIMEOUT_S)
        child.expect(EOF)
        assert (child.before, child.exitstatus, child.signalstatus) == (b"bye\r\n", None, signal.SIGTERM)

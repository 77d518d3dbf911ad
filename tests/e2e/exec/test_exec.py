"""exec tells the truth: the forms it takes, what it shows, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess

import pytest

from orchctl import Client, OrchctlError
from tests.world import DEADLINE_S, ORCHCTL, World, interrupt_twice, until


@pytest.fixture
def shell(world: World) -> str:
    """A bash with an empty home."""
    home = f"{world.folder}/home"
    os.mkdir(home)
    world.env |= {"HOME": home}
    return world.ok("spawn", "--name", "w", "-w", home, "bash")


def test_one_word_is_text_and_several_are_arguments_that_arrive_unchanged(world: World, shell: str) -> None:
    assert world.ok("exec", "w", "cd /usr && pwd") == "/usr"
    assert world.run("exec", "w", "printf", "%s|", "a b", "$x", "it's", "*", "", "-n").stdout == b"a b|$x|it's|*||-n|"
    assert world.ok("exec", "w", "-c", "echo $((6 * 7))") == "42"
    assert world.ok("exec", "w", "pwd") == "/usr"
    assert world.run("exec", "w", "ls", "-d", "--", "/").stdout == b"/\n"
    assert world.run("exec", "w", "A=b", "true").returncode == 127


def test_options_may_stand_on_both_sides_of_the_session_and_never_in_the_command(world: World, shell: str) -> None:
    assert world.ok("exec", "-e", "A=1", "w", "-e", "B=2", "--", "echo $A$B") == "12"
    assert world.ok("exec", "w", "echo", "--json", "-e") == "--json -e"


def test_a_script_has_true_line_numbers_and_any_number_of_lines(world: World, shell: str) -> None:
    script = f"{world.folder}/script"
    with open(script, "w", encoding="ascii") as file:
        file.write("echo $LINENO\n\nno_such_command_here\necho $LINENO\nif then\n")
    done = world.run("exec", "w", "--script", script)
    assert done.returncode == 2
    assert done.stdout.startswith(b"1\nbash: no_such_command_here: command not found\n4\n")
    assert b": line 5: syntax error near unexpected token `then'" in done.stdout
    piped = world.run("exec", "w", "--script", "-", input=b"echo from\necho stdin\n", stdin=None)
    assert piped.stdout == b"from\nstdin\n"


def test_its_stdin_is_empty_or_ours_and_the_terminal_only_when_asked(world: World, shell: str) -> None:
    assert world.run("exec", "w", "cat; echo $?").stdout == b"0\n"
    data = random.Random(3).randbytes(700_000)
    done = world.run("exec", "w", "--stdin", "sha256sum; read x; echo $?", input=data, stdin=None)
    import hashlib

    assert done.stdout.decode() == f"{hashlib.sha256(data).hexdigest()}  -\n1\n"
    reader = world.start("exec", "w", "--tty-stdin", "read -r line; echo got $line")
    until(lambda: json.loads(world.ok("history", "w", "--json"))[-1]["status"] == "running")
    world.ok("send", "w", "typed")
    out, _ = reader.communicate(timeout=DEADLINE_S)
    assert out.endswith(b"got typed\n")


def test_with_pipes_both_streams_come_apart_and_byte_for_byte(world: World, shell: str) -> None:
    out, err = random.Random(1).randbytes(300_000), random.Random(2).randbytes(300_000)
    for name, data in (("out", out), ("err", err)):
        with open(f"{world.folder}/home/{name}", "wb") as file:
            file.write(data)
    script = "x=5; for i in 0 1 2; do head -c 100000 <&3; head -c 100000 <&4 >&2; done 3<out 4<err; (exit 9)"
    done = world.run("exec", "w", "--pipe", script)
    assert (done.returncode, done.stdout, done.stderr) == (9, out, err)
    assert world.ok("exec", "w", "echo $x") == "5"


def test_environment_and_directory_are_for_this_command_alone(world: World, shell: str) -> None:
    assert world.ok("exec", "w", "-e", "K=v 'q\"", "-w", "/", "sh -c 'echo $K'; pwd; (exit 0)") == "v 'q\"\n/"
    assert world.ok("exec", "w", "echo ${K-unset}; pwd") == f"unset\n{world.folder}/home"
    missing = world.run("exec", "w", "-w", "/no/such/dir", "echo never")
    assert (missing.returncode, b"never" in missing.stdout) == (125, False)
    bad = world.run("exec", "w", "-e", "1x=2", "true", "--json")
    assert bad.returncode == 125


def test_newlines_are_undone_while_the_terminal_maps_them_and_only_then(world: World, shell: str) -> None:
    with world.client() as client:
        assert client.exec("w", r"printf 'a\nb\r\n'").output == b"a\nb\r\n"
        assert client.exec("w", r"printf 'a\nb'", raw=True).output == b"a\r\nb"
        raw = client.exec("w", r"stty -onlcr </dev/tty; printf 'a\nb\r\n'; stty onlcr </dev/tty")
        assert (raw.output, raw.newlines) == (b"a\nb\r\n", "raw")
        still = client.exec("w", r"stty -onlcr </dev/tty; printf '1\n2'")
        assert (still.output, still.newlines) == (b"1\n2", "raw")
        after = client.exec("w", r"stty onlcr </dev/tty; printf 'x\n'")
        assert after.newlines == "raw"
        assert client.exec("w", "printf 'x\n'").newlines == "mapped"


def test_json_tells_everything_of_one_command(world: World, shell: str) -> None:
    told = json.loads(world.run("exec", "w", "--json", r"printf 'caf\351'; (exit 3)").stdout)
    assert (told["exit_code"], told["status"], told["completion"], told["newlines"]) == (3, "exited", "marks", "mapped")
    assert told["output_b64"] == "Y2Fm6Q=="
    assert told["end_offset"] - told["start_offset"] == 4
    assert world.log(shell)[told["start_offset"] : told["end_offset"]] == b"caf\xe9"


def test_history_numbers_what_was_run_and_tail_shows_one_of_them(world: World, shell: str) -> None:
    world.run("exec", "w", "echo first")
    world.run("exec", "w", "--no-record", "echo 'secret'")
    world.run("exec", "w", "cd /; (exit 4)")
    commands = world.json("history", "w")
    assert [(one["number"], one["text"], one["exit_code"]) for one in commands] == [
        (1, "echo first", 0),
        (3, "cd /; (exit 4)", 4),
    ]
    assert commands[0]["cwd"] == f"{world.folder}/home"
    assert [one["number"] for one in world.json("history", "--failed", "w")] == [3]
    assert world.run("tail", "--command", "1", "w").stdout == b"first\n"
    left = subprocess.run(
        ["grep", "-rl", "secret", f"{world.state}/sessions/{shell}"], capture_output=True, check=False
    )
    assert left.stdout.decode().split() == [f"{world.state}/sessions/{shell}/out/{0:020d}.seg"]  # what it printed


def test_output_past_the_limit_is_left_out_and_said_so(world: World, shell: str) -> None:
    done = world.run("exec", "w", "--max-output", "1K", "head -c 5000 /dev/zero")
    assert (done.returncode, done.stdout) == (0, b"\0" * 1024)
    assert b"more output" in done.stderr


def test_a_command_past_its_time_is_ended_with_all_it_started(world: World, shell: str) -> None:
    done = world.run("exec", "w", "--timeout", "4s", "sleep 1000 & echo $!; sleep 1000")
    assert done.returncode == 124
    assert not os.path.exists(f"/proc/{int(done.stdout.split()[0])}")
    assert world.ok("exec", "w", "echo usable").endswith("usable")
    deaf = world.run(
        "exec", "w", "--timeout", "500ms", "--kill-after", "300ms", "sh -c 'trap \"\" INT TERM; sleep 1000'"
    )
    assert deaf.returncode == 124
    assert world.ok("exec", "w", "echo usable").endswith("usable")
    older = int(world.ok("exec", "w", "sleep 1000 >/dev/null & echo $!"))
    world.run("exec", "w", "--timeout", "500ms", "sleep 1000")
    assert os.path.exists(f"/proc/{older}")


def test_the_first_interrupt_goes_to_the_command_and_the_second_leaves_it(world: World, shell: str) -> None:
    running = world.start("exec", "w", "echo up; sleep 1000; echo not reached")
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, out) == (-signal.SIGINT, b"")
    assert world.json("history", "w")[-1]["exit_code"] == 130
    running = world.start("exec", "w", "trap '' INT; echo up; sleep 1000")
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    interrupt_twice(running)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 130
    assert world.json("history", "w")[-1]["status"] == "running"


def test_an_interrupt_that_only_the_programs_beginning_took_reaches_the_program(world: World, shell: str) -> None:
    """What a shell does when it is interrupted while it starts a program, made to happen each time."""
    become = "signal.signal(signal.SIGINT, lambda *_: os.execvp('sleep', ['sleep', '1000']))"
    running = world.start(
        "exec", "w", f"python3 -c \"import os, signal; {become}; print('up', flush=True); signal.pause()\""
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == -signal.SIGINT
    assert world.ok("exec", "w", "echo usable") == "usable"


def test_a_caller_that_is_gone_takes_its_command_along(world: World, shell: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{ORCHCTL} exec w yes | head -n 1"], env=world.env, capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"y\n"
    assert world.ok("exec", "w", "--wait-prompt", "30s", "echo free").endswith("free")
    assert world.json("history", "w")[0]["exit_code"] in (124, 130)


def test_a_detached_command_goes_on_and_can_be_waited_for(world: World, shell: str) -> None:
    assert world.ok("exec", "w", "--detach", "read x < <(sleep 1); echo done >here") == "1"
    assert world.ok("wait", "w", "--for", "command") == "command"
    assert os.path.exists(f"{world.folder}/home/here")


@pytest.mark.parametrize("what", ["half a line", "a program in front", "a nested shell", "a REPL"])
def test_a_shell_that_is_not_at_its_prompt_is_said_to_be_and_nothing_is_typed(
    world: World, shell: str, what: str
) -> None:
    world.ok("exec", "w", "true")
    typed = {"half a line": "echo half", "a program in front": "cat", "a nested shell": "bash", "a REPL": "python3 -q"}
    world.ok("send", "w", *([typed[what]] if what != "half a line" else ["--no-enter", typed[what]]))
    name = typed[what].split()[0]
    with world.client() as client:
        if what != "half a line":
            until(lambda: _front(client, shell) == name)
        before = client.info("w").output.next_offset
        with pytest.raises(OrchctlError) as refused:
            client.exec("w", "echo never")
        assert refused.value.code == "not-at-prompt"
        assert what == "half a line" or name in refused.value.message
    done = world.run("exec", "w", "echo never")
    assert done.returncode == 125
    assert b"never" not in world.log(shell)[before:]
    if what == "a program in front":
        waiting = world.start("exec", "w", "--wait-prompt", "60s", "echo now")
        world.ok("interrupt", "w")
        assert waiting.communicate(timeout=DEADLINE_S)[0].endswith(b"now\n")


def _front(client: Client, session: str) -> str:
    """The name of the terminal's foreground process, as the kernel has it."""
    pid = client.info(session).pid
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        front = int(file.read().rpartition(")")[2].split()[5])
    try:
        with open(f"/proc/{front}/comm", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def test_a_command_that_is_not_recorded_is_run_once_though_the_supervisor_is_killed(world: World, shell: str) -> None:
    home = f"{world.folder}/home"
    text = "echo once >>ran; until test -e go; do sleep 0.05; done; (exit 4)"
    running = world.start("exec", "--no-record", "w", text)
    until(lambda: os.path.exists(f"{home}/ran"))
    os.kill(world.supervisor(), signal.SIGKILL)
    world.supervisor()  # the next one
    with open(f"{home}/go", "wb"):
        assert running.wait(DEADLINE_S) == 4
    assert running.communicate()[0] == b""
    with open(f"{home}/ran", encoding="ascii") as file:
        assert file.read() == "once\n"
    assert world.json("history", "w") == []

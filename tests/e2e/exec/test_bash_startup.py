"""bash starts as its user set it up, and shows nothing of ours where the user looks."""

from __future__ import annotations

import os

from orchctl import Client, SessionHandle
from orchctl.shell.bash import HAS_LIST
from tests.world import World


def _shell(world: World, client: Client, files: dict[str, str], *command: str) -> SessionHandle:
    home = f"{world.folder}/home"
    os.makedirs(home, exist_ok=True)
    for name, text in files.items():
        with open(f"{home}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return client.spawn(command or ["bash"], cwd=home, env={"HOME": home, "HISTFILE": f"{home}/.bash_history"})


def test_the_users_own_file_runs_first_and_may_set_anything(world: World) -> None:
    rc = "FROM_RC=yes\nalias hi='echo hello'\nPS1='\\n\\w\\n> '\nPROMPT_COMMAND='seen=$?'\nset -o vi\n"
    with world.client() as client:
        shell = _shell(world, client, {".bashrc": rc})
        assert shell.exec("echo $FROM_RC; hi").output == b"yes\nhello\n"
        assert shell.exec("(exit 5)").exit_code == 5
        assert shell.exec("echo $? $seen").output == b"5 5\n"


def test_a_login_shell_reads_what_a_login_shell_reads(world: World) -> None:
    log = "echo %s >>~/order\n"
    files = {".bash_profile": log % "profile" + ". ~/.bashrc\n", ".bashrc": log % "rc", ".profile": log % "other"}
    with world.client() as client:
        shell = _shell(world, client, files, "bash", "-l")
        assert shell.exec("cat order").output == b"profile\nrc\n"
        assert shell.exec("shopt -q login_shell").exit_code == 0
        assert shell.exec("shopt -qo posix").exit_code == 1
        assert shell.exec("echo ${ENV-unset} ${POSIXLY_CORRECT-unset}").output == b"unset unset\n"


def test_the_users_history_keeps_what_was_typed_and_nothing_of_ours(world: World) -> None:
    with world.client() as client:
        shell = _shell(world, client, {".bashrc": "HISTCONTROL=\n"})
        shell.exec("echo by exec")
        shell.send(b"echo by hand\r")
        shell.wait_for_output("by hand\n")
        shell.exec("echo again", wait_prompt_s=30)
        shell.send(b"exit\r")
        shell.wait(timeout_s=60)
    with open(f"{world.folder}/home/.bash_history", encoding="ascii") as file:
        assert file.read() == "echo by hand\nexit\n"


def test_programs_see_nothing_of_ours_in_their_environment(world: World) -> None:
    with world.client() as client:
        shell = _shell(world, client, {})
        shell.exec("set -a")
        names = [line.split(b"=")[0] for line in shell.exec("env -0").output.split(b"\0")]
        shell.exec("set +a")
        plain = [line.split(b"=")[0] for line in _shell(world, client, {}).exec("env -0").output.split(b"\0")]
    assert not [name for name in plain if b"oc_" in name.lower() and not name.startswith(b"ORCHCTL_")]
    assert b"ORCHCTL_SESSION" in names


def test_a_file_that_ends_the_shell_ends_the_session_with_its_code(world: World) -> None:
    with world.client() as client:
        shell = _shell(world, client, {".bashrc": "echo no; exit 3\n"})
        assert shell.wait(timeout_s=60).exit_code == 3
        assert shell.value.state.value == "closed"


def test_a_session_is_live_from_its_first_prompt_on(world: World) -> None:
    fifo = f"{world.folder}/fifo"
    os.mkfifo(fifo)
    with world.client() as client:
        shell = _shell(world, client, {".bashrc": f"read x <{fifo}\n"})
        assert shell.info().state.value == "bootstrapping"
        with open(fifo, "w", encoding="ascii") as file:
            file.write("go\n")
        assert shell.exec("echo $x").output == b"go\n"
        assert shell.info().state.value == "live"


def test_a_file_and_a_prompt_that_throw_typeahead_away_do_not_lose_the_command(world: World) -> None:
    flush = """flush() { python3 -c 'import termios; termios.tcflush(open("/dev/tty"), termios.TCIFLUSH)'; }\n"""
    with world.client() as client:
        shell = _shell(world, client, {".bashrc": f"{flush}flush\nPROMPT_COMMAND=flush\n"})
        for number in range(5):
            assert shell.exec(f"echo {number}", wait_prompt_s=60).output == b"%d\n" % number


def test_a_bash_whose_prompt_command_is_no_list_tells_its_prompts_too(world: World) -> None:
    """What bash did before 5.1, made to happen in a newer one by taking its version for an older."""
    with world.client() as client:
        shell = _shell(world, client, {})
        shell.exec("true")
        path = f"{world.state}/sessions/{shell.id}/shell/heal"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert text.count(HAS_LIST) == 2
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(HAS_LIST, "0"))
        shell.exec("unset PROMPT_COMMAND; unset -f __oc_p; PROMPT_COMMAND='seen=$?;'")
        for _ in range(3):
            assert shell.exec("(exit 5)").exit_code == 5
            assert shell.exec("echo $? $seen ${#PROMPT_COMMAND[@]}").output == b"5 5 1\n"
        cancelled = shell.exec("echo a; kill -INT $$; echo b")
        assert (cancelled.exit_code, cancelled.completion) == (130, "prompt")
        assert shell.exec("sleep 60", timeout_s=0.5).exit_code == 124
        assert shell.exec("PROMPT_COMMAND='seen=9'").exit_code == 0
        assert shell.exec("(exit 6)").exit_code == 6
        assert shell.exec("echo $seen").output == b"9\n"

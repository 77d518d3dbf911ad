"""exec in every shell: how it is started, what it refuses, and what it leaves alone."""

from __future__ import annotations

import os
import re

import pytest

from orchctl import Client, OrchctlError, SessionHandle
from tests.conformance.kinds import FISH, KINDS, ZSH, Kind
from tests.needs import marks, needs
from tests.world import World, until

OTHERS = [kind for kind in KINDS if kind.name != "bash"]
EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in OTHERS])
HOOKLESS = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in OTHERS if kind not in (ZSH, FISH)]
)


def _spawn(
    world: World, client: Client, kind: Kind, *options: str, files: dict[str, str] | None = None, **env: str
) -> SessionHandle:
    home = f"{world.folder}/home"
    for name, text in (files or {}).items():
        os.makedirs(os.path.dirname(f"{home}/{name}"), exist_ok=True)
        with open(f"{home}/{name}", "w", encoding="ascii") as file:
            file.write(text.replace("~HOME~", home))
    os.makedirs(home, exist_ok=True)
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}, **env}
    return client.spawn([*kind.command, *options], cwd=home, env=env)


@EACH
def test_the_users_own_file_runs_first_and_its_settings_are_there(world: World, kind: Kind) -> None:
    text = "set -gx FROM_RC yes\nalias hi='echo hello'\n" if kind is FISH else "FROM_RC=yes\nalias hi='echo hello'\n"
    with world.client() as client:
        shell = _spawn(world, client, kind, files={kind.file: text})
        assert shell.exec("echo $FROM_RC").output == b"yes\n"
        assert shell.exec("hi").output == b"hello\n"
        if kind.env:
            assert shell.exec("echo $ENV").output == f"{world.folder}/home/.shrc\n".encode()
        assert shell.exec("env | grep -c -i -e __oc -e zdotdir").output == b"0\n"
        assert client.info(shell.id).shell == kind.name


@EACH
def test_a_login_shell_reads_what_a_login_shell_reads(world: World, kind: Kind) -> None:
    log = "echo %s >>~HOME~/order\n"
    profile = ".zprofile" if kind is ZSH else ".profile"
    files = {kind.file: log % "rc", profile: log % "profile"}
    expected = b"rc\n" if kind is FISH else b"profile\nrc\n"
    if kind is ZSH:
        files |= {".zshenv": log % "env", ".zlogin": log % "login"}
        expected = b"env\nprofile\nrc\nlogin\n"
    with world.client() as client:
        shell = _spawn(world, client, kind, "-l", files=files)
        assert shell.exec("cat ~/order").output == expected
        if kind in (ZSH, FISH):
            text = "[[ -o login ]]" if kind is ZSH else "status is-login"
            assert shell.exec(text).exit_code == 0


@needs("zsh")
def test_zsh_keeps_its_users_own_directory_for_start_up_files(world: World) -> None:
    home = f"{world.folder}/home"
    with world.client() as client:
        outside = _spawn(world, client, ZSH, files={"z/.zshrc": "R=outside\n"}, ZDOTDIR=f"{home}/z")
        told = outside.exec("echo $R $ZDOTDIR; sh -c 'echo $ZDOTDIR'").output
        assert told == f"outside {home}/z\n{home}/z\n".encode()
        files = {".zshenv": "ZDOTDIR=$HOME/y\n", "y/.zshrc": "R=inside\n", "y/.zlogin": "L=1\n"}
        inside = _spawn(world, client, ZSH, "-l", files=files)
        assert inside.exec("echo $R $ZDOTDIR $L").output == f"inside {home}/y 1\n".encode()


def test_sh_is_what_the_file_really_is(world: World) -> None:
    os.mkdir(f"{world.folder}/bin")
    os.symlink("/bin/bash", f"{world.folder}/bin/sh")
    with world.client() as client:
        plain = client.spawn(["/bin/sh"], cwd=world.folder)
        real = os.path.basename(os.path.realpath("/bin/sh"))
        assert plain.value.shell == real
        assert plain.exec("echo $0; (exit 3)").exit_code == 3
        for options in ([], ["-l"]):
            posix = client.spawn([f"{world.folder}/bin/sh", *options], cwd=world.folder, env={"ENV": "/nowhere"})
            assert posix.value.shell == "bash"
            told = posix.exec("echo $ENV; set -o | grep posix; (exit 4)")
            assert (told.exit_code, told.output.split()) == (4, [b"/nowhere", b"posix", b"on"])
        assert client.spawn(["dash", "-c", "sleep 1000"], cwd=world.folder).value.shell is None


@EACH
def test_what_was_typed_is_in_the_users_history_or_nowhere_and_what_was_run_is_not(world: World, kind: Kind) -> None:
    names = {"zsh": ".zh", "fish": ".local/share/fish/fish_history", "ksh93": ".sh_history", "mksh": ".mh"}
    name = names.get(kind.name, ".ash_history")
    rc = {"zsh": "HISTFILE=~/.zh HISTSIZE=99 SAVEHIST=99\n", "mksh": "HISTFILE=~/.mh\n"}.get(kind.name, "")
    home = f"{world.folder}/home"
    old = "- cmd: echo before\n  when: 1700000000\n" if kind is FISH else "echo before\n"
    with world.client() as client:
        shell = _spawn(world, client, kind, files={kind.file: rc, **({} if kind.name == "ksh93" else {name: old})})
        assert shell.exec("echo hi").output == b"hi\n"
        client.send(shell.id, b"echo mine", enter=True)
        until(lambda: b"mine\r\n" in world.log(shell.id).rpartition(b"echo mine")[2])
        assert shell.exec("echo hi", wait_prompt_s=30).output == b"hi\n"
        client.send(shell.id, b"exit", enter=True)
        until(lambda: not client.info(shell.id).is_alive)
    try:
        with open(f"{home}/{name}", "rb") as file:
            kept = file.read()
    except FileNotFoundError:
        kept = b""
    assert b"x6973" not in kept
    assert b"echo before" in kept or kind.name == "ksh93"
    assert (b"echo mine" in kept) == (kind in (ZSH, FISH))


@EACH
@pytest.mark.parametrize("what", ["half a line", "a program in front", "a nested shell", "a REPL"])
def test_a_shell_that_is_not_at_its_prompt_is_said_to_be_and_nothing_is_typed(
    world: World, kind: Kind, what: str
) -> None:
    typed = {"half a line": "echo half", "a program in front": "cat", "a nested shell": "bash", "a REPL": "python3 -q"}
    name = typed[what].split()[0]
    with world.client() as client:
        shell = _spawn(world, client, kind)
        assert shell.exec("true").exit_code == 0
        shell.wait_for("prompt", timeout_s=60)  # half a line at it, and not on its way to it
        client.send(shell.id, typed[what].encode(), enter=what != "half a line")
        if what != "half a line":
            until(lambda: _front(client, shell.id) == name)
        before = len(world.log(shell.id))
        with pytest.raises(OrchctlError) as refused:
            shell.exec("echo never")
        assert refused.value.code == "not-at-prompt"
        assert what == "half a line" or name in refused.value.message
        assert b"never" not in world.log(shell.id)[before:]
        if what == "a program in front":
            client.interrupt(shell.id)
            assert shell.exec("echo now", wait_prompt_s=30).output == b"now\n"


def _front(client: Client, session: str) -> str:
    """The name of the terminal's foreground process, as the kernel has it."""
    try:
        with open(f"/proc/{client.info(session).pid}/stat", encoding="ascii") as file:
            front = int(file.read().rpartition(")")[2].split()[5])
        with open(f"/proc/{front}/comm", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


@EACH
def test_streams_apart_input_from_the_terminal_and_words_as_they_are(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind)
        apart = shell.exec("printf 'o\\n'; sh -c 'printf \"e\\r\\n\" >&2; exit 3'", pipe=True)
        assert (apart.exit_code, apart.output, apart.errors) == (3, b"o\n", b"e\r\n")
        assert shell.exec("sh -c 'test -t 0'", tty_stdin=True).exit_code == 0
        assert shell.exec(["printf", "<%s>", "it's", "a $b", "", "*", "\\"]).output == b"<it's><a $b><><*><\\>"
        large = "y" * 300_000 + "'"
        if kind.name != "mksh":  # its printf is a program, which takes no such argument
            assert shell.exec(["printf", "%s", large]).output == large.encode()


@EACH
def test_messages_have_the_lines_own_number(world: World, kind: Kind) -> None:
    third = rb"(?s)one\n.*(:3:|line 3|: 3:|\[3\]).*no_such_program.*"
    with world.client() as client:
        shell = _spawn(world, client, kind)
        for before in ("echo one\n\n", "echo one;\n# two\n"):
            done = shell.exec(before + "no_such_program")
            assert done.exit_code == 127
            assert re.fullmatch(third, done.output), done.output
        broken = shell.exec("echo one\necho two\n" + ("end" if kind is FISH else ")"))
        assert broken.exit_code not in (0, None)
        if kind.name != "ksh93":  # it has no number for what does not parse in a sourced file
            assert re.search(rb":3:|line 3|: 3:|\[3\]", broken.output), broken.output


@EACH
def test_an_interrupt_ends_the_command_and_the_shell_goes_on(world: World, kind: Kind) -> None:
    with world.client() as client:
        shell = _spawn(world, client, kind)
        for number in range(3):
            detached = shell.exec(f"echo up{number}; /bin/sleep 1000; echo not reached", detach=True)
            assert detached.status == "running"
            mark = f"up{number}\r\n".encode()
            until(lambda mark=mark: mark in world.log(shell.id) and _front_sleeps(client, shell.id))  # type: ignore[misc]
            client.interrupt(shell.id)
            until(lambda: client.history(shell.id)[-1].status != "running")
            ended = client.history(shell.id)[-1]
            assert ended.exit_code == 130
            assert world.log(shell.id)[ended.start_offset : ended.end_offset] == mark
        assert shell.exec("echo usable").output == b"usable\n"


def _front_sleeps(client: Client, session: str) -> bool:
    """Whether a `sleep` runs below the session's shell."""
    pid = client.info(session).pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        try:
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().strip() == "sleep":
                    return True
        except FileNotFoundError:
            continue
    return False


@HOOKLESS
def test_a_prompt_that_is_printed_and_marks_that_are_none_tell_nothing(world: World, kind: Kind) -> None:
    forged = "n=${PS1#*6973;}; n=${n%%;*}; printf '\\033]6973;%s;P\\007\\033]6973;%s;P;;\\007' $n $n"
    with world.client() as client:
        shell = _spawn(world, client, kind)
        for text in ('printf %s "$PS1"; (exit 5)', f"{forged}; (exit 5)", f"(exit 5); x=$?; {forged}; (exit $x)"):
            done = shell.exec(text, raw=True)
            assert (done.exit_code, done.completion) == (5, "marks")
        client.send(shell.id, forged.encode() + b"; cat", enter=True)
        until(lambda: _front(client, shell.id) == "cat")
        with pytest.raises(OrchctlError, match="cat is in front"):
            shell.exec("echo never")
        client.interrupt(shell.id)
        assert shell.exec("echo now", wait_prompt_s=30).output == b"now\n"

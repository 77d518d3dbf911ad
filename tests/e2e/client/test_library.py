"""The library, as a program uses it."""

from __future__ import annotations

import os

from tests.world import World


def test_a_session_in_hand_does_all_that_the_command_line_can(world: World) -> None:
    os.mkdir(f"{world.folder}/home")
    with world.client() as client:
        session = client.spawn(["bash"], cwd="/", env={"HOME": f"{world.folder}/home"}, name="work")
        result = session.exec("cd /usr; echo $PWD; (exit 3)", timeout_s=30)
        assert (result.exit_code, result.output, result.status) == (3, b"/usr\n", "exited")
        assert (result.completion, result.newlines, result.truncated) == ("marks", "mapped", False)
        assert result.duration_s is not None
        start, end = result.offsets
        assert world.log(session.id)[start:end] == b"/usr\r\n"
        assert session.exec(["echo", "a b"]).output == b"a b\n"
        assert [command.text for command in session.history()] == ["cd /usr; echo $PWD; (exit 3)", "echo 'a b'"]
        assert session.wait_for("prompt", "exit") == "prompt"
        session.send(b"echo typed$((1 + 1))\r")
        assert session.wait_for_output("typed2")[0] == b"typed2"
        assert client.session("work").info().is_alive
        session.send(b"exit 4\r")
        assert session.wait(timeout_s=60).exit_code == 4
        assert session.kill().already_ended == (session.id,)
        assert repr(session) == "<session work closed>"

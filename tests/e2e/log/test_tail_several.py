"""Several outputs on one stdout: whole lines, each session's bytes in order, members that join."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pexpect

from tests.world import ORCHCTL, World


def _following(world: World, *words: str) -> subprocess.Popen[bytes]:
    return world.start("tail", "-f", *words)


def test_lines_have_their_sessions_name_in_front(world: World) -> None:
    world.ok("spawn", "-m", "t", "--name", "one", "--wait", "printf", "a\nb\n")
    world.ok("spawn", "-m", "t", "--name", "three", "--wait", "printf", "c")
    assert sorted(world.ok("tail", "@t").splitlines()) == ["one   | a", "one   | b", "three | c"]
    assert world.ok("tail", "--prefix", "one") == "one | a\none | b"
    assert world.ok("tail", "-n", "1", "one", "three").splitlines() == ["one   | b", "three | c"]
    told = [json.loads(line) for line in world.ok("tail", "--json", "@t").splitlines()]
    assert {(one["type"], one["output"]) for one in told} == {("output", "a\r\nb\r\n"), ("output", "c")}
    timed = world.ok("tail", "-t", "@t").splitlines()
    assert all(line.split(" ")[0][2] == ":" or line[4] == "-" for line in timed)


def test_many_pours_come_whole_and_in_order(world: World) -> None:
    count, lines = 60, 200  # more than one connection takes
    loop = f'i=0; while [ $i -lt {lines} ]; do echo "line $i"; i=$((i+1)); done'
    with world.client() as client:
        for number in range(count):
            client.spawn(["sh", "-c", "read go; " + loop], name=f"s{number}", managed_by="pour")
        following = _following(world, "-n", "all", "@pour")
        for number in range(count):
            client.send(f"s{number}", b"", enter=True)
        out, _ = following.communicate(timeout=120)
    assert following.returncode == 0
    seen: dict[str, list[str]] = {}
    for line in out.decode().splitlines():
        name, _, text = line.partition(" | ")
        seen.setdefault(name.strip(), []).append(text)
    assert len(seen) == count
    wanted = [f"line {number}" for number in range(lines)]
    assert all(got[-lines:] == wanted for got in seen.values())


def test_new_members_join_and_a_killed_supervisor_is_survived(world: World) -> None:
    world.ok("spawn", "-m", "j", "--name", "first", "sh", "-c", "echo begun; read x; echo done $x")
    with _following(world, "-n", "all", "@j") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"first | begun\n"
        world.ok("spawn", "-m", "other", "--name", "stranger", "sh", "-c", "echo not me")
        world.ok("spawn", "-m", "j:below", "--name", "second", "sh", "-c", "echo hello; read x; echo done $x")
        assert following.stdout.readline() == b"second | hello\n"
        os.kill(world.supervisor(), signal.SIGKILL)
        world.ok("spawn", "-m", "j", "--name", "third", "--wait", "echo", "short")
        assert following.stdout.readline() == b"third  | short\n"
        for name in ("first", "second"):
            world.ok("send", name, name)
        rest = following.stdout.read().decode().splitlines()
        assert following.wait(60) == 0
        assert sorted(line.split(" | ")[1] for line in rest) == ["done first", "done second", "first", "second"]


def test_following_a_selection_waits_for_its_first_member(world: World) -> None:
    world.ok("spawn", "--name", "before", "-l", "job=7", "--wait", "echo", "over")
    following = world.start("tail", "-f", "-l", "job=7", stderr=subprocess.PIPE)
    assert following.stderr is not None
    assert b"waiting for the first" in following.stderr.readline()
    world.ok("spawn", "-l", "job=8", "echo", "no")
    world.ok("spawn", "--name", "mine", "-l", "job=7", "echo", "yes")
    out, _ = following.communicate(timeout=60)
    assert (out, following.returncode) == (b"mine | yes\n", 0)
    assert b"before | over\n" in _following(world, "-n", "5", "-l", "job=7").communicate(timeout=60)[0]


def test_the_exit_status_of_several_is_whether_all_went_well(world: World) -> None:
    for name, code in (("good", "0"), ("bad", "5")):
        world.ok("spawn", "--name", name, "sh", "-c", f"exit {code}")
    assert world.run("wait", "good", "bad").returncode == 1
    assert world.run("tail", "--exit-status", "good", "bad").returncode == 1
    assert world.run("tail", "--exit-status", "bad").returncode == 5
    world.ok("spawn", "--name", "on", "sleep", "1000")
    running = world.run("tail", "--exit-status", "on", "--json")
    assert (running.returncode, json.loads(running.stderr)["code"]) == (125, "not-ended")


def test_on_a_terminal_each_session_has_a_colour_and_a_begun_line_is_shown(world: World) -> None:
    world.ok("spawn", "--name", "ask", "sh", "-c", "printf 'name? '; read x; echo hi $x")
    world.ok("spawn", "--name", "say", "sh", "-c", "read x; echo $x")
    env = {**world.env, "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    shown = pexpect.spawn(ORCHCTL, ["tail", "-f", "ask", "say"], env=env, timeout=60, encoding="utf-8")
    shown.expect_exact("\x1b[36mask | \x1b[0mname? ")
    world.ok("send", "say", "now")
    shown.expect_exact("\r\n\x1b[33msay | \x1b[0mnow")
    world.ok("send", "ask", "you")
    shown.expect(pexpect.EOF)
    assert "hi you" in (shown.before or "")
    shown.close()
    plain = world.run("--color", "always", "tail", "ask", "say").stdout
    assert b"\x1b[36mask | \x1b[0m" in plain
    assert b"\x1b[36m" not in world.run("tail", "ask", "say").stdout

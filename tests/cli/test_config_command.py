"""`orchctl config`: every setting, where it comes from, and changes that a running supervisor takes up."""

from __future__ import annotations

import json
import os
import pwd
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.world import World, until


def _write(world: World, text: str) -> None:
    os.makedirs(world.state, mode=0o700, exist_ok=True)
    with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
        file.write(text)


def _shown(world: World) -> dict[str, dict[str, Any]]:
    found = json.loads(world.run("config", "show", "--json").stdout)
    return {row["name"]: row for row in found["settings"]}


def test_every_setting_is_shown_with_its_origin_and_nothing_is_made_for_it(world: World) -> None:
    rows = _shown(world)
    assert {name: (row["value"], row["origin"]) for name, row in rows.items()} == {
        "state_dir": (world.state, "environment"),
        "manager": ("user", "default"),
        "durability": ("relaxed", "default"),
        "idle_exit": ("10m", "default"),
        "shell": ("none", "default"),
        "retention.session": ("64M", "default"),
        "retention.total": ("4G", "default"),
        "retention.ended": ("7d", "default"),
        "retention.events": ("256M", "default"),
        "retention.events_age": ("30d", "default"),
        "detach_keys": ("ctrl-\\\\,ctrl-d", "default"),
        "harness.idle": ("10m", "default"),
        "harness.answer": ("1m", "default"),
        "limits.total": ("none", "default"),
        "limits.sessions": ("200", "default"),
        "limits.log": ("none", "default"),
        "limits.time": ("none", "default"),
        "limits.idle": ("none", "default"),
    }
    assert rows["state_dir"]["variable"] == "ORCHCTL_STATE_DIR"
    assert not os.path.exists(world.state)


def test_origins_are_the_environment_the_file_with_its_line_and_the_default(world: World) -> None:
    _write(world, '# mine\n[retention]\nsession = 1048576\n\n[limits."agent:one"]\nsessions = 5\n')
    world.env |= {"ORCHCTL_MANAGER": "orchestrator:a-1"}
    lines = [line.split() for line in world.ok("config", "show", "--origin").splitlines()]
    assert lines[0] == ["SETTING", "VALUE", "ORIGIN"]
    for line in (
        ["state_dir", f'"{world.state}"', "$ORCHCTL_STATE_DIR"],
        ["manager", '"orchestrator:a-1"', "$ORCHCTL_MANAGER"],
        ["retention.session", '"1M"', "config.toml:3"],
        ['limits."agent:one".sessions', "5", "config.toml:6"],
        ["retention.total", '"4G"', "default"],
    ):
        assert line in lines
    assert "config.toml" not in world.ok("config", "show")
    assert world.ok("config", "get", "retention.session") == "1M"
    assert world.ok("config", "get", "limits.agent:one.sessions") == "5"
    assert world.ok("config", "get", "limits.agent:two.sessions") == "none"
    assert world.ok("config", "get", "state_dir") == world.state
    assert world.json("config", "get", "retention.session")["line"] == 3
    assert world.ok("config", "path") == f"{world.state}/config.toml"
    assert world.json("config", "path") == {"path": f"{world.state}/config.toml", "exists": True}


def test_a_setting_is_set_and_unset_and_the_rest_of_the_file_stays(world: World) -> None:
    text = '# keep this\ndurability = "strict" # and this\n\n[retention]\n# of one\nsession = "1M"\n'
    _write(world, text)
    path = f"{world.state}/config.toml"
    os.chmod(path, 0o644)
    said = world.ok("config", "set", "retention.session", "2M")
    assert said == 'retention.session = "2M"  (config.toml:6); sessions that run keep what they began with'
    assert Path(path).read_text() == text.replace('"1M"', '"2M"')
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert world.json("config", "set", "idle_exit", "1h")["line"] == 3
    world.ok("config", "unset", "idle_exit")
    world.ok("config", "unset", "idle_exit")
    assert world.ok("config", "unset", "retention.session").startswith('retention.session = "64M"  (default)')
    assert Path(path).read_text() == text.replace('session = "1M"\n', "")
    assert sorted(os.listdir(world.state)) == ["config.toml", "sessions"]
    assert world.run("config", "set", "-q", "shell", "sh").stdout == b""


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("set", "retention.session", "64MB"), "bad-value", "not a size such as 64M or 4G"),
        (("set", "retention.session", "1K"), "bad-value", "not from 16K to 1048576G"),
        (("set", "retention.ended", "soon"), "bad-value", "not a duration such as 12h or 7d"),
        (("set", "durability", "maybe"), "bad-value", "neither 'relaxed' nor 'strict'"),
        (("set", "limits.sessions", "many"), "bad-value", "not a number from 0 to 1000000"),
        (("set", "limits.time", "0"), "bad-value", "cannot end before it begins"),
        (("set", "shell", "/no/such/shell"), "bad-value", "there is no shell '/no/such/shell'"),
        (("set", "retension.session", "1M"), "no-such-setting", "did you mean retention.session?"),
        (("set", "limits.a b.log", "1M"), "no-such-setting", "'a b' is no manager"),
        (("set", "state_dir", "/tmp"), "no-such-setting", "said by the environment"),
        (("get", "colour"), "no-such-setting", "'orchctl config show' lists all of them"),
        (("unset", "durabilty"), "no-such-setting", "did you mean durability?"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason_and_nothing_is_written(
    world: World, words: tuple[str, ...], code: str, reason: str
) -> None:
    done = world.run("config", *words, "--json")
    error = json.loads(done.stderr)
    assert (done.returncode, error["code"]) == (2, code)
    assert reason in error["message"]
    assert not os.path.exists(f"{world.state}/config.toml")


def test_what_is_wrong_in_the_file_is_named_with_its_line(world: World) -> None:
    assert world.ok("config", "check") == f"{world.state}/config.toml: 0 settings, nothing is wrong"
    _write(world, 'durability = "strict"\n\n[retension]\nsession = "1M"\n[limits]\nsessions = "few"\n')
    done = world.run("config", "check")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "config.toml line 4: there is no setting retension.session; did you mean retention.session?",
        "config.toml line 6: limits.sessions is 'few': not a number from 0 to 1000000, nor 'none'",
    ]
    told = json.loads(world.run("config", "check", "--json").stdout)
    assert [(one["line"], one["name"]) for one in told["problems"]] == [
        (4, "retension.session"),
        (6, "limits.sessions"),
    ]
    shown = world.run("config", "show")
    assert shown.returncode == 1
    assert shown.stderr.decode().count("orchctl: config.toml line ") == 2
    assert world.run("config", "unset", "retension.session").returncode == 0
    world.ok("config", "set", "limits.sessions", "3")
    assert world.ok("config", "unset", "retension") == ""
    assert world.ok("config", "check").endswith("2 settings, nothing is wrong")


def test_a_file_that_is_not_toml_says_where_and_is_not_touched(world: World) -> None:
    _write(world, 'durability = "strict"\nretention session = 1\n')
    done = world.run("config", "check")
    assert (done.returncode, done.stdout.decode().count("\n")) == (1, 1)
    assert done.stdout.startswith(b"config.toml line 2, column 11: it cannot be read: ")
    refused = world.run("config", "set", "idle_exit", "1m")
    assert refused.returncode == 2
    assert b"line 2, column 11" in refused.stderr
    assert b"nothing was changed" in refused.stderr


def test_a_state_directory_open_to_others_is_refused(world: World) -> None:
    os.mkdir(world.state, 0o755)
    for words in (("show",), ("set", "idle_exit", "1m"), ("check",), ("unset", "idle_exit")):
        assert world.run("config", *words).returncode == 4
    os.chmod(world.state, 0o700)


def test_a_running_supervisor_takes_up_what_changes(world: World) -> None:
    world.supervisor()
    world.ok("config", "set", "retention.session", "32K")
    session = world.ok("spawn", "--wait", "--", "seq", "1", "20000")
    assert world.json("info", session)["output"]["kept_bytes"] <= 32 << 10
    assert world.json("supervisor", "status")["problems"] == []
    _write(world, "surprise = 1\n")
    until(lambda: world.json("supervisor", "status")["problems"] != [])
    (problem,) = world.json("supervisor", "status")["problems"]
    assert problem.startswith("config.toml line 1: there is no setting surprise")
    world.ok("config", "unset", "surprise")
    world.ok("config", "set", "retention.ended", "0s")
    until(lambda: world.json("list", "-a") == [])
    deeds = [json.loads(line) for line in world.ok("audit", "--json").splitlines()]
    assert ["retention.session"] in [one.get("changed") for one in deeds if one["deed"] == "config"]


def test_a_supervisor_that_nobody_needs_ends_after_the_time_that_is_set_meanwhile(world: World) -> None:
    _write(world, 'idle_exit = "0s"\n')
    world.supervisor()
    world.ok("config", "set", "idle_exit", "100ms")
    until(lambda: not os.path.exists(f"{world.state}/supervisor.sock"))


def test_the_shell_is_the_options_then_the_settings_then_the_password_entrys(world: World) -> None:
    assert world.json("spawn")["command"] == [pwd.getpwuid(os.getuid()).pw_shell]
    world.ok("config", "set", "shell", "/bin/sh")
    assert world.json("spawn")["command"] == ["/bin/sh"]
    assert world.json("spawn", "--shell", "/bin/bash")["command"] == ["/bin/bash"]
    world.ok("config", "set", "shell", "none")
    assert world.json("spawn")["command"] == [pwd.getpwuid(os.getuid()).pw_shell]


def test_a_mistake_in_the_file_of_a_running_supervisor_costs_no_session(world: World) -> None:
    world.ok("config", "set", "retention.ended", "90d")
    kept, old = (world.ok("spawn", "--wait", "--", "true") for _ in range(2))
    files = {session: f"{world.state}/sessions/{session}/ended.json" for session in (kept, old)}
    until(lambda: all(map(os.path.exists, files.values())))
    _write(world, '[retention]\nended = "90x"\n')
    until(lambda: world.json("supervisor", "status")["problems"] != [])
    for session, days in ((kept, 30), (old, 100)):  # 30 days are too long by default, and 100 by what was set before
        os.utime(files[session], (0, time.time() - days * 86400))
    until(lambda: old not in [one["id"] for one in world.json("list", "-a")])
    assert [one["id"] for one in world.json("list", "-a")] == [kept]

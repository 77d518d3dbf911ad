"""Where the settings are: one file for cron, a login shell and the supervisor, named in the state directory."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.doctoring import Visit
from tests.forked import forks
from tests.needs import needs
from tests.world import DEADLINE_S, World, processes_of, until

INSTALLED = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
NOBODY = 65534


@dataclass
class Home:
    """The home of a user whose state directory is not named."""

    world: World
    folder: Path

    @property
    def state(self) -> Path:
        """The state directory, which is there."""
        (found,) = (self.folder / ".local/state/orchctl").iterdir()
        return found

    @property
    def usual(self) -> Path:
        """The place for the settings."""
        return self.folder / ".config/orchctl/config.toml"

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        """A login shell has more in its environment than cron."""
        return forks().run(list(words), env=self.world.env | env, cwd=self.world.folder, deadline_s=DEADLINE_S)

    def json(self, *words: str, **env: str) -> Any:
        """What a command printed; its answer may be no."""
        done = self.run(*words, "--json", **env)
        assert done.returncode in (0, 1), done
        return json.loads(done.stdout)

    def error(self, *words: str) -> tuple[int, str]:
        """How a command failed."""
        done = self.run(*words, "--json")
        return done.returncode, json.loads(done.stderr)["code"]


@pytest.fixture
def home(world: World) -> Iterator[Home]:
    """Whatever was started in it is ended."""
    folder = Path(world.folder, "home")
    folder.mkdir(0o700)
    del world.env["ORCHCTL_STATE_DIR"]
    world.env |= {"HOME": str(folder), "PATH": INSTALLED}
    made = Home(world, folder)
    yield made
    made.run("supervisor", "stop", "--kill")
    until(lambda: processes_of(str(folder)) == [])


def test_cron_and_a_login_shell_have_the_same_settings(home: Home) -> None:
    login = {"XDG_CONFIG_HOME": f"{home.folder}/settings"}
    place = f"{home.folder}/settings/orchctl/config.toml"
    assert home.json("config", "path", **login) == {"path": place, "exists": False}
    assert home.json("supervisor", "status", **login)["config"] == place
    assert os.listdir(home.folder) == []  # nothing is made for a look
    home.usual.parent.mkdir(0o700, parents=True)
    home.usual.write_text("no TOML")
    assert "line 1, column 4" in Visit(home.world).one("config", "problem")["what"]
    assert home.run("config", "set", "retention.ended", "3d", **login).returncode == 0
    assert Path(place).read_text() == '[retention]\nended = "3d"\n'
    assert (home.state / "config-path").read_text() == f"{place}\n"
    for path, mode in ((Path(place).parent, 0o700), (Path(place), 0o600), (home.state / "config-path", 0o600)):
        assert path.stat().st_mode & 0o777 == mode
    assert home.json("config", "path") == {"path": place, "exists": True}  # as cron
    assert home.json("config", "get", "retention.ended", XDG_CONFIG_HOME="/else")["value"] == "3d"
    assert home.run("supervisor", "start").returncode == 0
    assert home.json("supervisor", "status")["config"] == place
    assert f"config      {place}" in home.run("supervisor", "status").stdout.decode().splitlines()
    inside = home.run("spawn", "--follow", "orchctl", "config", "path")
    assert inside.stdout.decode().strip() == place  # though ORCHCTL_STATE_DIR is set there
    assert sorted(path.name for path in home.state.glob("config*")) == ["config-path"]


@pytest.mark.parametrize("given", [None, "", "relative", pytest.param("foreign", marks=needs("root"))])
def test_the_usual_place_is_in_the_home(home: Home, given: str | None) -> None:
    if given == "foreign":  # as sudo leaves it
        given = f"{home.world.folder}/foreign"
        os.mkdir(given)
        os.chown(given, NOBODY, NOBODY)
    env = {} if given is None else {"XDG_CONFIG_HOME": given}
    assert home.json("config", "path", **env)["path"] == str(home.usual)
    told = home.json("config", "path", **env, HOME="/nonexistent")["path"]
    assert told == f"{pwd.getpwuid(os.geteuid()).pw_dir}/.config/orchctl/config.toml"


def test_another_file_is_read_from_then_on_also_by_a_running_supervisor(home: Home, world: World) -> None:
    assert home.run("supervisor", "start").returncode == 0
    other = home.folder / "dotfiles.toml"
    other.write_text('[limits]\nsessions = "few"\n')
    done = world.run("config", "path", "--set", "dotfiles.toml", cwd=home.folder)
    assert (done.returncode, done.stdout.decode()) == (0, f"{other}\n")
    assert done.stderr.startswith(b"orchctl: config.toml line 2: limits.sessions is 'few'")
    status = home.json("supervisor", "status")
    assert (status["config"], len(status["problems"])) == (str(other), 1)
    assert home.run("config", "set", "limits.sessions", "0").returncode == 0
    assert other.read_text() == "[limits]\nsessions = 0\n"
    assert home.run("spawn", "true").returncode == 6
    other.chmod(0o666)
    visit = Visit(world)
    assert visit.one("config", "warning")["what"] == f"others can write to {other} (mode 666)"
    visit.follow(visit.one("config", "warning"))
    assert Visit(world).of("config", "warning") == []
    assert home.run("config", "path", "--set", str(home.usual)).returncode == 0
    assert home.run("spawn", "--wait", "true").returncode == 0


def test_a_named_state_directory_has_its_settings_in_it_unless_it_says_otherwise(world: World) -> None:
    world.ok("config", "set", "limits.total", "3")
    assert sorted(os.listdir(world.state)) == ["config.toml", "sessions"]
    other = f"{world.folder}/other.toml"
    assert world.json("config", "path", "--set", other) == {"path": other, "exists": False}
    assert world.ok("config", "get", "limits.total") == "none"
    world.ok("config", "path", "--set", f"{world.state}/config.toml")
    assert world.ok("config", "get", "limits.total") == "3"


def test_settings_in_the_state_directory_from_before_are_read_with_a_hint(home: Home, world: World) -> None:
    assert home.run("supervisor", "start").returncode == 0
    assert home.run("supervisor", "stop").returncode == 0
    (home.state / "config-path").unlink()  # no version before wrote one
    old = home.state / "config.toml"
    old.write_text("[limits]\ntotal = 0 # for now\n")
    old.chmod(0o600)
    for _ in range(2):
        assert home.run("spawn", "true").returncode == 6
    assert not (home.state / "config-path").exists()
    done = home.run("config", "path")
    assert done.stdout.decode() == f"{old}\n"
    assert f"{old} is read, as before; the place for it is {home.usual}; mkdir -p" in done.stderr.decode()
    assert home.json("config", "path")["hint"].startswith(str(old))
    visit = Visit(world)
    visit.follow(visit.one("config", "note"))
    assert home.json("config", "path") == {"path": str(home.usual), "exists": True}
    assert home.usual.read_text() == "[limits]\ntotal = 0 # for now\n"
    assert home.run("spawn", "true").returncode == 6  # the supervisor has followed
    assert Visit(world).of("config", "note") == []
    old.write_text("")
    assert "is not read" in Visit(world).one("config", "note")["what"]


@pytest.mark.parametrize("written", ["", "config.toml\n", "a directory"], ids=repr)
def test_a_config_path_that_names_no_file_is_an_error_and_the_defaults_hold(home: Home, written: str) -> None:
    assert home.run("config", "set", "limits.total", "0").returncode == 0
    name = home.state / "config-path"
    assert home.run("supervisor", "start").returncode == 0
    if written == "a directory":
        name.unlink()
        name.mkdir(0o700)
    else:
        name.write_text(written)
    for words in (("show",), ("path",), ("set", "limits.total", "1"), ("check",), ("unset", "limits.total")):
        assert home.error("config", *words) == (4, "bad-config-path")
    status = home.json("supervisor", "status")
    assert status["config"] is None
    assert status["problems"][0].startswith(
        f"config-path: cannot read {name}" if name.is_dir() else f"config-path: {name} is "
    )
    assert home.run("spawn", "true").returncode == 6  # what was before
    assert home.run("supervisor", "stop").returncode == 0
    assert home.run("spawn", "--wait", "true").returncode == 0
    visit = Visit(home.world)
    finding = visit.one("config", "problem")
    assert "'orchctl config path --set PATH' writes it anew" in finding["what"]
    if name.is_dir():
        name.rmdir()
    visit.follow(finding)
    assert home.json("config", "get", "limits.total")["value"] == "0"
    assert home.run("spawn", "true").returncode == 6


def test_a_file_that_cannot_be_read_or_written_is_named(home: Home) -> None:
    assert home.run("config", "path", "--set", str(home.folder / "x")).returncode == 0
    (home.folder / "x").mkdir()
    shown = home.run("config", "show")
    assert (shown.returncode, shown.stderr) == (1, b"orchctl: config.toml: it cannot be read: Is a directory\n")
    assert home.error("config", "set", "limits.total", "1") == (4, "bad-config-path")
    for bad in ("x", "x/\n", "y" * 5000):
        status, code = home.error("config", "path", "--set", str(home.folder / bad))
        assert (status in (2, 4), code) == (True, "bad-config-path")
    assert home.run("spawn", "--wait", "true").returncode == 0

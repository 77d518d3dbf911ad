"""`orchctl doctor` on faults that are really made: the machine, the login, and the programs beside it."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from orchctl import extras
from tests.cli.doctoring import Visit, as_user
from tests.needs import needs
from tests.readme import README
from tests.world import ORCHCTL, World, processes_of, until

NOBODY = as_user(65534)


def _shell(text: str) -> list[str]:
    """What is done before, in the same process and in a mount name space of its own."""
    return ["unshare", "-m", "sh", "-ec", f'{text}\nexec "$@"', "sh"]


def test_an_old_kernel_is_a_problem(world: World) -> None:
    assert "with pidfd, splice and subreaper" in Visit(world).one("kernel", "ok")["what"]
    visit = Visit(world, "setarch", platform.machine(), "--uname-2.6")
    assert "5.10 is the oldest" in visit.one("kernel", "problem")["what"]


@needs("namespaces")
def test_without_proc_nothing_starts_and_the_way_out_is_named(world: World) -> None:
    hidden = _shell("umount -l /proc")
    visit = Visit(world, *hidden)
    assert visit.one("kernel", "problem")["fix"] == "mount -t proc proc /proc"
    words = [*hidden, ORCHCTL, "spawn", "--json", "true"]
    done = subprocess.run(words, env=world.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (8, "")
    told = json.loads(done.stderr)
    assert (told["code"], told["message"].rpartition(": ")[2]) == ("no-proc", "mount -t proc proc /proc")
    assert world.ok("list", "-a", "-q") == ""


@pytest.mark.parametrize(
    ("limit", "level", "what", "fix"),
    [
        ("-n 100", "problem", "100 open files here; 200 sessions may need 664", "ulimit -n "),
        ("-n 300", "warning", "300 open files here; 200 sessions may need 664", "ulimit -n "),
        ("-f 1000", "problem", "files of no more than ", "ulimit -f unlimited; orchctl supervisor restart"),
        ("-v 400000", "warning", "391M of memory here", "ulimit -v unlimited"),
        ("-c unlimited", "note", "core files of any size", "ulimit -c 0"),
    ],
)
def test_a_narrow_limit_is_named_with_its_value(world: World, limit: str, level: str, what: str, fix: str) -> None:
    finding = Visit(world, "bash", "-c", f'ulimit {limit}; exec "$@"', "bash").one("ulimit", level)
    assert what in finding["what"]
    assert finding["fix"].startswith(fix)


def test_the_limits_of_a_running_supervisor_count_and_not_ones_own(world: World) -> None:
    subprocess.run(["bash", "-c", 'ulimit -n 200; exec "$@"', "bash", *_start(world)], env=world.env, check=True)
    pid = world.json("supervisor", "status")["pid"]
    assert Visit(world).one("ulimit", "warning")["what"].startswith(f"200 open files of the supervisor, pid {pid}")


def _start(world: World) -> list[str]:
    from tests.world import ORCHCTL

    return [ORCHCTL, "supervisor", "start", "-q"]


@needs("root")
def test_a_user_with_hardly_a_process_left_is_told(world: World) -> None:
    alone = 54322  # what other tests run as somebody else counts for that user
    os.chown(world.folder, alone, alone)
    visit = Visit(world, *as_user(alone), "prlimit", "--nproc=40", HOME=world.folder)
    assert "more processes here" in visit.one("ulimit", "problem")["what"]
    os.chown(world.folder, 0, 0)


@needs("namespaces")
def test_terminals_that_run_out_or_cannot_be_made_are_told(world: World) -> None:
    assert " are in use" in Visit(world).one("terminals", "ok")["what"]
    folder = Path(world.folder)
    for name, text in (("most", "4096"), ("all", "4090"), ("many", "3500")):
        (folder / name).write_text(f"{text}\n")
    bind = f"mount --bind {folder}/{{}} /proc/sys/kernel/pty/{{}}"
    all_used = Visit(world, *_shell(bind.format("most", "max") + "\n" + bind.format("all", "nr")))
    assert all_used.one("terminals", "problem") == {
        "check": "terminals",
        "level": "problem",
        "what": "4090 of 4096 are in use",
        "fix": "sudo sysctl kernel.pty.max=8192",
    }
    many = Visit(world, *_shell(bind.format("most", "max") + "\n" + bind.format("many", "nr")))
    assert many.one("terminals", "warning")["what"] == "3500 of 4096 are in use"
    none = Visit(world, *_shell("mount -t tmpfs tmpfs /dev/pts"))
    assert none.one("terminals", "problem")["what"].startswith("no terminal can be made: ")


@pytest.mark.parametrize(
    ("env", "level", "what"),
    [
        ({"LANG": "C.UTF-8"}, "ok", "LANG=C.UTF-8"),
        ({"LANG": "C.UTF-8", "LC_ALL": "C"}, "warning", "LC_ALL=C is ANSI_X3.4-1968, not UTF-8"),
        ({"LANG": "C"}, "warning", "LANG=C is ANSI_X3.4-1968, not UTF-8"),
        ({"LANG": "xx_YY.UTF-8"}, "warning", "LANG=xx_YY.UTF-8 is not installed here"),
        ({}, "note", "none is set; sessions get LANG=C.UTF-8"),
    ],
)
def test_the_locale_is_as_it_was_given(world: World, env: dict[str, str], level: str, what: str) -> None:
    for name in [name for name in world.env if name.startswith("LC_") or name == "LANG"]:
        del world.env[name]
    assert Visit(world, **env).one("locale", level)["what"] == what


@pytest.mark.parametrize(
    ("files", "group", "linger", "level", "what"),
    [
        (
            {"logind.conf": "yes"},
            "/user.slice/user-0.slice/session-3.scope",
            False,
            "warning",
            "KillUserProcesses is on",
        ),
        (
            {"logind.conf": "no"},
            "/user.slice/user-0.slice/session-3.scope",
            False,
            "ok",
            "KillUserProcesses is off, linger",
        ),
        ({"logind.conf": "no", "logind.conf.d/x.conf": "true"}, "/a/session-3.scope", False, "warning", "KillUserProc"),
        (
            {"logind.conf": "yes", "logind.conf.d/x.conf": "no"},
            "/a/session-3.scope",
            False,
            "ok",
            "KillUserProcesses is off",
        ),
        ({"logind.conf": "yes"}, "/user.slice/user@5.service/app.slice/x.scope", True, "ok", "is on, linger is on"),
        ({"logind.conf": "no"}, "/user.slice/user@5.service/app.slice/x.scope", False, "warning", "the last logout"),
        ({"logind.conf": "yes"}, "/system.slice/cron.service", False, "ok", "KillUserProcesses is on"),
    ],
    ids=["kills", "kills-not", "drop-in-on", "drop-in-off", "lingers", "ends-with-login", "cron"],
)
@needs("namespaces")
def test_a_logout_that_would_end_sessions_is_told(
    world: World, files: dict[str, str], group: str, linger: bool, level: str, what: str
) -> None:
    folder = Path(world.folder)
    for name, value in files.items():
        (folder / "etc" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "etc" / name).write_text(f"[Login]\n#KillUserProcesses=maybe\nKillUserProcesses={value}\n")
    (folder / "group").write_text(f"0::{group}\n")
    (folder / "linger").mkdir()
    if linger:
        (folder / "linger" / "nobody").touch()
    os.chmod(folder, 0o711)
    text = f"""
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system
mount --bind {folder}/etc /etc/systemd
mkdir -p /var/lib/systemd/linger 2>/dev/null || true
mount -t tmpfs tmpfs /var/lib/systemd && mkdir /var/lib/systemd/linger
mount --bind {folder}/linger /var/lib/systemd/linger
mount --bind {folder}/group /proc/$$/cgroup
"""
    visit = Visit(world, *_shell(text), *NOBODY, HOME="/nonexistent", ORCHCTL_STATE_DIR="/var/tmp/orchctl-none")
    finding = visit.one("logout", level)
    assert what in finding["what"]
    assert (finding["fix"] or "").startswith("loginctl enable-linger nobody") == (level == "warning")
    os.chmod(folder, 0o700)


@needs("namespaces")
def test_without_systemd_no_logout_matters(world: World) -> None:
    visit = Visit(world, *_shell("mount -t tmpfs tmpfs /run"))
    assert visit.one("logout", "ok")["what"] == "no systemd runs here, so no logout ends anything"
    assert visit.of("user-bus") == []


@needs("namespaces")
def test_the_users_own_systemd_is_looked_for_where_it_is(world: World) -> None:
    booted = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0"
    assert Visit(world, *_shell(booted)).one("user-bus", "note")["what"] == "no systemd of your own runs"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{world.folder}/bus")
        listener.listen(8)
        there = Visit(world, *_shell(booted), XDG_RUNTIME_DIR=world.folder)
        assert there.one("user-bus", "ok")["what"] == f"{world.folder}/bus answers"
        usual = f"{booted} && mount --bind {world.folder} /run/user/0"
        cron = Visit(world, *_shell(usual)).one("user-bus", "note")
        assert cron["what"] == "/run/user/0/bus answers, but XDG_RUNTIME_DIR is not set, as in cron"
        assert cron["fix"] == "export XDG_RUNTIME_DIR=/run/user/0"
    os.unlink(f"{world.folder}/bus")


@pytest.mark.parametrize(
    ("variable", "kind"),
    [
        ("GITHUB_ACTIONS", "GitHub Actions"),
        ("GITLAB_CI", "GitLab CI"),
        ("JENKINS_URL", "Jenkins"),
        ("BUILDKITE", "Buildkite"),
        ("CIRCLECI", "CircleCI"),
        ("TF_BUILD", "Azure Pipelines"),
        ("CI", "a CI that only says CI"),
    ],
)
def test_the_kind_of_ci_is_known_by_its_variable(world: World, variable: str, kind: str) -> None:
    from orchctl.client.doctor.logout import KINDS

    world.env = {name: value for name, value in world.env.items() if name not in KINDS}
    assert Visit(world).one("ci", "ok")["what"] == "this is no CI"
    visit = Visit(world, **{"CI": "true", variable: "true"})
    assert visit.one("ci", "note")["what"].startswith(f"{kind} ({variable} is set)")


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_agents_are_found_and_one_that_hangs_keeps_nobody_waiting(world: World) -> None:
    folder = Path(world.folder, "bin")
    _program(folder / "opencode", "echo opencode v1.2.3-beta")
    _program(folder / "codex", f"sleep 1000 & echo {folder}; wait")
    _program(folder / "claude", "echo 9.9; exit 3")
    visit = Visit(world, PATH=f"{folder}:{world.env['PATH']}")
    assert visit.one("harness", "ok")["what"] == f"{folder}/opencode, version 1.2.3-beta"
    assert [one["what"] for one in visit.of("harness", "warning")] == [
        f"{folder}/claude does not say its version",
        f"{folder}/codex does not say its version",
    ]
    until(lambda: processes_of(world.folder) == [])
    none = Visit(world, PATH="/usr/bin:/bin").of("harness", "note")
    assert ("codex is not installed", "npm install -g @openai/codex") in [(one["what"], one["fix"]) for one in none]


def test_shells_are_found_and_the_default_must_be_one_that_can_be_run(world: World) -> None:
    visit = Visit(world)
    assert visit.of("shells", "problem") == []
    assert any(one["what"].startswith("exec can be used in bash") for one in visit.of("shells", "ok"))
    os.makedirs(f"{world.state}/sessions", 0o700)
    os.chmod(world.state, 0o700)
    config = Path(world.state, "config.toml")
    for shell, level in (("/no/such/shell", "problem"), ("/bin/cat", "warning")):
        config.write_text(f'shell = "{shell}"\n')
        config.chmod(0o600)
        visit = Visit(world)
        finding = visit.one("shells", level)
        assert shell in finding["what"]
        visit.follow(finding)
        assert Visit(world).of("shells", level) == []
    empty = Path(world.folder, "empty")
    empty.mkdir()
    (empty / "tcsh").symlink_to(shutil.which("true") or "/bin/true")
    config.unlink()
    assert "no shell that exec" in Visit(world, PATH=str(empty)).one("shells", "problem")["what"]


def test_optional_parts_are_known_by_their_modules(world: World) -> None:
    assert [(one["level"], one["what"]) for one in Visit(world).of("extras")] == [("ok", "screen: pyghostty")]
    folder = Path(world.folder, "without")
    folder.mkdir()
    (folder / "sitecustomize.py").write_text('import sys\nsys.modules["pyghostty"] = None\n')
    finding = Visit(world, PYTHONPATH=str(folder)).one("extras", "note")
    assert finding["what"] == "screen: not installed: pyghostty"
    assert shlex.split(finding["fix"]) == [sys.executable, "-m", "pip", "install", "pyghostty>=0.1.3,<0.2"]


def test_an_extra_is_declared_as_it_is_recommended() -> None:
    project = tomllib.loads(README.with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {name: needed for name, needed in project["optional-dependencies"].items() if name not in ("dev", "all")}
    assert declared == {name: [needed] for name, needed in extras.REQUIREMENTS.items()}
    assert project["optional-dependencies"]["all"] == [f"orchctl[{','.join(extras.MODULES)}]"]

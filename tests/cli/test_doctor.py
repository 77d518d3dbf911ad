"""`orchctl doctor` on faults that are really made: the state directory, its disk and its supervisor."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from orchctl.pair.degraded import frame
from orchctl.protocol import codec, messages
from orchctl.session.model import SupervisorStatus
from tests.cli.doctoring import Visit, as_user
from tests.needs import needs
from tests.world import ORCHCTL, World, processes_of, until


@pytest.fixture
def state(world: World) -> Path:
    """A state directory that is as it should be."""
    path = Path(world.state)
    for one in (path, path / "sessions", path / "events"):
        one.mkdir(0o700)
    return path


def test_a_healthy_machine_has_no_problem_and_nothing_is_made_or_started(world: World) -> None:
    visit = Visit(world)
    assert visit.said["problems"] == 0
    assert "is not there yet" in visit.one("state-dir", "ok")["what"]
    assert not os.path.exists(world.state)
    for one in visit.findings:
        assert set(one) == {"check", "level", "what", "fix"}
        assert (one["fix"] is None) or one["level"] != "ok"
    assert processes_of(world.folder) == []


def test_people_get_lines_with_the_fix_below_and_pipes_get_no_colour(world: World, state: Path) -> None:
    state.chmod(0o755)
    done = world.run("doctor")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (1, b"")
    at = lines.index(f"problem  state-dir    {state} is open to others (mode 755)")
    assert lines[at + 1].strip() == f"→ chmod 700 {state}"
    assert re.fullmatch(r"problems: 1, warnings: \d+, notes: \d+", lines[-1])
    assert b"\x1b" not in done.stdout
    assert world.run("doctor", "-q").stdout == b""
    assert world.run("doctor", "--all").returncode == 2
    terminal = pexpect.spawn(ORCHCTL, ["doctor"], env=world.env | {"TERM": "xterm"}, timeout=60)
    terminal.expect_exact(b"\x1b[31mproblem")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    terminal.close()
    assert terminal.exitstatus == 1
    state.chmod(0o700)


def _link(path: Path) -> None:
    path.rename(f"{path}.real")
    path.symlink_to(f"{path}.real")


def _file(path: Path) -> None:
    path.rename(f"{path}.real")
    path.write_text("")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (lambda path: path.chmod(0o750), "is open to others (mode 750)"),
        (lambda path: path.chmod(0o500), "is closed to yourself (mode 500)"),
        (lambda path: (path / "sessions").chmod(0o777), "/sessions is open to others (mode 777)"),
        (lambda path: (path / "events").chmod(0o701), "/events is open to others (mode 701)"),
        (_file, "is not a directory"),
        (lambda path: ((path / "sessions").rmdir(), (path / "sessions").touch()), "/sessions is not a directory"),
    ],
    ids=["open", "closed", "sessions", "events", "file", "sessions-file"],
)
def test_a_fault_of_the_state_directory_is_named_and_its_fix_fixes_it(
    world: World, state: Path, fault: object, what: str
) -> None:
    assert callable(fault)
    fault(state)
    visit = Visit(world)
    finding = visit.one("state-dir", "problem")
    assert finding["what"].endswith(what)
    visit.follow(finding)
    assert Visit(world).of("state-dir", "problem") == []
    world.ok("spawn", "--wait", "--", "true")


@needs("root")
def test_a_state_directory_that_is_a_link_or_somebody_elses_is_named(world: World, state: Path) -> None:
    os.chown(state, 54321, 54321)
    finding = Visit(world).one("state-dir", "problem")
    assert finding["what"] == f"{state} belongs to uid 54321"
    assert finding["fix"].endswith(f"chown -R root {state}")
    os.chown(state, 0, 0)
    _link(state)
    finding = Visit(world).one("state-dir", "problem")
    assert finding["fix"] == f"export ORCHCTL_STATE_DIR={state}.real"
    assert Visit(world, ORCHCTL_STATE_DIR=f"{state}.real").of("state-dir", "problem") == []
    state.unlink()
    Path(f"{state}.real").rename(state)


@needs("root")
def test_files_open_to_others_or_not_ours_are_named(world: World, state: Path) -> None:
    for name, mode in (("config.toml", 0o644), ("supervisor.log", 0o600), ("other", 0o600)):
        (state / name).touch()
        (state / name).chmod(mode)
    os.chown(state / "other", 54321, 54321)
    visit = Visit(world)
    assert visit.one("state-files", "problem")["what"] == f"{state}/other belongs to uid 54321"
    warning = visit.one("state-files", "warning")
    assert warning["what"] == f"{state}/config.toml is open to others (mode 644)"
    visit.follow(warning)
    visit.follow(visit.one("state-files", "problem"))
    assert [one["level"] for one in Visit(world).of("state-files")] == ["ok"]


def test_a_directory_above_that_others_can_write_is_a_warning(world: World, state: Path) -> None:
    os.chmod(world.folder, 0o777)
    visit = Visit(world)
    assert world.folder in visit.one("state-dir", "warning")["what"]
    visit.follow(visit.one("state-dir", "warning"))
    os.chmod(world.folder, 0o1777)
    assert Visit(world).of("state-dir", "warning") == []
    os.chmod(world.folder, 0o700)


@pytest.mark.parametrize("where", ["state/x/y", "state"])
def test_a_path_that_cannot_be_made_is_a_problem(world: World, where: str) -> None:
    path = Path(world.state)
    if where == "state":
        path = Path(world.folder, "file")
    path.write_text("")
    found = Visit(world, ORCHCTL_STATE_DIR=f"{path}/below").one("state-dir", "problem")
    assert found["what"] == f"{path} is not a directory, so {path}/below cannot be made"
    relative = Visit(world, ORCHCTL_STATE_DIR="here/and/there").one("state-dir", "problem")
    assert "not an absolute path" in relative["what"]
    path.unlink()


@needs("root")
def test_a_user_without_a_home_is_told_what_to_set(world: World) -> None:
    finding = Visit(world, *as_user(54321), "env", "-i", "PATH=/usr/bin:/bin").one("state-dir", "problem")
    assert "has no home directory" in finding["what"]
    assert finding["fix"] == "export ORCHCTL_STATE_DIR=/var/tmp/orchctl-54321"


def test_it_runs_in_an_empty_environment(world: World) -> None:
    done = subprocess.run(
        ["env", "-i", f"ORCHCTL_STATE_DIR={world.state}", ORCHCTL, "doctor", "--json"], capture_output=True, check=False
    )
    assert done.stderr == b""
    assert json.loads(done.stdout)["findings"]


def test_a_long_path_is_noted_and_names_are_shown_as_text(world: World) -> None:
    long = Visit(world, ORCHCTL_STATE_DIR=f"{world.folder}/{'x' * 120}").one("socket-path", "note")
    assert re.match(r"\d{3} bytes, and the kernel takes 107; ", long["what"])
    hostile = {"ORCHCTL_STATE_DIR": f"{world.folder}/\x1b]0;owned\x07"}
    done = world.run("doctor", env=world.env | hostile)
    assert b"\x1b" not in done.stdout
    assert b"^[]0;owned^G" in done.stdout


def test_what_is_wrong_in_the_settings_is_a_problem_that_can_be_fixed(world: World, state: Path) -> None:
    (state / "config.toml").write_text('[retension]\nsession = "1M"\n')
    (state / "config.toml").chmod(0o600)
    visit = Visit(world)
    finding = visit.one("config", "problem")
    assert finding["what"].startswith("config.toml line 2: there is no setting retension.session; did you mean")
    visit.follow(finding)
    (state / "config.toml").write_text("no TOML\n")
    visit = Visit(world)
    assert "line 1, column 4" in visit.one("config", "problem")["what"]
    visit.follow(visit.one("config", "problem"))
    assert Visit(world).one("config", "ok")["what"] == "all settings are the defaults"


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@needs("namespaces")
def test_a_disk_that_is_nearly_full_is_told_with_a_setting_that_fits(world: World, state: Path) -> None:
    with _mounted(state, "size=200m"):
        visit = Visit(world)
        assert visit.one("disk-space", "warning")["what"] == "200M left, and output may grow by 4.0G more"
        assert visit.one("file-system", "note")["what"].startswith("the state directory is on tmpfs")
        visit.follow(visit.one("disk-space", "warning"))
        assert Visit(world).one("disk-space", "ok")
        (state / "filler").write_bytes(bytes(150 << 20))
        assert "programs will have to wait" in Visit(world).one("disk-space", "problem")["what"]
    with _mounted(state, "size=8g,nr_inodes=200"):
        assert re.match(r"1\d\d more files", Visit(world).one("disk-files", "problem")["what"])
    with _mounted(state, "size=8g,nr_inodes=5000"):
        assert Visit(world).one("disk-files", "warning")["fix"] == "orchctl config set retention.ended 1d"
    with _mounted(state, "size=8g,ro"):
        assert "read-only" in Visit(world).one("state-dir", "problem")["what"]


def test_a_running_supervisor_is_asked_and_one_that_is_stopped_is_named(world: World) -> None:
    pid = world.supervisor()
    world.ok("spawn", "--", "sleep", "1000")
    assert f"pid {pid}, version " in Visit(world).one("supervisor", "ok")["what"]
    os.kill(pid, signal.SIGSTOP)
    visit = Visit(world)
    finding = visit.one("supervisor", "problem")
    assert finding == {
        "check": "supervisor",
        "level": "problem",
        "what": f"process {pid} is stopped and does not answer",
        "fix": f"kill -CONT {pid}",
    }
    visit.follow(finding)
    assert Visit(world).one("supervisor", "ok")["what"].endswith("1 live sessions")


def test_a_dead_supervisors_socket_is_noted(world: World) -> None:
    pid = world.supervisor()
    pids = [pid, int(world.json("supervisor", "status")["zygote"])]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in pids:
            os.kill(one, number)
    until(lambda: processes_of(world.folder) == [])
    visit = Visit(world)
    assert visit.of("supervisor", "problem") == []
    assert processes_of(world.folder) == []
    visit.follow(visit.one("supervisor", "note"))
    assert Visit(world).one("supervisor", "ok")["what"].startswith("pid ")


HOLDER = """
import fcntl, os, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    ("lock", "check", "level"), [("supervisor.lock", "supervisor", "problem"), ("start.lock", "start-lock", "warning")]
)
def test_a_lock_that_somebody_holds_is_named_with_who_it_is(
    world: World, state: Path, lock: str, check: str, level: str
) -> None:
    (state / lock).touch(0o600)
    assert Visit(world).of(check, level) == []
    with subprocess.Popen([sys.executable, "-c", HOLDER, f"{state}/{lock}"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        visit = Visit(world)
        finding = visit.one(check, level)
        assert f"{lock} is held by process {holder.pid}" in finding["what"]
        assert finding["fix"] == f"kill {holder.pid}"
        visit.follow(finding)
        assert holder.wait(60) == -signal.SIGTERM
    assert Visit(world).of(check, level) == []


@contextmanager
def _listening(state: Path, answer: bytes | None) -> Iterator[None]:
    """Somebody at the supervisor's place who says `answer` to everybody, or never lets anybody in."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{state}/supervisor.sock")
        listener.listen(0 if answer is None else 8)
        others = [socket.socket(socket.AF_UNIX) for _ in range(2)] if answer is None else []
        for one in others:
            one.setblocking(False)
            one.connect_ex(f"{state}/supervisor.sock")
        child = 0
        if answer is not None and (child := os.fork()) == 0:
            while True:
                connection, _ = listener.accept()
                connection.recv(65536)
                connection.sendall(answer)
        try:
            yield
        finally:
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            for one in others:
                one.close()
            os.unlink(f"{state}/supervisor.sock")


def _greeting(version: str, protocol: int) -> bytes:
    pid = os.getpid()  # one that is there
    status = SupervisorStatus(running=True, pid=pid, version=version, sessions=3)
    said = codec.encode_hello(codec.Hello(protocol=protocol, version=version, pid=pid))
    return said + codec.encode(1, messages.Status(status=status))


@pytest.mark.parametrize(
    ("answer", "level", "what", "fix"),
    [
        (
            _greeting("0.0.1", codec.PROTOCOL),
            "warning",
            " is version 0.0.1, this orchctl is",
            "orchctl supervisor restart",
        ),
        (_greeting("9.0", 99), "problem", " speaks protocol 99", "orchctl supervisor stop --leave"),
        (frame("by signal 9"), "problem", "it answers: the supervisor does not start", "orchctl supervisor logs"),
        (b"\0\0\0\x02\x01[]", "problem", "it answers: ", "orchctl supervisor logs"),
        (b"SSH-2.0-hello\r\n", "problem", "it answers: ", "orchctl supervisor logs"),
        (b"\0", "problem", "does not answer in 3 s", "kill -KILL"),
        (None, "problem", "cannot connect to ", None),
    ],
    ids=["older", "protocol", "degraded", "no-hello", "no-frame", "silent", "full"],
)
def test_whoever_answers_is_told_apart_in_bounded_time(
    world: World, state: Path, answer: bytes | None, level: str, what: str, fix: str | None
) -> None:
    with _listening(state, answer):
        finding = Visit(world).one("supervisor", level)  # it has a deadline
    assert what in finding["what"]
    assert fix is None or finding["fix"].startswith(fix)


def test_what_is_no_socket_is_told_and_taken_away(world: World, state: Path) -> None:
    (state / "supervisor.sock").touch(0o600)
    visit = Visit(world)
    visit.follow(visit.one("supervisor", "problem"))
    assert Visit(world).one("supervisor", "ok")["what"] == "none runs; the first session starts one"


def test_zygotes_of_earlier_supervisors_are_noted(world: World) -> None:
    world.ok("spawn", "--", "sleep", "1000")
    old = world.json("supervisor", "status")["zygote"]
    assert Visit(world).of("zygotes") == []
    world.ok("supervisor", "restart")
    assert Visit(world).one("zygotes", "note")["what"].startswith(f"zygote {old} is an earlier supervisor's")


def test_it_holds_no_lock_that_others_need(world: World, state: Path) -> None:
    for name in ("start.lock", "supervisor.lock"):
        (state / name).touch(0o600)
    Visit(world)
    for name in ("start.lock", "supervisor.lock"):
        with (state / name).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

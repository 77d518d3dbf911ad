"""What ends things behind one's back: a logout under systemd, the end of a CI job."""

from __future__ import annotations

import glob
import os
import re
import socket
from collections.abc import Iterator

from orchctl import procfs
from orchctl.client.doctor.check import Case, Finding, command, note, ok, run, warning
from orchctl.client.doctor.state_dir import user_name

LOGOUT, BUS, CI = "logout", "user-bus", "ci"
PLACES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
PROPERTY = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "KillUserProcesses")
KINDS = {
    "GITHUB_ACTIONS": "GitHub Actions",
    "GITLAB_CI": "GitLab CI",
    "JENKINS_URL": "Jenkins",
    "BUILDKITE": "Buildkite",
    "CIRCLECI": "CircleCI",
    "TF_BUILD": "Azure Pipelines",
    "TRAVIS": "Travis CI",
    "TEAMCITY_VERSION": "TeamCity",
    "BITBUCKET_BUILD_NUMBER": "Bitbucket Pipelines",
    "CODEBUILD_BUILD_ID": "AWS CodeBuild",
    "DRONE": "Drone",
    "WOODPECKER": "Woodpecker",
    "CIRRUS_CI": "Cirrus CI",
    "APPVEYOR": "AppVeyor",
    "CI": "a CI that only says CI",
}


def check_logout(case: Case) -> Iterator[Finding]:
    """Whether a logout takes sessions along."""
    if not os.path.isdir("/run/systemd/system"):
        yield ok(LOGOUT, "no systemd runs here, so no logout ends anything")
        return
    user, kills, lingers = user_name(), _kills_at_logout(), os.path.exists(f"/var/lib/systemd/linger/{user_name()}")
    group = os.fsdecode(procfs.read(f"{case.supervisor or os.getpid()}/cgroup"))
    own_scope = "systemd-run --user --scope orchctl supervisor start"
    if re.search(r"/user@\d+\.service/", group) and not lingers:
        what = "it runs below the user's own systemd, which ends with the last logout, and so do all sessions"
        yield warning(LOGOUT, what, command("loginctl", "enable-linger", user))
    elif kills and "/session-" in group:
        fix = f"{command('loginctl', 'enable-linger', user)} && {own_scope}"
        yield warning(LOGOUT, "KillUserProcesses is on: a logout ends what was started from it, sessions too", fix)
    else:
        yield ok(LOGOUT, f"KillUserProcesses is {'on' if kills else 'off'}, linger is {'on' if lingers else 'off'}")


def check_user_bus(case: Case) -> Iterator[Finding]:
    """How to reach the user's own systemd, which can give the supervisor a scope of its own."""
    if not os.path.isdir("/run/systemd/system"):
        return
    usual = f"/run/user/{os.geteuid()}"
    folder = case.environ.get("XDG_RUNTIME_DIR", "")
    if folder and _answers(f"{folder}/bus"):
        yield ok(BUS, f"{folder}/bus answers")
    elif _answers(f"{usual}/bus"):
        what = "XDG_RUNTIME_DIR does not lead to it" if folder else "XDG_RUNTIME_DIR is not set, as in cron"
        yield note(BUS, f"{usual}/bus answers, but {what}", f"export XDG_RUNTIME_DIR={usual}")
    else:
        yield note(BUS, "no systemd of your own runs", command("loginctl", "enable-linger", user_name()))


def check_ci(case: Case) -> Iterator[Finding]:
    """Which CI this is, if it is one."""
    found = next((name for name in KINDS if case.environ.get(name)), None)
    if found is None:
        yield ok(CI, "this is no CI")
    else:
        what = f"{KINDS[found]} ({found} is set): end what you start in the job that starts it"
        yield note(CI, what, "orchctl supervisor stop --kill")


def _kills_at_logout() -> bool:
    """As logind says, else as its files do; for users that are not excepted."""
    if os.geteuid() == 0:
        return False  # KillExcludeUsers is root by default
    said = run(["busctl", "get-property", *PROPERTY])
    if said is not None and said.split() in (["b", "true"], ["b", "false"]):
        return said.split()[1] == "true"
    return _configured().lower() in ("1", "yes", "true", "on")


def _configured() -> str:
    """The main file first, then drop-ins by name; of equal names the first place wins."""
    main = next((f"{place}/logind.conf" for place in PLACES if os.path.exists(f"{place}/logind.conf")), None)
    drop_ins: dict[str, str] = {}
    for place in PLACES:
        for path in glob.glob(f"{glob.escape(place)}/logind.conf.d/*.conf"):
            drop_ins.setdefault(os.path.basename(path), path)
    value = "no"
    for path in [*([main] if main else []), *(drop_ins[name] for name in sorted(drop_ins))]:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                pairs = [line.partition("=") for line in file]
        except OSError:
            continue
        value = next((text.strip() for name, _, text in reversed(pairs) if name.strip() == "KillUserProcesses"), value)
    return value


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True

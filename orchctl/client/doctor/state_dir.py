"""The state directory: is it there, ours, and closed to others; and what is in its settings."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from orchctl.client.doctor.check import Case, Finding, command, note, ok, problem, warning
from orchctl.paths import SUN_PATH_BYTES, Root, misplaced, user_config

DIR, FILES, SOCKET, CONFIG = "state-dir", "state-files", "socket-path", "config"


def check_state_dir(_: Case, root: Root) -> Iterator[Finding]:
    """The directory itself, and those above it."""
    path = root.path
    above = nearest(path)
    if not os.path.lexists(path):
        yield from _not_there(path, above)
        return
    wrong = _folder(path) or [*_folder(root.sessions), *_folder(root.events)]
    yield from wrong or [ok(DIR, f"{path} is yours alone")]
    yield from _others_above(os.path.dirname(path))


def check_files(_: Case, root: Root) -> Iterator[Finding]:
    """What lies in it is for nobody else either."""
    if not os.path.isdir(root.path) or not os.access(root.path, os.R_OK | os.X_OK):
        return
    wrong = False
    for name in sorted(os.listdir(root.path)):
        path = f"{root.path}/{name}"
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode):
            continue
        if found.st_uid != os.geteuid():
            wrong = True
            yield problem(FILES, f"{path} belongs to uid {found.st_uid}", command("chown", user_name(), path))
        elif found.st_mode & 0o077:
            wrong = True
            what = f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):o})"
            yield warning(FILES, what, command("chmod", "go=", path))
    if not wrong:
        yield ok(FILES, "no file in it is open to others")


def check_socket_path(_: Case, root: Root) -> Iterator[Finding]:
    """The kernel takes 107 bytes; longer ones go through /proc."""
    size = len(os.fsencode(root.socket))
    if size <= SUN_PATH_BYTES:
        yield ok(SOCKET, f"{size} bytes; the kernel takes {SUN_PATH_BYTES}")
        return
    fix = f"export ORCHCTL_STATE_DIR=/var/tmp/orchctl-{os.geteuid()}"
    what = f"{size} bytes, and the kernel takes {SUN_PATH_BYTES}"
    if os.path.isdir("/proc/self/fd"):
        yield note(SOCKET, f"{what}; orchctl goes through /proc, other programs cannot", fix)
    else:
        yield problem(SOCKET, f"{what}; without /proc nobody can connect", fix)


def check_config(case: Case, root: Root) -> Iterator[Finding]:
    """What is wrong in the settings, where the defaults hold; and where their file is."""
    path = root.config_if_known
    for one in case.config_problems:
        if path is None:  # config-path names none
            place = user_config(root.home) if root.home is not None else root.own_config
            fix = command("orchctl", "config", "path", "--set", place)
        elif one.name is not None:
            fix = command("orchctl", "config", "unset", one.name)
        else:
            fix = command("mv", path, f"{path}.bad")
        yield problem(CONFIG, str(one), fix)
    if (hint := misplaced(root)) is not None:
        yield note(CONFIG, *hint)
    if path is not None and (mode := _mode(path)) & 0o022 and path != root.own_config:
        yield warning(CONFIG, f"others can write to {path} (mode {mode:o})", command("chmod", "go-w", path))
    if not case.config_problems:
        there = path is not None and os.path.exists(path)
        yield ok(CONFIG, f"{path} is right" if there else "all settings are the defaults")


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0


def nearest(path: str) -> str:
    """The path, or what there is of it."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _not_there(path: str, above: str) -> Iterator[Finding]:
    if not os.path.isdir(above):
        yield problem(
            DIR, f"{above} is not a directory, so {path} cannot be made", command("mv", above, f"{above}.old")
        )
    elif not os.access(above, os.W_OK | os.X_OK) or _read_only(above):
        fix = f"export ORCHCTL_STATE_DIR=/var/tmp/orchctl-{os.geteuid()}"
        yield problem(DIR, f"{path} cannot be made: {above} cannot be written", fix)
    else:
        yield ok(DIR, f"{path} is not there yet; the first session makes it")


def _folder(path: str) -> list[Finding]:
    """The first thing that is wrong with a directory of ours, if it is there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [
            problem(DIR, f"cannot look at {path}: {error.strerror}", command("chmod", "700", os.path.dirname(path)))
        ]
    what, fix = _fault(path, found)
    return [problem(DIR, f"{path} {what}", fix)] if what else []


def _fault(path: str, found: os.stat_result) -> tuple[str, str]:
    mode = stat.S_IMODE(found.st_mode)
    elsewhere = f"export ORCHCTL_STATE_DIR=/var/tmp/orchctl-{os.geteuid()}"
    faults = (
        (stat.S_ISLNK, "is a symbolic link", f"export ORCHCTL_STATE_DIR={command(os.path.realpath(path))}"),
        (lambda kind: not stat.S_ISDIR(kind), "is not a directory", command("mv", path, f"{path}.old")),
        (
            lambda _: found.st_uid != os.geteuid(),
            f"belongs to uid {found.st_uid}",
            command("sudo", "chown", "-R", user_name(), path),
        ),
        (lambda _: mode & 0o077, f"is open to others (mode {mode:o})", command("chmod", "700", path)),
        (lambda _: mode & 0o700 != 0o700, f"is closed to yourself (mode {mode:o})", command("chmod", "700", path)),
        (lambda _: _read_only(path), "is on a file system that is read-only", elsewhere),
    )
    return next(((what, fix) for holds, what, fix in faults if holds(found.st_mode)), ("", ""))


def _others_above(path: str) -> Iterator[Finding]:
    """Whoever can write to a directory above ours can put another in its place."""
    while True:
        found = os.stat(path)
        sticky = found.st_mode & stat.S_ISVTX
        if found.st_mode & 0o022 and not sticky:
            what = f"others can write to {path}, and put another state directory there"
            yield warning(DIR, what, command("chmod", "go-w", path))
        elif found.st_uid not in (0, os.geteuid()):
            yield warning(DIR, f"{path} belongs to uid {found.st_uid}, who can put another state directory there")
        if path == os.path.dirname(path):
            return
        path = os.path.dirname(path)


def _read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def user_name() -> str:
    """Of whoever runs this."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())

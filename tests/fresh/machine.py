"""A minimal Debian in a folder, with what README asks for and nothing else: python3, venv, git and certificates.

Everything that is mounted there lives in the namespace of the process that made it (`python -m tests.fresh` gets one
of its own), so it is gone with that process, however that ends. Packages come from where this machine gets its own:
apt's sources are copied, and the folders that `pip config` names as `file:` indexes are mounted at the same place.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

PACKAGES = ("python3", "python3-venv", "git", "ca-certificates")
USER = "newcomer"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PIP_SETTINGS = re.compile(r"^(?:global|user|site|:env:)\.([\w-]+)='(.*)'$", re.MULTILINE)


class NoMachine(Exception):
    """It cannot be made here; the text says why."""


def sources() -> tuple[str, str]:
    """Suite and address of the Debian that this machine installs from."""
    for text in _source_files():
        if found := re.search(r"^deb(?: \[[^]]*\])? (\S+) (\S+) .*\bmain\b", text, re.MULTILINE):
            return found[2], found[1]
        for stanza in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^(\w[\w-]*):\s*(.*?)\s*$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and "main" in fields.get("Components", "").split():
                return fields["Suites"].split()[0], fields["URIs"].split()[0]
    raise NoMachine("apt has no source of Debian's packages here")


def _source_files() -> Iterator[str]:
    folder = "/etc/apt/sources.list.d"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in ["/etc/apt/sources.list", *(f"{folder}/{name}" for name in names)]:
        if path.endswith((".list", ".sources")) and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                yield file.read()


def pip_settings() -> dict[str, str]:
    """What pip is told on this machine, by files and by the environment."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return dict(_PIP_SETTINGS.findall(shown))


def local_indexes(settings: dict[str, str]) -> list[str]:
    """Folders of this machine that pip looks into: the top one of each, because an index refers to its neighbours."""
    words = " ".join(settings.get(name, "") for name in ("index-url", "extra-index-url", "find-links")).split()
    paths = [urlsplit(word).path if word.startswith("file:") else word for word in words]
    folders = {path.removesuffix("/").removesuffix("/simple") for path in paths if path.startswith("/")}
    return sorted(folder for folder in folders if os.path.isdir(folder))


class Machine:
    """One such Debian."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def make(self) -> None:
        """Install it; this takes a minute or more."""
        if not os.path.exists(f"{self.folder}/etc/debian_version"):
            suite, address = sources()
            words = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, self.folder, address]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                raise NoMachine(f"debootstrap failed: {done.stdout[-2000:]}")
        settings = pip_settings()
        with open(f"{self.folder}/etc/pip.conf", "w", encoding="utf-8") as file:
            file.write("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        for path in (CERTIFICATES, "/etc/resolv.conf", "/etc/hosts"):
            shutil.copyfile(path, self.folder + path)
        subprocess.run(["mount", "--bind", self.folder, self.folder], check=True)  # a machine's root is a mount point
        self._mount("--types", "proc", "proc", "/proc")
        self._mount("--rbind", "/dev", "/dev")
        self._mount("--rbind", "/sys", "/sys")
        for index in local_indexes(settings):
            self._mount("--bind", "--options", "ro", index, index)
        if not os.path.exists(f"{self.folder}/home/{USER}"):
            subprocess.run(
                ["chroot", self.folder, "useradd", "--create-home", "--shell", "/bin/bash", USER], check=True
            )

    def _mount(self, *words: str) -> None:
        target = self.folder + words[-1]
        os.makedirs(target, exist_ok=True)
        subprocess.run(["mount", *words[:-1], target], check=True)

    def home(self, user: str) -> str:
        """As seen from inside."""
        return "/root" if user == "root" else f"/home/{user}"

    def put(self, tree: str, user: str) -> str:
        """A copy of a tree in the home of a user, as that user's own; gives its path inside."""
        path = f"{self.home(user)}/orchctl"
        for old in (path, f"{self.home(user)}/.local"):
            shutil.rmtree(self.folder + old, ignore_errors=True)
        listed = subprocess.run(
            ["git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        ).stdout
        for name in filter(None, os.fsdecode(listed).split("\0")):
            if os.path.lexists(f"{tree}/{name}"):
                os.makedirs(os.path.dirname(f"{self.folder}{path}/{name}"), exist_ok=True)
                shutil.copy2(f"{tree}/{name}", f"{self.folder}{path}/{name}", follow_symlinks=False)
        subprocess.run(["chroot", self.folder, "chown", "-R", f"{user}:{user}", path], check=True)
        return path

    def enter(self, user: str) -> list[str]:
        """The words before a command that run it there, with an environment as after a login."""
        env = [f"HOME={self.home(user)}", f"USER={user}", f"LOGNAME={user}", "LANG=C.UTF-8", "TERM=xterm-256color"]
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return ["chroot", f"--userspec={user}:{user}", "--groups=", self.folder, "env", "-i", path, *env]

    def run(self, user: str, folder: str, script: str) -> subprocess.CompletedProcess[str]:
        """A shell script there to its end; its output is shown as it comes and given back."""
        words = [*self.enter(user), "bash", "-c", f'cd "$0" && {script}', folder]
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as running:
            assert running.stdout is not None
            said = []
            for line in running.stdout:
                said.append(line)
                print(line, end="", flush=True)
            return subprocess.CompletedProcess(words, running.wait(), "".join(said))

"""What one command costs, against peers that do the like, in rounds that alternate; ratios of best and median.

    python bench/startup.py [--rounds 30]

The first line is the measure for those below it: bare Python of the same environment, and supervisord. tmux and
supervisord are measured if they are installed. A cold start finds nothing running; it is timed up to the first answer.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

BIN = os.path.dirname(sys.executable)
ORCHCTL = os.path.join(BIN, "orchctl")
PATH = f"{BIN}:{os.environ.get('PATH', os.defpath)}"
TMUX, DAEMON, CONTROL = (shutil.which(name, path=PATH) for name in ("tmux", "supervisord", "supervisorctl"))
OURS = [["--version"], ["list"], ["exec", "work", "true"], ["send", "work", ":"], ["spawn", "--rm", "true"]]
CONFIGURATION = """[supervisord]
logfile={0}.log
pidfile={0}.pid
childlogdir=/tmp
[unix_http_server]
file={0}.sock
[supervisorctl]
serverurl=unix://{0}.sock
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""
Timed = Callable[[], float]


def main() -> None:
    """Print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name not in ("TMUX", "PYTHONDONTWRITEBYTECODE")}
        bench = Bench(folder, kept | {"TMUX_TMPDIR": folder})
        try:
            _compare("command", bench.warm(), asked.rounds)
            _compare("cold start", bench.cold(), max(3, asked.rounds // 5))
        finally:
            bench.end()


class Bench:
    """What is timed, and what must run for it."""

    def __init__(self, folder: str, env: dict[str, str]) -> None:
        self._folder, self._env = folder, env
        self._names = map(str, itertools.count())
        self._ours, self._theirs = self._fresh_state(), self._fresh_configuration()
        self._run([ORCHCTL, "spawn", "--name", "work", "sh"], self._ours)
        self._run([ORCHCTL, "wait", "work", "--for", "prompt"], self._ours)
        if TMUX:
            self._run([TMUX, "-f", os.devnull, "new-session", "-d", "sh"])
        if DAEMON:
            self._run([DAEMON, "-c", self._theirs])

    def warm(self) -> dict[str, Timed]:
        """Commands, with everything running."""
        found: dict[str, Timed] = {"python -c pass": lambda: self._run([sys.executable, "-c", "pass"])}
        if TMUX:
            found["tmux ls"] = lambda: self._run([str(TMUX), "ls"])
        if CONTROL:
            found["supervisorctl status"] = lambda: self._run([str(CONTROL), "-c", self._theirs, "status"])
        for words in OURS:
            found[f"orchctl {' '.join(words)}"] = lambda words=words: self._run([ORCHCTL, *words], self._ours)  # type: ignore[misc]
        return found

    def cold(self) -> dict[str, Timed]:
        """Starts, with nothing running in that place."""
        return ({"supervisord, status": self._cold_theirs} if DAEMON and CONTROL else {}) | {
            "orchctl spawn": self._cold_ours
        }

    def end(self) -> None:
        """Leave nothing running."""
        self._run([ORCHCTL, "supervisor", "stop", "--kill"], self._ours)
        if TMUX:
            self._run([TMUX, "kill-server"])
        if CONTROL:
            self._run([CONTROL, "-c", self._theirs, "shutdown"])

    def _cold_ours(self) -> float:
        state = self._fresh_state()
        took = self._run([ORCHCTL, "spawn", "--rm", "true"], state)
        self._run([ORCHCTL, "supervisor", "stop", "--kill"], state)
        return took

    def _cold_theirs(self) -> float:
        path = self._fresh_configuration()
        took = self._run([str(DAEMON), "-c", path]) + self._run([str(CONTROL), "-c", path, "status"])
        self._run([str(CONTROL), "-c", path, "shutdown"])
        return took

    def _fresh_state(self) -> str:
        return f"{self._folder}/{next(self._names)}"

    def _fresh_configuration(self) -> str:
        base = f"{self._folder}/{next(self._names)}"
        with open(f"{base}.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(base))
        return f"{base}.conf"

    def _run(self, argv: list[str], state: str = "") -> float:
        begun = time.perf_counter()
        subprocess.run(argv, env=self._env | {"ORCHCTL_STATE_DIR": state}, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun


def _compare(title: str, cases: dict[str, Timed], rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, timed in cases.items():
            times[name].append(timed() * 1000)
    first = next(iter(times.values()))
    print(f"{title:<26}{'best':>10}{'median':>10}{'× best':>9}{'× median':>9}")
    for name, found in times.items():
        best, median = min(found), statistics.median(found)
        ratios = f"{best / min(first):>9.2f}{median / statistics.median(first):>9.2f}"
        print(f"{name:<26}{best:>8.1f}ms{median:>8.1f}ms{ratios}")


if __name__ == "__main__":
    main()

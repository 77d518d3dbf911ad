"""`orchctl search` against grep over the same bytes, in rounds that alternate; ratios of the best and of the median.

    python bench/search.py [--mib 1000] [--rounds 5]

The log is one session's, in segments as they are; grep reads the same files. Start-up is part of both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ORCHCTL = os.path.join(os.path.dirname(sys.executable), "orchctl")
# a log of words with a number in each line; rare is a word in one line of ten thousand
POUR = r"""
import random, sys
random.seed(1)
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(500)]
line = lambda n: " ".join(random.choices(words, k=14))[:90] + f" {n}" + " rareword 7f" * (n % 10000 == 0) + "\n"
block = "".join(map(line, range(40000))).encode()
left = int(sys.argv[1]) << 20
while left > 0:
    left -= sys.stdout.buffer.write(block[:left])
"""
CASES = [
    ("text", ["-F", "rareword"], ["-F", "rareword"]),
    ("text that is not there", ["-F", "no such thing"], ["-F", "no such thing"]),
    ("text, short", ["-F", "7f"], ["-F", "7f"]),
    ("text, any case", ["-F", "-i", "RAREWORD"], ["-F", "-i", "RAREWORD"]),
    ("regex with a literal prefix", [r"rareword [0-9a-f]+$"], ["-E", "rareword [0-9a-f]+$"]),
    ("regex with a literal inside", [r"[0-9]+ rareword"], ["-E", "[0-9]+ rareword"]),
    ("regex without a literal", [r"[0-9]{6}"], ["-E", "[0-9]{6}"]),
]


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "ORCHCTL_STATE_DIR": f"{folder}/state", "LC_ALL": "C"}
        try:
            files = _pour(env, asked.mib)
            print(f"{'case':<30}{'grep':>9}{'orchctl':>9}{'best':>8}{'median':>8}")
            for name, ours, greps in CASES:
                _compare(
                    name, [ORCHCTL, "search", "-c", *ours, "log"], ["grep", "-ahc", *greps, *files], env, asked.rounds
                )
        finally:
            subprocess.run([ORCHCTL, "supervisor", "stop", "--kill"], env=env, check=True, stdout=subprocess.DEVNULL)


def _pour(env: dict[str, str], mib: int) -> list[str]:
    """One ended session with that much output; the files of its log."""
    state = env["ORCHCTL_STATE_DIR"]
    os.makedirs(state, mode=0o700)
    with open(f"{state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "16G"\ntotal = "32G"\n')
    argv = [ORCHCTL, "spawn", "--wait", "--no-pty", "--name", "log", sys.executable, "-c", POUR, str(mib)]
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run([ORCHCTL, "info", "log", "--template", "{id}"], env=env, check=True, capture_output=True)
    out = f"{state}/sessions/{told.stdout.decode().strip()}/out"
    return sorted(f"{out}/{name}" for name in os.listdir(out) if name.endswith(".seg"))


def _compare(name: str, ours: list[str], theirs: list[str], env: dict[str, str], rounds: int) -> None:
    times: dict[str, list[float]] = {"grep": [], "orchctl": []}
    counts = set()
    for _ in range(rounds):
        for who, argv in (("grep", theirs), ("orchctl", ours)):
            begun = time.perf_counter()
            done = subprocess.run(argv, env=env, check=False, capture_output=True)
            times[who].append(time.perf_counter() - begun)
            counts.add(sum(int(line) for line in done.stdout.split()))
    best = min(times["orchctl"]) / min(times["grep"])
    median = statistics.median(times["orchctl"]) / statistics.median(times["grep"])
    note = "" if len(counts) == 1 else f"  counts differ: {counts}"
    print(f"{name:<30}{min(times['grep']):>8.2f}s{min(times['orchctl']):>8.2f}s{best:>8.2f}{median:>8.2f}{note}")


if __name__ == "__main__":
    main()

"""A supervisor whose clocks can be set, without touching the machine's: its calls go through a library of ours.

`LD_PRELOAD` puts the library before libc. It adds to each clock what a file says at that moment, so that the file is
the dial: the wall clock jumps, or the seconds since boot run ahead as they do while a machine sleeps.
"""

from __future__ import annotations

import os
import subprocess
import sys

from orchctl.paths import Root, prepare
from tests.world import World

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long dial(clockid_t clock) {
    char text[64] = {0}, *rest;
    int fd = open(DIAL, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    close(fd);
    long long real = strtoll(text, &rest, 10), boot = strtoll(rest, NULL, 10);
    return clock == CLOCK_REALTIME ? real : clock == CLOCK_BOOTTIME ? boot : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, found);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)) found->tv_sec += dial(clock);
    return result;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
"""


class Clocks:
    """The dial of one state directory's processes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dial = f"{world.folder}/dial"
        self.library = f"{world.folder}/clocks.so"
        self.set()

    def set(self, *, real_s: int = 0, boot_s: int = 0) -> None:
        """How far the wall clock and the seconds since boot are ahead of the machine's, at once."""
        with open(f"{self._dial}.new", "w", encoding="ascii") as file:
            file.write(f"{real_s} {boot_s}\n")
        os.rename(f"{self._dial}.new", self._dial)

    @property
    def env(self) -> dict[str, str]:
        """What puts a process on these clocks, once there is a library."""
        return {"LD_PRELOAD": self.library}

    def build(self) -> None:
        """The library."""
        words = ["gcc", "-shared", "-fPIC", "-O1", f'-DDIAL="{self._dial}"', "-x", "c", "-", "-o", self.library, "-ldl"]
        subprocess.run(words, input=SOURCE, text=True, check=True, timeout=60)

    def start_supervisor(self) -> None:
        """A supervisor on these clocks, and all that come after it."""
        self.build()
        prepare(Root(self._world.state))
        told, tell = os.pipe()
        with os.fdopen(told, "rb") as ready:
            words = [sys.executable, "-P", "-m", "orchctl.pair", self._world.state, "--ready", str(tell)]
            subprocess.run(words, env=self._world.env | self.env, pass_fds=[tell], check=True, timeout=60)
            os.close(tell)
            assert ready.read().endswith(b"ready\n")

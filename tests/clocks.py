"""A supervisor whose clocks can be set, without touching the machine's: its calls go through a library of ours.

The library adds to each clock what its dial says at that moment: the wall clock jumps, or the seconds since boot run
ahead as they do while a machine sleeps.
"""

from __future__ import annotations

from typing import ClassVar

from tests.preload import Preload
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


class Clocks(Preload):
    """The clocks of one state directory's processes."""

    name: ClassVar[str] = "clocks"
    source: ClassVar[str] = SOURCE

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.set()

    def set(self, *, real_s: int = 0, boot_s: int = 0) -> None:
        """How far the wall clock and the seconds since boot are ahead of the machine's, at once."""
        self.turn(f"{real_s} {boot_s}")

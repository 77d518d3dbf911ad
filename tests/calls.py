"""A supervisor whose system calls go wrong when a test says so: errors, short counts, interruptions and delays.

`strace` can make a call fail, but not do a part of it, and it slows down whom it watches. The dial is words:
`segments=EIO` (a sync of a segment fails), `open=ENOSPC` (of files that are made), `write=short` (all that takes bytes
takes a part, or is interrupted: files, terminals, pipes into files and stream sockets) and `flock=delay` (up to 200 ms
pass before a lock). Syncs that failed are in `failures`, by path.
"""

from __future__ import annotations

from typing import ClassVar

from tests.preload import Preload
from tests.world import World

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int wanted(const char *word) {
    char text[256] = " ";
    int fd = syscall(SYS_openat, AT_FDCWD, DIAL, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    long count = syscall(SYS_read, fd, text + 1, sizeof text - 3);
    syscall(SYS_close, fd);
    for (long at = 0; at <= count; at++) if (text[at] == '\n') text[at] = ' ';
    return count > 0 && strstr(text, word) != NULL;
}

static int is_segment(int fd) {
    char link[64], path[512] = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 4 && strcmp(path + length - 4, ".seg") == 0;
}

static void note(int fd) {
    char link[64], path[512] = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length++] = '\n';
    int file = syscall(SYS_openat, AT_FDCWD, DIAL ".failures", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    syscall(SYS_write, file, path, length);
    syscall(SYS_close, file);
}

static unsigned dice(void) {
    static unsigned state;
    if (!state) state = getpid() * 2654435761u + 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* A pipe takes small pieces whole or not at all, and a packet is a packet: those stay as they are. */
static size_t part(int fd, size_t length) {
    struct stat found;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (length < 2 || fstat(fd, &found) != 0 || S_ISFIFO(found.st_mode) || !wanted(" write=short ")) return length;
    if (S_ISSOCK(found.st_mode) && (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) || kind != SOCK_STREAM))
        return length;
    return 1 + dice() % length;
}

static int interrupted(void) {
    if (dice() % 8 || !wanted(" write=short ")) return 0;
    errno = EINTR;
    return 1;
}

ssize_t write(int fd, const void *data, size_t length) {
    REAL(write);
    return interrupted() ? -1 : real(fd, data, part(fd, length));
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    REAL(pwrite);
    return interrupted() ? -1 : real(fd, data, part(fd, length), offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    REAL(pwrite64);
    return interrupted() ? -1 : real(fd, data, part(fd, length), offset);
}

ssize_t send(int fd, const void *data, size_t length, int flags) {
    REAL(send);
    return interrupted() ? -1 : real(fd, data, part(fd, length), flags);
}

ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
    REAL(splice);
    if (interrupted()) return -1;
    return real(from, from_at, to, to_at, wanted(" write=short ") ? 1 + dice() % length : length, flags);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (!wanted(" segments=EIO ") || !is_segment(fd)) return real(fd);
    note(fd);
    errno = EIO;
    return -1;
}

int flock(int fd, int how) {
    REAL(flock);
    if (wanted(" flock=delay ")) {
        struct timespec pause = {0, dice() % 200 * 1000000L};
        nanosleep(&pause, NULL);
    }
    return real(fd, how);
}

static int no_room(const char *path, int flags) {
    if (!(flags & O_CREAT) || !wanted(" open=ENOSPC ")) return 0;
    errno = ENOSPC;
    return 1;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return no_room(path, flags) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return no_room(path, flags) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
"""


class Calls(Preload):
    """The calls of one state directory's processes."""

    name: ClassVar[str] = "calls"
    source: ClassVar[str] = SOURCE

    def __init__(self, world: World) -> None:
        super().__init__(world)
        with open(f"{self._dial}.failures", "w", encoding="utf-8"):
            pass

    @property
    def failures(self) -> list[str]:
        """The segments whose sync was made to fail, in order."""
        with open(f"{self._dial}.failures", encoding="utf-8") as file:
            return file.read().splitlines()

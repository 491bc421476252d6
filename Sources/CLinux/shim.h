// What Glibc's module map leaves out. Prefixed, and without logic.
#ifndef TRIBUTARY_CLINUX_SHIM_H
#define TRIBUTARY_CLINUX_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <unistd.h>

static inline int CLinux_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}

static inline int CLinux_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}

// Names the calling thread (at most 15 bytes and a zero).
static inline int CLinux_name_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

// Starts write-back of dirty pages without waiting for it (sync_file_range(2)); 0 bytes: to the end.
static inline int CLinux_start_writeback(int fd, off_t offset, off_t bytes) {
    return sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

#endif

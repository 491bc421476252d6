// What Glibc's module map leaves out. Prefixed, and without logic.
//
// _GNU_SOURCE is not defined here: it would change the layout of types that Swift has imported without it. The few
// functions that it guards are declared below instead.
#ifndef TRIBUTARY_CLINUX_SHIM_H
#define TRIBUTARY_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <unistd.h>

extern int pthread_setname_np(pthread_t thread, const char *name);
extern int sync_file_range(int fd, off_t offset, off_t bytes, unsigned int flags);
extern ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes,
                               unsigned int flags);

extern ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags);

static inline int CLinux_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}

// Names the calling thread (at most 15 bytes and a zero).
static inline int CLinux_name_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

// Starts write-back of dirty pages without waiting for it (sync_file_range(2), SYNC_FILE_RANGE_WRITE).
static inline int CLinux_start_writeback(int fd, off_t offset, off_t bytes) {
    return sync_file_range(fd, offset, bytes, 2);
}

// Copies within the kernel, from `*offset` on, which moves on; to where the other file stands (copy_file_range(2)).
static inline ssize_t CLinux_copy_file_range(int from, off_t *offset, int to, size_t bytes) {
    return copy_file_range(from, offset, to, 0, bytes, 0);
}

// Reads what is in the page cache, and never waits for a disk (preadv2(2), RWF_NOWAIT).
static inline ssize_t CLinux_read_cached(int fd, void *bytes, size_t count, off_t offset) {
    struct iovec piece = {bytes, count};
    return preadv2(fd, &piece, 1, offset, 8);
}

// Keeps freed memory instead of giving it back to the system, for programs that allocate and free large messages all day:
// mapping pages anew costs more than everything else done with them. At most `bytes` are kept at the heap's top.
static inline int CLinux_keep_freed_memory(int bytes) {
    return mallopt(M_MMAP_THRESHOLD, bytes) && mallopt(M_TRIM_THRESHOLD, bytes);
}

// Has all threads share one heap, for programs whose threads allocate little: a heap each keeps megabytes that no other uses.
static inline int CLinux_share_heap(void) {
    return mallopt(M_ARENA_MAX, 1);
}

#endif

// Shims for Linux functions that Glibc's module map leaves out. All names are prefixed.
//
// _GNU_SOURCE is not defined here: it would change the layout of types that Swift has imported without it. The few
// functions that it guards are declared below instead.
#ifndef TRIBUTARY_CLINUX_SHIM_H
#define TRIBUTARY_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <unistd.h>

extern int pthread_setname_np(pthread_t thread, const char *name);
extern int syncfs(int fd);
extern int sync_file_range(int fd, off_t offset, off_t bytes, unsigned int flags);
extern ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes,
                               unsigned int flags);

extern ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags);

static inline int CLinux_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}

// Opens a file or directory as a path handle, without access to its content (open(2), O_PATH).
static const int CLinux_O_PATH = __O_PATH;

static inline int CLinux_open_at(int directory, const char *name, int flags, mode_t mode) {
    return openat(directory, name, flags, mode);
}

// Opens a path; ELOOP if any part is a symbolic link (openat2(2), RESOLVE_NO_SYMLINKS); ENOSYS before Linux 5.6.
static inline int CLinux_open_linkless(const char *path, int flags) {
    struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

// Names the calling thread (at most 15 bytes and a zero).
static inline int CLinux_name_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

// Starts write-back of dirty pages without waiting for it (sync_file_range(2), SYNC_FILE_RANGE_WRITE).
static inline int CLinux_start_writeback(int fd, off_t offset, off_t bytes) {
    return sync_file_range(fd, offset, bytes, 2);
}

// Makes the file system of an open file or directory durable (syncfs(2)).
static inline int CLinux_synchronize_file_system(int fd) {
    return syncfs(fd);
}

// Copies bytes within the kernel (copy_file_range(2)): from `*offset`, which is advanced, to the file position of `to`.
static inline ssize_t CLinux_copy_file_range(int from, off_t *offset, int to, size_t bytes) {
    return copy_file_range(from, offset, to, 0, bytes, 0);
}

// Reads only what is in the page cache, without waiting for a disk (preadv2(2), RWF_NOWAIT); EAGAIN if nothing is cached.
static inline ssize_t CLinux_read_cached(int fd, void *bytes, size_t count, off_t offset) {
    struct iovec piece = {bytes, count};
    return preadv2(fd, &piece, 1, offset, 8);
}

// A set of descriptors to wait for (epoll(7)).
static inline int CLinux_epoll_create(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

// Adds a descriptor, for which epoll_wait(2) returns `number`. A registered descriptor gets the new number.
static inline int CLinux_epoll_add(int set, int fd, uint32_t number) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = number}};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0) return 0;
    return errno == EEXIST ? epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) : -1;
}

static inline int CLinux_epoll_remove(int set, int fd) {
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, 0);
}

// Waits for ready descriptors (epoll_wait(2)) and stores their numbers: at most `most`, and at most 256. Returns their count; −1
// with errno on failure.
static inline int CLinux_epoll_wait(int set, uint32_t *numbers, int most, int milliseconds) {
    struct epoll_event events[256];
    int count = epoll_wait(set, events, most < 256 ? most : 256, milliseconds);
    for (int i = 0; i < count; i++) numbers[i] = events[i].data.u32;
    return count;
}

// Makes the kernel timestamp the packets that a socket receives (socket(7), SO_TIMESTAMPNS).
static inline int CLinux_stamp_arrivals(int fd) {
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

// Receives one packet without waiting (recvmsg(2), MSG_DONTWAIT). `stamp`: when the kernel received it, nanoseconds of
// CLOCK_REALTIME; 0 if the kernel does not report it. `from`: the sender's address.
static inline ssize_t CLinux_receive_stamped(int fd, void *bytes, size_t count, int64_t *stamp,
                                             struct sockaddr_storage *from) {
    struct iovec piece = {bytes, count};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(struct timespec))];
    } control;
    struct msghdr message = {.msg_name = from,
                             .msg_namelen = sizeof *from,
                             .msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    *stamp = 0;
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT);
    if (received < 0) return received;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        struct timespec time;
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        memcpy(&time, CMSG_DATA(part), sizeof time);
        *stamp = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
    }
    return received;
}

// Keeps freed memory instead of giving it back to the system, for programs that allocate and free large messages all day:
// mapping pages anew costs more than everything else done with them. At most `bytes` are kept at the heap's top.
static inline int CLinux_keep_freed_memory(int bytes) {
    return mallopt(M_MMAP_THRESHOLD, bytes) && mallopt(M_TRIM_THRESHOLD, bytes);
}

// Makes all threads share one heap. For programs whose threads allocate little: with a heap per thread, each keeps megabytes
// that the others cannot use.
static inline int CLinux_share_heap(void) {
    return mallopt(M_ARENA_MAX, 1);
}

#endif

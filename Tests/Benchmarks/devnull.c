// Preloaded into the collector, it drops what is written to recordings, as the floor's and the peers' files are links to
// /dev/null: compared is then their own work, without the kernel's page cache, whose cost changes from minute to minute
// on a virtual machine. For benchmarks only. Other files (manifest, ledger) are left alone.
//
// The files stay empty, so that finishing them fails: CPU is taken before that.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAXIMUM 65536

// Descriptors of recordings that are being written.
static unsigned char dropped[MAXIMUM];

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int is_dropped(int file) { return file >= 0 && file < MAXIMUM && dropped[file]; }

static int ends_in(const char *path, const char *suffix) {
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && !strcmp(path + length - end, suffix);
}

static int noted(int file, const char *path, int flags) {
    // The name of a segment before its first fragment is durable, and afterwards.
    if (file >= 0 && file < MAXIMUM)
        dropped[file] = (flags & O_CREAT) && (ends_in(path, ".mp4.new") || ends_in(path, ".mp4"));
    return file;
}

static ssize_t size(const struct iovec *parts, int count) {
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) sum += parts[i].iov_len;
    return sum;
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return noted(next(folder, path, flags, mode), path, flags);
}

int close(int file) {
    NEXT(close);
    if (is_dropped(file)) dropped[file] = 0;
    return next(file);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    NEXT(pwrite);
    return is_dropped(file) ? (ssize_t)count : next(file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    NEXT(pwritev);
    return is_dropped(file) ? size(parts, count) : next(file, parts, count, offset);
}

int fdatasync(int file) {
    NEXT(fdatasync);
    return is_dropped(file) ? 0 : next(file);
}

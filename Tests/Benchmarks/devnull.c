// Preloaded into the collector, it sends recordings to /dev/null, as the floor's and the peers' files go there
// through links: what is compared is then their own work, without the kernel's page cache, whose cost changes from
// minute to minute on a virtual machine. For benchmarks only. Other files (manifest, ledger) are left alone.
//
// Nothing can be read back, so that finishing a file fails: CPU is taken before that.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// What a segment is called before its first fragment is durable.
static const char unnamed[] = ".mp4.new";

static int ends_in(const char *path, const char *suffix) {
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && !strcmp(path + length - end, suffix);
}

int open(const char *path, int flags, ...) {
    static int (*next)(const char *, int, ...);
    if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        if (ends_in(path, ".mp4") || ends_in(path, unnamed)) return next("/dev/null", O_RDWR | O_CLOEXEC);
    }
    return next(path, flags, mode);
}

// What is not there cannot get another name.
int rename(const char *path, const char *new) {
    static int (*next)(const char *, const char *);
    if (!next) next = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    return ends_in(path, unnamed) ? 0 : next(path, new);
}

// The null device has nothing to synchronise, and says so with EINVAL.
int fdatasync(int file) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    struct stat status;
    int result = next(file);
    if (result < 0 && errno == EINVAL && !fstat(file, &status) && S_ISCHR(status.st_mode)) return 0;
    return result;
}

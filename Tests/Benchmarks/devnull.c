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

int open(const char *path, int flags, ...) {
    static int (*next)(const char *, int, ...);
    if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        size_t length = strlen(path);
        if (length > 4 && !strcmp(path + length - 4, ".mp4")) return next("/dev/null", O_RDWR | O_CLOEXEC);
    }
    return next(path, flags, mode);
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

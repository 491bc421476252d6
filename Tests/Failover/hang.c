// A disk that accepts writes and does not answer: preloaded, fdatasync(2), fsync(2) and syncfs(2) do not return while the
// file that $HANG names exists.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_the_disk(void) {
    const char *path = getenv("HANG");
    while (path && access(path, F_OK) == 0) usleep(20000);
}

typedef int (*synchronise)(int);

#define HANGING(name)                                          \
    int name(int descriptor) {                                 \
        wait_for_the_disk();                                   \
        return ((synchronise)dlsym(RTLD_NEXT, #name))(descriptor); \
    }

HANGING(fdatasync)
HANGING(fsync)
HANGING(syncfs)

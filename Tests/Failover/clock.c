// A machine with clocks of its own: preloaded, CLOCK_REALTIME is $CLOCK_WALL seconds ahead, and all clocks run $CLOCK_PPM parts per
// million faster from the monotonic time $CLOCK_BASE (seconds) on. Restarted programs read the same clocks.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*read_clock)(clockid_t, struct timespec *);

static const long long SECOND = 1000000000;
static read_clock original;
static double wall, rate, base;

__attribute__((constructor)) static void begin(void) {
    original = (read_clock)dlsym(RTLD_NEXT, "clock_gettime");
    wall = getenv("CLOCK_WALL") ? atof(getenv("CLOCK_WALL")) : 0;
    rate = getenv("CLOCK_PPM") ? atof(getenv("CLOCK_PPM")) / 1e6 : 0;
    base = getenv("CLOCK_BASE") ? atof(getenv("CLOCK_BASE")) : 0;
}

static void shift(struct timespec *time, double seconds) {
    long long sum = time->tv_nsec + (long long)(seconds * 1e9);
    long long carry = sum / SECOND;
    if (sum % SECOND < 0) carry -= 1;
    time->tv_sec += carry;
    time->tv_nsec = sum - carry * SECOND;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!original) begin();
    int status = original(clock, time);
    if (status || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) return status;
    struct timespec now;
    original(CLOCK_MONOTONIC, &now);
    double drift = (now.tv_sec - base + now.tv_nsec / 1e9) * rate;
    shift(time, clock == CLOCK_REALTIME ? wall + drift : drift);
    return 0;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    (void)zone;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    value->tv_sec = time.tv_sec;
    value->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

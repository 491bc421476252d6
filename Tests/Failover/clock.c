// A machine with clocks of its own: preloaded, CLOCK_REALTIME is $CLOCK_WALL seconds ahead, and all clocks run $CLOCK_PPM parts per
// million faster from the monotonic time $CLOCK_BASE (seconds) on. Restarted programs read the same clocks. Deadlines of the kernel's
// waits are converted: those of a slow clock would have passed already, and a program that waits until its clock is there would spin.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/timerfd.h>
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

// Seconds that a clock is ahead of the kernel's.
static double ahead(clockid_t clock) {
    if (!original) begin();
    struct timespec now;
    original(CLOCK_MONOTONIC, &now);
    double drift = (now.tv_sec - base + now.tv_nsec / 1e9) * rate;
    return clock == CLOCK_REALTIME ? wall + drift : drift;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!original) begin();
    int status = original(clock, time);
    if (status || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) return status;
    shift(time, ahead(clock));
    return 0;
}

// A deadline of the kernel's clock. The value of the time distinguishes the clocks: no machine runs for thirty years.
static struct timespec deadline(const struct timespec *time) {
    struct timespec own = *time;
    shift(&own, -ahead(own.tv_sec > SECOND ? CLOCK_REALTIME : CLOCK_MONOTONIC));
    if (own.tv_sec < 0) own = (struct timespec){0, 1};
    return own;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec own = deadline(time);
    return next(condition, mutex, &own);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    struct timespec own = deadline(time);
    return next(condition, mutex, clock, &own);
}

int timerfd_settime(int file, int flags, const struct itimerspec *value, struct itimerspec *old) {
    static int (*next)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec own = *value;
    // Zero disarms.
    if (flags & TFD_TIMER_ABSTIME && (own.it_value.tv_sec || own.it_value.tv_nsec)) own.it_value = deadline(&own.it_value);
    return next(file, flags, &own, old);
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

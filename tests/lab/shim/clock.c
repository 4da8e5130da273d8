/* Makes the clock of a server run at another rate, or stand still, for tests/lab/doctor.rs. Preloaded (LD_PRELOAD). Only the time of
 * day is changed: a server's keys expire by it.
 *
 * LOCKSTORM_CLOCK_RATE  how fast it runs: 0 stands still, 1 is as it should be
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double rate;
static int64_t begin_ns;

static int64_t real_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
    const char *wanted = getenv("LOCKSTORM_CLOCK_RATE");
    if (!wanted) abort();
    rate = atof(wanted);
    begin_ns = real_ns();
}

static int64_t shown_ns(void) {
    return begin_ns + (int64_t)(rate * (double)(real_ns() - begin_ns));
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, time);
    int64_t now = shown_ns();
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    (void)zone;
    int64_t now = shown_ns();
    time->tv_sec = now / 1000000000;
    time->tv_usec = now % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *result) {
    time_t now = shown_ns() / 1000000000;
    if (result) *result = now;
    return now;
}

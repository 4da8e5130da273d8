/* Makes the clock that stands still during a suspension stand still, for tests/lock_suspension.rs. Preloaded (LD_PRELOAD). The
 * test stops the process for a while, and notes in a file how long that was: for the process it is as if the machine had been
 * suspended, for everybody else time goes on.
 *
 * LOCKSTORM_HIDDEN  a file of 8 bytes: the nanoseconds by which CLOCK_MONOTONIC is behind
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile int64_t *hidden;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LOCKSTORM_HIDDEN");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) abort();
    void *mapped = mmap(0, sizeof *hidden, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) abort();
    hidden = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static __typeof__(&clock_gettime) real;
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_MONOTONIC && hidden) {
        int64_t nanos = time->tv_sec * INT64_C(1000000000) + time->tv_nsec - *hidden;
        time->tv_sec = nanos / 1000000000;
        time->tv_nsec = nanos % 1000000000;
    }
    return result;
}

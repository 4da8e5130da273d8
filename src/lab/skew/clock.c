/*
 * The wall clock of a server, loaded into it with LD_PRELOAD (Linux, 64 bit). A
 * file that the variable LOCKSTORM_CLOCK names, and that is mapped, says how it is
 * shifted, slowed, hurried or stopped (struct clock; src/lab/skew/host_clock.rs writes it).
 *
 * Without the variable, or if the file is not as expected, calls are passed on.
 * It is built with -nostdlib and finds its few functions in the C library of the
 * program it is loaded into, whichever that is. This rules out helpers of the
 * compiler, such as the division of 128 bits.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef __LP64__
#error "only 64 bit systems are supported"
#endif
#define SECOND 1000000000LL
#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* shown = base_shown + (raw - base_raw) * rate / 10^9, in nanoseconds. */
struct slot { int64_t base_raw, base_shown, rate; };
/* Slot (turn & 1) holds. To change it, fill the other one, then add 1 to turn. */
struct clock { uint32_t magic, version, turn, loaded; struct slot slot[2]; };

static struct clock *ctl; /* null: pass everything on */

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("LOCKSTORM_CLOCK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) >= 64) {
        struct clock *map = mmap(0, 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED && map->magic == 0x4b43534c /* LSCK */ && map->version == 1) {
            ctl = map;
            STORE(&map->loaded, (uint32_t)getpid());
        }
    }
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    struct slot s = {0, 0, SECOND};
    uint32_t turn;

    if (!ctl || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, id, ts);
    do {
        turn = LOAD(&ctl->turn);
        s.base_raw = LOAD(&ctl->slot[turn & 1].base_raw);
        s.base_shown = LOAD(&ctl->slot[turn & 1].base_shown);
        s.rate = LOAD(&ctl->slot[turn & 1].rate);
    } while (LOAD(&ctl->turn) != turn);
    /* Coarse time is read as fine time, so that the two agree. */
    if (syscall(SYS_clock_gettime, CLOCK_REALTIME, ts) != 0)
        return -1;
    /* The product is taken in parts, none of which overflows. */
    int64_t ns = ts->tv_sec * SECOND + ts->tv_nsec - s.base_raw;
    int64_t whole = s.rate / SECOND, part = s.rate % SECOND;
    ns = s.base_shown + ns * whole + ns / SECOND * part + ns % SECOND * part / SECOND;
    ts->tv_sec = ns / SECOND - (ns % SECOND < 0);
    ts->tv_nsec = ns - ts->tv_sec * SECOND;
    return 0;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    if (zone)
        *(struct timezone *)zone = (struct timezone){0, 0};
    *tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    if (out)
        *out = ts.tv_sec;
    return ts.tv_sec;
}

/*
 * To be loaded into a server or a client with LD_PRELOAD (Linux, 64 bit). Steered by a file
 * of 8192 bytes, named in the environment variable LOCKSTORM_PRELOAD and mapped
 * (preload/control.rs writes and reads it), it does two things:
 *
 *   - it shifts, slows, hurries or stops the wall clock that the program reads
 *     (struct clock, at offset 0), and notes the first reading after a change;
 *   - it notes how much of each file was synced to disk, so that a loss of power
 *     can be played by cutting every file to that length (struct table, at 4096).
 *
 * Without the variable, or if the file is not as expected, calls are passed on.
 * It is built with -nostdlib and finds its few functions in the C library of the
 * program it is loaded into, whichever that is. This rules out helpers of the
 * compiler: no division of 128 bits and, on ARM, no out-of-line atomics.
 */
#define _GNU_SOURCE
#include <errno.h>
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
#ifdef __aarch64__
#define INLINE_ATOMICS __attribute__((noinline, target("no-outline-atomics")))
#else
#define INLINE_ATOMICS
#endif

#define SECOND 1000000000LL
#define ENTRIES 127
#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* shown = base_shown + (raw - base_raw) * rate / 10^9, in nanoseconds. */
struct slot { int64_t base_raw, base_shown, rate; };
/* Slot (turn & 1) holds. To change it, fill the other one, then add 1 to turn. */
struct clock {
    uint32_t magic, version, turn, loaded;
    struct slot slot[2];
    /* The first reading since the last change, which was the one of this turn. */
    int64_t raw, shown;
    uint32_t read;
};

/* The time of birth is there because inode numbers are used again. An entry with
 * inode 0 is not filled yet. If a file has two entries (two threads were the
 * first at the same moment), the greater size holds. */
struct entry { uint64_t dev, ino, born, synced; };
struct table { uint32_t count, broken; uint64_t unused[3]; struct entry entry[ENTRIES]; };

static struct clock *ctl; /* null: pass everything on */
static struct table *table;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("LOCKSTORM_PRELOAD");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) >= 8192) {
        struct clock *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED && map->magic == 0x4b43534c /* LSCK */ && map->version == 1) {
            table = (struct table *)((char *)map + 4096);
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
    int64_t raw = ts->tv_sec * SECOND + ts->tv_nsec, ns = raw - s.base_raw;
    int64_t whole = s.rate / SECOND, part = s.rate % SECOND;
    ns = s.base_shown + ns * whole + ns / SECOND * part + ns % SECOND * part / SECOND;
    ts->tv_sec = ns / SECOND - (ns % SECOND < 0);
    ts->tv_nsec = ns - ts->tv_sec * SECOND;
    if (LOAD(&ctl->read) != turn) {
        STORE(&ctl->raw, raw);
        STORE(&ctl->shown, ns);
        STORE(&ctl->read, turn);
    }
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

/* What the system call statx fills in (older C libraries do not have it). */
struct info {
    uint32_t mask, unused1[7];
    uint64_t ino, size, unused2[2];
    struct { int64_t sec; uint32_t ns, unused; } accessed, born, changed, modified;
    uint32_t unused3[2], dev_major, dev_minor;
    uint64_t unused4[14];
};
#define WITH_INO 0x100
#define WITH_SIZE 0x200
#define WITH_BIRTH 0x800
#define FD_ALONE 0x1000

/* Which file is it, and how long is it now? */
static int look(int fd, struct entry *e)
{
    struct info in;
    int saved = errno;
    long rc = syscall(SYS_statx, fd, "", FD_ALONE, WITH_INO | WITH_SIZE | WITH_BIRTH, &in);
    errno = saved;
    if (rc != 0)
        return 0;
    /* As st_dev has it. */
    e->dev = (in.dev_minor & 0xff) | (uint64_t)(in.dev_major & 0xfff) << 8 |
             (uint64_t)(in.dev_minor & ~0xffu) << 12 | (uint64_t)(in.dev_major & ~0xfffu) << 32;
    e->ino = in.ino;
    e->born = in.mask & WITH_BIRTH ? in.born.sec * SECOND + in.born.ns : 0;
    e->synced = in.size;
    return 1;
}

/* Raise (grow) or lower the entry of a file to the given size. There is no lock,
 * as children of the server share the table and may be killed at any point. */
INLINE_ATOMICS static void note(const struct entry *now, int grow)
{
    uint32_t i, known = 0, count = LOAD(&table->count);

    for (i = 0; i < count && i < ENTRIES; i++) {
        struct entry *e = &table->entry[i];
        if (LOAD(&e->ino) != now->ino || e->dev != now->dev || e->born != now->born)
            continue;
        known = 1;
        uint64_t old = LOAD(&e->synced);
        while ((grow ? old < now->synced : old > now->synced) &&
               !__atomic_compare_exchange_n(&e->synced, &old, now->synced, 0,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
    }
    if (known || !grow)
        return;
    i = count < ENTRIES ? __atomic_fetch_add(&table->count, 1, __ATOMIC_ACQ_REL) : ENTRIES;
    if (i >= ENTRIES) {
        STORE(&table->broken, 1); /* full */
        return;
    }
    table->entry[i].dev = now->dev;
    table->entry[i].born = now->born;
    table->entry[i].synced = now->synced;
    STORE(&table->entry[i].ino, now->ino);
}

/* What was in the file before the call is on disk after it, unless the file was
 * cut in the meantime. */
static int sync_with(long call, int fd)
{
    struct entry before, after;
    int seen = ctl && look(fd, &before);
    int rc = (int)syscall(call, fd);

    if (!ctl || rc != 0)
        return rc;
    if (!seen || !look(fd, &after)) {
        STORE(&table->broken, 2); /* something was synced, but not known what */
        return rc;
    }
    if (after.synced < before.synced)
        before.synced = after.synced;
    note(&before, 1);
    return rc;
}

int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }

/* If a file is cut and grows again, what it grew by is not synced. */
int ftruncate(int fd, off_t size)
{
    struct entry now;
    int rc = (int)syscall(SYS_ftruncate, fd, size);
    if (rc == 0 && ctl && look(fd, &now))
        note(&now, 0);
    return rc;
}

/* Its name in programs built for large files. */
#undef ftruncate64
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));

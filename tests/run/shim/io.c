/* Makes I/O of lockstorm fail or slow, for tests/faulty_io.rs. Preloaded (LD_PRELOAD); it does nothing in any other program,
 * so the servers that inherit the environment are left alone.
 *
 * LOCKSTORM_IO    rules, one a line: ROLE CALLS TARGET EFFECT AFTER FROM
 *                 ROLE    main or keeper
 *                 CALLS   letters: o open, r read, w write, s sync, t truncate, m mkdir, n rename
 *                 TARGET  a part of the file's path, or #1 or #2 for standard output and error
 *                 EFFECT  the number of an error, or 0: it works, 300 ms later
 *                 AFTER   milliseconds from the start of the process
 *                 FROM    the number of the first matching call that it hits, counted from 1 once AFTER is over
 * LOCKSTORM_IO_HIT  a directory in which the first hit of a rule makes a file with its number, counted from 0: without it the
 *                   test has shown nothing
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RULES 8

struct rule {
    int number;
    atomic_flag told;
    char calls[16];
    char target[128];
    int effect;
    long after;
    long from;
    atomic_long seen;
};

static struct rule rules[RULES];
static int count;
static long start;
static const char *hits;

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(int argc, char **argv) {
    char exe[4096];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length < 0) return;
    exe[length] = 0;
    const char *name = strrchr(exe, '/');
    const char *text = getenv("LOCKSTORM_IO");
    if (!text || !name || strcmp(name, "/lockstorm") != 0) return;
    const char *role = argc > 1 && strcmp(argv[1], "__keeper") == 0 ? "keeper" : "main";
    hits = getenv("LOCKSTORM_IO_HIT");
    start = now();
    int number = 0;
    for (const char *line = text; line && *line && count < RULES; number++) {
        struct rule *rule = &rules[count];
        rule->number = number;
        char of[16];
        if (sscanf(line, "%15s %15s %127s %d %ld %ld", of, rule->calls, rule->target, &rule->effect, &rule->after,
                   &rule->from) == 6 &&
            strcmp(of, role) == 0)
            count++;
        line = strchr(line, '\n');
        if (line) line++;
    }
}

static void tell(struct rule *rule) {
    char path[4096];
    if (!hits || atomic_flag_test_and_set(&rule->told)) return;
    snprintf(path, sizeof path, "%s/%d", hits, rule->number);
    REAL(open);
    int fd = real(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

/* A file that has no name yet counts as one that ends so, which it gets where a file system has no files without a name. */
#define NO_NAME ".part"

static int unnamed(const char *link) {
    return strstr(link, "/#") && strstr(link, " (deleted)");
}

/* Whether the call must fail: then errno is set. Waits where it is only slow. */
static int strike(char call, int fd, const char *path) {
    if (count == 0) return 0;
    char buffer[4096], link[64];
    for (int i = 0; i < count; i++) {
        struct rule *rule = &rules[i];
        if (!strchr(rule->calls, call) || now() - start < rule->after) continue;
        if (rule->target[0] == '#') {
            if (fd != atoi(rule->target + 1)) continue;
        } else {
            if (!path) {
                snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
                ssize_t length = readlink(link, buffer, sizeof buffer - 1);
                if (length < 0) continue;
                buffer[length] = 0;
                path = unnamed(buffer) ? NO_NAME : buffer;
            }
            if (!strstr(path, rule->target)) continue;
        }
        if (atomic_fetch_add(&rule->seen, 1) + 1 < rule->from) continue;
        tell(rule);
        if (rule->effect) {
            errno = rule->effect;
            return 1;
        }
        struct timespec t = {0, 300000000};
        nanosleep(&t, NULL);
    }
    return 0;
}

/* The path that a call on a directory's descriptor means. */
static const char *below(int dir, const char *path, char *buffer, size_t size) {
    char link[64];
    if (count == 0 || path[0] == '/' || dir == AT_FDCWD) return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t length = readlink(link, buffer, size - 1);
    if (length < 0) return path;
    snprintf(buffer + length, size - length, "/%s", path);
    return buffer;
}

#define FAILS(call, fd, path) \
    if (strike(call, fd, path)) return -1

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write);
    FAILS('w', fd, NULL);
    return real(fd, bytes, n);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(writev);
    FAILS('w', fd, NULL);
    return real(fd, parts, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    REAL(pwrite);
    FAILS('w', fd, NULL);
    return real(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    REAL(pwrite64);
    FAILS('w', fd, NULL);
    return real(fd, bytes, n, at);
}

ssize_t read(int fd, void *bytes, size_t n) {
    REAL(read);
    FAILS('r', fd, NULL);
    return real(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at) {
    REAL(pread);
    FAILS('r', fd, NULL);
    return real(fd, bytes, n, at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at) {
    REAL(pread64);
    FAILS('r', fd, NULL);
    return real(fd, bytes, n, at);
}

int fsync(int fd) {
    REAL(fsync);
    FAILS('s', fd, NULL);
    return real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    FAILS('s', fd, NULL);
    return real(fd);
}

int ftruncate(int fd, off_t n) {
    REAL(ftruncate);
    FAILS('t', fd, NULL);
    return real(fd, n);
}

int ftruncate64(int fd, off64_t n) {
    REAL(ftruncate64);
    FAILS('t', fd, NULL);
    return real(fd, n);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    FAILS('m', -1, path);
    return real(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode) {
    REAL(mkdirat);
    char buffer[8192];
    FAILS('m', -1, below(dir, path, buffer, sizeof buffer));
    return real(dir, path, mode);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    FAILS('n', -1, to);
    return real(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    REAL(renameat);
    char buffer[8192];
    FAILS('n', -1, below(to_dir, to, buffer, sizeof buffer));
    return real(from_dir, from, to_dir, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    REAL(renameat2);
    char buffer[8192];
    FAILS('n', -1, below(to_dir, to, buffer, sizeof buffer));
    return real(from_dir, from, to_dir, to, flags);
}

/* The mode is there only where a file may be made. */
#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    REAL(open);
    MODE
    FAILS('o', -1, (flags & O_TMPFILE) == O_TMPFILE ? NO_NAME : path);
    return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    MODE
    FAILS('o', -1, (flags & O_TMPFILE) == O_TMPFILE ? NO_NAME : path);
    return real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...) {
    REAL(openat);
    MODE
    char buffer[8192];
    FAILS('o', -1, below(dir, path, buffer, sizeof buffer));
    return real(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...) {
    REAL(openat64);
    MODE
    char buffer[8192];
    FAILS('o', -1, below(dir, path, buffer, sizeof buffer));
    return real(dir, path, flags, mode);
}

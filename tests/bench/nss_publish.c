/* SPDX-License-Identifier: ISC */
/*
 * nss_publish.c - what it costs to make a user known to NSS among many: the registry itself,
 * without daemon, HTTP and password lock.
 *
 * usage: nss_publish make DIRECTORY     make the registry of a state directory, with one user
 *        nss_publish open DIRECTORY     bring its index up to date
 *        nss_publish time ROUNDS DIRECTORY...
 * Output of time: a line a publication, "DIRECTORY USERS-MADE NANOSECONDS CPU-NANOSECONDS BYTES";
 * the bytes are those that this process handed to write(2) and its like.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "registry/registry.h"

#include "common/banned.h"

#define DIRECTORIES_MAX 8
#define WARM_UP_ROUNDS  2
#define ROUND_TEMPLATE  1000000
#define BATCH           500

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static struct registry *open_or_die(const char *dir)
{
    struct registry *reg;

    if (registry_open(dir, NULL, &reg) < 0)
        die("%s: %s", dir, registry_error(NULL));
    return reg;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* wchar of /proc/self/io (proc_pid_io(5)). */
static int64_t bytes_written(void)
{
    char line[64];
    long long bytes = -1;
    FILE *file = fopen("/proc/self/io", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "wchar: %lld", &bytes) == 1)
            break;
    }
    if (file)
        (void)fclose(file);
    return bytes;
}

static int nobody_has_it(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 0;
}

static void one_user(struct registry *reg, long round)
{
    char email[64];
    struct user_spec spec = {.email = email};
    enum user_verdict verdict;
    struct user user;

    (void)snprintf(email, sizeof(email), "new%ld@bench.example", round + WARM_UP_ROUNDS);
    if (user_create(reg, &spec, nobody_has_it, NULL, &user, &verdict) < 0)
        die("%s: %s", email, registry_error(reg));
    if (verdict != USER_CREATED)
        die("%s: verdict %d", email, (int)verdict);
}

/* A course: its people by one call, and so one publication. */
static void batch_of_users(struct registry *reg, long round)
{
    static char emails[BATCH][64];
    static struct user_spec specs[BATCH];
    static struct user users[BATCH];
    static enum user_verdict verdicts[BATCH];
    size_t bad;

    for (size_t i = 0; i < BATCH; i++) {
        (void)snprintf(emails[i], sizeof(emails[i]), "course%ldx%zu@bench.example", round, i);
        specs[i].email = emails[i];
    }
    if (user_create_batch(reg, specs, BATCH, false, nobody_has_it, NULL, users, verdicts, &bad) < 0)
        die("batch: %s", registry_error(reg));
    if (bad != BATCH)
        die("batch: row %zu: verdict %d", bad, (int)verdicts[bad]);
}

/* What is made, and for how many people at once. */
struct act {
    unsigned users;
    void (*run)(struct registry *reg, long round);
};

static void act_time(const char *dir, struct registry *reg, const struct act *act, long round)
{
    int64_t bytes = bytes_written(), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
            start_ns = clock_ns(CLOCK_MONOTONIC), took_ns;

    act->run(reg, round);
    took_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    if (round >= 0)
        (void)printf("%s %u %lld %lld %lld\n", dir, act->users, (long long)took_ns,
                     (long long)cpu_ns, (long long)(bytes_written() - bytes));
}

static int rounds_time(long rounds, char **dirs, size_t n)
{
    static const struct act one = {1, one_user}, batch = {BATCH, batch_of_users};
    struct registry *regs[DIRECTORIES_MAX];

    for (size_t i = 0; i < n; i++)
        regs[i] = open_or_die(dirs[i]);
    for (long round = -WARM_UP_ROUNDS; round < rounds; round++) {
        for (size_t i = 0; i < n; i++)
            act_time(dirs[i], regs[i], &one, round);
    }
    /* Once: beside 49,000 users there are ids for one course more. */
    for (size_t i = 0; i < n; i++)
        act_time(dirs[i], regs[i], &batch, 0);
    for (size_t i = 0; i < n; i++)
        registry_close(regs[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "open") == 0 || strcmp(argv[1], "make") == 0)) {
        struct registry *reg = open_or_die(argv[2]);

        if (strcmp(argv[1], "make") == 0)
            one_user(reg, ROUND_TEMPLATE);
        registry_close(reg);
        return 0;
    }
    if (argc > 3 && argc - 3 <= DIRECTORIES_MAX && strcmp(argv[1], "time") == 0)
        return rounds_time(strtol(argv[2], NULL, 10), argv + 3, (size_t)(argc - 3));
    die("nss_publish: wrong arguments");
}

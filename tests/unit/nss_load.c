/* SPDX-License-Identifier: ISC */
/*
 * nss_load.c - the module's functions under load, in one program with them.
 *
 * Usage: nss_load fork CHILDREN | groups ROUNDS | calls ROUNDS | race ROUNDS | leak BYTES
 *
 *   fork    four threads look up, while children are forked that look up, and the index is replaced
 *   groups  sixteen threads ask for the groups of different users, while one walks all groups
 *   calls   every call, for a tool that watches memory
 *   race, leak  what such a tool has to find, so that its silence is worth something
 *
 * Linked with the module's sources, not loaded: ThreadSanitizer has to see both. Run by
 * tst_nss_load, tst_nss_tsan and tst_nss_valgrind. Works in a directory of its own; exits 0 if
 * every answer was right.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nss_module/nss_atelier.h"
#include "tests/unit/index_build.h"

#include "common/banned.h"

#define INDEX_PATH       NSS_INDEX_DIR "/" INDEX_FILE_NAME
#define USERS            100u
#define UID_FIRST        10001u
#define ROOM             1024u
#define FORK_THREADS     4u
#define GROUPS_THREADS   16u
#define CHILDREN_AT_ONCE 8u
#define CHILD_SECONDS    30u /* a lock that nobody opens shows as SIGALRM */
#define PUBLISH_EVERY    10u

static struct index_user users[USERS];
static struct index_members members[USERS];
static uint32_t gids[USERS][3];
static const struct index_group group_all = {10000, "atelier-users"};
static atomic_bool is_over;
static atomic_int wrong;

static int index_publish(uint64_t generation)
{
    const struct index_content content = {.users = users,
                                          .user_count = USERS,
                                          .groups = &group_all,
                                          .group_count = 1,
                                          .members = members,
                                          .member_count = USERS,
                                          .generation = generation};

    return index_build(INDEX_PATH, &content);
}

/* User number i is in the groups of all, of i + 1 and of i + 2, ascending. */
static int index_first(void)
{
    for (uint32_t i = 0; i < USERS; i++) {
        users[i] = (struct index_user){UID_FIRST + i, UID_FIRST + i, INDEX_SHELL_ATELIER, ""};
        (void)snprintf(users[i].name, sizeof(users[i].name), "user%u", i);
        gids[i][0] = 10000;
        gids[i][1] = UID_FIRST + i + 1;
        gids[i][2] = UID_FIRST + i + 2;
        members[i] = (struct index_members){users[i].name, gids[i], 3};
    }
    return mkdir(NSS_INDEX_DIR, 0755) < 0 ? -errno : index_publish(1);
}

/* Into an array that is large enough: what a sanitizer's malloc(3) does after fork is not asked. */
static bool groups_are_right(uint32_t i)
{
    gid_t room[8], *list = room;
    long start = 0, size = 8;
    int error = 0;

    return _nss_atelier_initgroups_dyn(users[i].name, UID_FIRST + i, &start, &size, &list, -1,
                                       &error) == NSS_STATUS_SUCCESS &&
           list == room && start == 3 && memcmp(list, gids[i], sizeof(gids[i])) == 0;
}

/* Each call that takes a key, for one user. */
static bool answers_are_right(uint32_t i)
{
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error = 0;

    if (_nss_atelier_getpwuid_r(UID_FIRST + i, &pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
        strcmp(pw.pw_name, users[i].name) != 0)
        return false;
    if (_nss_atelier_getpwnam_r(users[i].name, &pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
        pw.pw_uid != UID_FIRST + i)
        return false;
    if (_nss_atelier_getgrgid_r(UID_FIRST + i, &gr, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
        strcmp(gr.gr_name, users[i].name) != 0)
        return false;
    if (_nss_atelier_getgrnam_r(users[i].name, &gr, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
        gr.gr_gid != UID_FIRST + i)
        return false;
    return groups_are_right(i);
}

/* --- fork ---------------------------------------------------------------------------------- */

static void *lookups_repeat(void *arg)
{
    for (uint32_t i = *(const uint32_t *)arg; !atomic_load(&is_over); i += 7) {
        if (!answers_are_right(i % USERS))
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static _Noreturn void child_look_up(uint32_t round)
{
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error;

    (void)alarm(CHILD_SECONDS);
    for (uint32_t i = 0; i < 5; i++) {
        if (!answers_are_right((round + i) % USERS))
            _exit(1);
    }
    (void)_nss_atelier_setpwent(0);
    (void)_nss_atelier_setgrent(0);
    if (_nss_atelier_getpwent_r(&pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
        pw.pw_uid != UID_FIRST)
        _exit(2);
    _exit(_nss_atelier_getgrent_r(&gr, buffer, ROOM, &error) != NSS_STATUS_SUCCESS);
}

/* The oldest of the children. */
static bool child_is_right(pid_t pid)
{
    int status = -1;

    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return true;
    (void)fprintf(stderr, "child: status 0x%x\n", (unsigned)status);
    return false;
}

static int fork_run(uint32_t children)
{
    uint32_t seeds[FORK_THREADS], bad = 0;
    pthread_t threads[FORK_THREADS];
    pid_t pids[CHILDREN_AT_ONCE];

    for (uint32_t i = 0; i < FORK_THREADS; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, lookups_repeat, &seeds[i]) != 0)
            return -EAGAIN;
    }
    for (uint32_t round = 0; round < children + CHILDREN_AT_ONCE; round++) {
        pid_t *pid = &pids[round % CHILDREN_AT_ONCE];

        if (round >= CHILDREN_AT_ONCE)
            bad += !child_is_right(*pid);
        /* After the first that is wrong, those that are left are waited for. */
        if (bad > 0 && children > round)
            children = round;
        if (round >= children)
            continue;
        *pid = fork();
        if (*pid == 0)
            child_look_up(round);
        if (round % PUBLISH_EVERY == 0 && index_publish(round) < 0)
            bad++;
    }
    atomic_store(&is_over, true);
    for (uint32_t i = 0; i < FORK_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return bad == 0 ? 0 : -EIO;
}

/* --- groups -------------------------------------------------------------------------------- */

struct share {
    uint32_t first, rounds;
};

static void *groups_repeat(void *arg)
{
    const struct share *share = arg;

    for (uint32_t i = 0; i < share->rounds; i++) {
        if (!groups_are_right((share->first + i * GROUPS_THREADS) % USERS))
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

/* One listing of all groups after the other: each group once, ascending. */
static void *groups_walk(void *arg)
{
    char buffer[ROOM];
    struct group gr;
    int error;

    (void)arg;
    while (!atomic_load(&is_over)) {
        gid_t next = 10000;

        (void)_nss_atelier_setgrent(0);
        while (_nss_atelier_getgrent_r(&gr, buffer, ROOM, &error) == NSS_STATUS_SUCCESS) {
            if (gr.gr_gid != next++)
                atomic_fetch_add(&wrong, 1);
        }
        if (next != UID_FIRST + USERS)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static int groups_run(uint32_t rounds)
{
    pthread_t threads[GROUPS_THREADS], walker;
    struct share shares[GROUPS_THREADS];

    if (pthread_create(&walker, NULL, groups_walk, NULL) != 0)
        return -EAGAIN;
    for (uint32_t i = 0; i < GROUPS_THREADS; i++) {
        shares[i] = (struct share){i, rounds};
        if (pthread_create(&threads[i], NULL, groups_repeat, &shares[i]) != 0)
            return -EAGAIN;
    }
    for (uint32_t i = 0; i < GROUPS_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    (void)pthread_join(walker, NULL);
    return 0;
}

/* --- calls --------------------------------------------------------------------------------- */

/* Answers, misses, buffers that are too small, listings, an index that is not there. */
static void calls_once(uint32_t round)
{
    long start = 0, size = 0;
    gid_t *list = NULL;
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error = 0;

    if (!answers_are_right(round % USERS))
        atomic_fetch_add(&wrong, 1);
    (void)_nss_atelier_getpwnam_r("nobody-here", &pw, buffer, ROOM, &error);
    (void)_nss_atelier_getpwuid_r(20000, &pw, buffer, ROOM, &error);
    (void)_nss_atelier_getgrnam_r("nobody-here", &gr, buffer, ROOM, &error);
    (void)_nss_atelier_getgrgid_r(20000, &gr, buffer, ROOM, &error);
    (void)_nss_atelier_getpwnam_r("Root", &pw, buffer, ROOM, &error);
    (void)_nss_atelier_getpwuid_r(0, &pw, buffer, ROOM, &error);
    (void)_nss_atelier_initgroups_dyn("nobody-here", 10001, &start, &size, &list, -1, &error);
    /* An array that has to grow. */
    if (_nss_atelier_initgroups_dyn(users[round % USERS].name, 10000, &start, &size, &list, -1,
                                    &error) != NSS_STATUS_SUCCESS ||
        start != 2 || size < 2)
        atomic_fetch_add(&wrong, 1);
    (void)_nss_atelier_getpwnam_r("user1", &pw, buffer, round % 64, &error);
    (void)_nss_atelier_getgrnam_r("user1", &gr, buffer, round % 32, &error);
    free(list);
    (void)_nss_atelier_setpwent(0);
    while (_nss_atelier_getpwent_r(&pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS)
        ;
    (void)_nss_atelier_endpwent();
    (void)_nss_atelier_setgrent(0);
    while (_nss_atelier_getgrent_r(&gr, buffer, ROOM, &error) == NSS_STATUS_SUCCESS)
        ;
    (void)_nss_atelier_endgrent();
}

static int calls_run(uint32_t rounds)
{
    char buffer[ROOM];
    struct passwd pw;
    int error = 0;

    for (uint32_t i = 0; i < rounds; i++)
        calls_once(i);
    if (truncate(INDEX_PATH, 100) < 0)
        return -errno;
    for (uint32_t i = 0; i < rounds; i++) {
        if (_nss_atelier_getpwuid_r(UID_FIRST, &pw, buffer, ROOM, &error) != NSS_STATUS_UNAVAIL)
            return -EIO;
    }
    return 0;
}

/* --- controls ------------------------------------------------------------------------------ */

static void *count_up(void *arg)
{
    static unsigned count; /* of two threads, and not atomic */

    for (uint32_t i = 0; i < *(const uint32_t *)arg; i++)
        count++;
    return NULL;
}

static int race_run(uint32_t rounds)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, count_up, &rounds) != 0)
        return -EAGAIN;
    (void)count_up(&rounds);
    (void)pthread_join(thread, NULL);
    return 0;
}

static int leak_run(uint32_t bytes)
{
    void *volatile block = malloc(bytes);

    if (!block)
        return -ENOMEM;
    block = NULL;
    return 0;
}

int main(int argc, char *argv[])
{
    static char dir[] = "/tmp/atelier-nss-load-XXXXXX";
    uint32_t n = 0;
    int r = -EINVAL;

    if (argc != 3 || str_to_u32(argv[2], 1000000, &n) < 0) {
        (void)fprintf(stderr, "usage: nss_load fork|groups|calls|race|leak NUMBER\n");
        return 2;
    }
    if (!mkdtemp(dir) || chdir(dir) < 0 || index_first() < 0) {
        perror(dir);
        return 2;
    }
    if (strcmp(argv[1], "fork") == 0)
        r = fork_run(n);
    else if (strcmp(argv[1], "groups") == 0)
        r = groups_run(n);
    else if (strcmp(argv[1], "calls") == 0)
        r = calls_run(n);
    else if (strcmp(argv[1], "race") == 0)
        r = race_run(n);
    else if (strcmp(argv[1], "leak") == 0)
        r = leak_run(n);
    (void)unlink(INDEX_PATH);
    (void)unlink(INDEX_PATH ".tmp");
    (void)rmdir(NSS_INDEX_DIR);
    (void)rmdir(dir);
    if (r < 0 || atomic_load(&wrong) > 0) {
        (void)fprintf(stderr, "%s: %s, %d wrong answers\n", argv[1], strerror(-r),
                      atomic_load(&wrong));
        return 1;
    }
    return 0;
}

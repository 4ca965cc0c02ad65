/* SPDX-License-Identifier: ISC */
/* nss_lookup.c - look-ups through glibc, timed or counted. */
#include "tests/bench/nss_lookup.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ids.h"

#include "common/banned.h"

#define GROUPS_MAX       64
#define SYSCALL_STOP     (SIGTRAP | 0x80) /* ptrace(2), PTRACE_O_TRACESYSGOOD */
#define ABSENT_NAMES     1000
#define IDS_OUTSIDE_FROM 70000u /* above everybody's, and nobody's */

void lookup_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

int64_t lookup_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const char *lookup_key(enum lookup op)
{
    static const char *const keys[] = {
#define LOOKUP_KEY(id, key) [LOOKUP_##id] = (key),
        LOOKUPS(LOOKUP_KEY)
#undef LOOKUP_KEY
    };

    return keys[op];
}

void lookup_load(const char *dir, struct lookup_scene *ret_scene)
{
    struct person *all = calloc(ID_ALLOC_MAX, sizeof(*all));
    unsigned n = 0;
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/people", dir);
    file = fopen(path, "re");
    if (!file || !all)
        lookup_die("%s: %s", path, strerror(errno));
    while (n < ID_ALLOC_MAX && fscanf(file, "%31s %u", all[n].name, &all[n].uid) == 2)
        n++;
    (void)fclose(file);
    if (n == 0)
        lookup_die("%s: nobody", path);
    ret_scene->all = all;
    ret_scene->all_count = n;
}

void lookup_scene_set(struct lookup_scene *scene, const char *dir, const char *name, unsigned count)
{
    scene->name = name;
    scene->people = count;
    (void)snprintf(scene->owners, sizeof(scene->owners), "%s/owners-%u", dir,
                   count > 0 ? count : scene->all_count);
}

const struct person *lookup_person(const struct lookup_scene *scene, uint64_t seed)
{
    return &scene->all[seed % (scene->people > 0 ? scene->people : scene->all_count)];
}

/* ---- one call */

static void passwd_check(const struct lookup_scene *scene, int r, const struct passwd *pw,
                         const struct person *person)
{
    if (r != 0)
        lookup_die("%s: look-up: %s", scene->name, strerror(r));
    if (!person && pw)
        lookup_die("%s: nobody was to be found, and %s was", scene->name, pw->pw_name);
    if (person && (!pw || pw->pw_uid != person->uid || strcmp(pw->pw_name, person->name) != 0))
        lookup_die("%s: %s was not found", scene->name, person->name);
}

static int64_t passwd_by_name(const struct lookup_scene *scene, const char *name,
                              const struct person *person)
{
    struct passwd space, *pw = NULL;
    char buf[4096];
    int64_t start_ns = lookup_now_ns(), took_ns;
    int r = getpwnam_r(name, &space, buf, sizeof(buf), &pw);

    took_ns = lookup_now_ns() - start_ns;
    passwd_check(scene, r, pw, person);
    return took_ns;
}

static int64_t passwd_by_uid(const struct lookup_scene *scene, uid_t uid,
                             const struct person *person)
{
    struct passwd space, *pw = NULL;
    char buf[4096];
    int64_t start_ns = lookup_now_ns(), took_ns;
    int r = getpwuid_r(uid, &space, buf, sizeof(buf), &pw);

    took_ns = lookup_now_ns() - start_ns;
    passwd_check(scene, r, pw, person);
    return took_ns;
}

/* Every person is in a group of their own, and in a course. */
static int64_t groups_of(const struct lookup_scene *scene, const struct person *person)
{
    gid_t groups[GROUPS_MAX];
    int n = GROUPS_MAX;
    int64_t start_ns = lookup_now_ns(), took_ns;
    int r = getgrouplist(person->name, person->uid, groups, &n);

    took_ns = lookup_now_ns() - start_ns;
    if (r < 0 || n < (scene->people > 0 ? 2 : 1))
        lookup_die("%s: %s is in %d groups", scene->name, person->name, n);
    return took_ns;
}

int64_t lookup_call(const struct lookup_scene *scene, enum lookup op, uint64_t seed)
{
    const struct person *person = lookup_person(scene, seed);
    const struct person *wanted = scene->people > 0 ? person : NULL;
    char absent[32];

    switch (op) {
    case LOOKUP_NAME:
        return passwd_by_name(scene, person->name, wanted);
    case LOOKUP_UID:
        return passwd_by_uid(scene, person->uid, wanted);
    case LOOKUP_MISS_NAME:
        (void)snprintf(absent, sizeof(absent), "absent%u", (unsigned)(seed % ABSENT_NAMES));
        return passwd_by_name(scene, absent, NULL);
    case LOOKUP_MISS_UID:
        return passwd_by_uid(scene, ID_ALLOC_MAX - (uid_t)(seed % 100), NULL);
    case LOOKUP_OUTSIDE:
        return passwd_by_uid(scene, IDS_OUTSIDE_FROM + (uid_t)(seed % 1000), NULL);
    case LOOKUP_INITGROUPS:
        return groups_of(scene, person);
    default:
        lookup_die("%s is no call", lookup_key(op));
    }
}

int lookup_first(uid_t uid, bool is_known)
{
    struct passwd space, *pw = NULL;
    char buf[4096];
    int64_t start_ns = lookup_now_ns(), took_ns;
    int r = getpwuid_r(uid, &space, buf, sizeof(buf), &pw);

    took_ns = lookup_now_ns() - start_ns;
    if (r != 0 || (pw != NULL) != is_known)
        lookup_die("uid %u: %s", uid, r != 0 ? strerror(r) : "the wrong answer");
    (void)printf("%lld\n", (long long)took_ns);
    return 0;
}

/* ---- system calls */

/* The child of lookup_syscalls(): what is between the two calls of getppid(2) is counted. */
__attribute__((noreturn)) static void traced_run(const struct lookup_scene *scene, enum lookup op)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
        _exit(1);
    (void)lookup_call(scene, op, 1);
    (void)syscall(SYS_getppid);
    (void)lookup_call(scene, op, 2);
    (void)syscall(SYS_getppid);
    _exit(0);
}

unsigned lookup_syscalls(const struct lookup_scene *scene, enum lookup op)
{
    struct __ptrace_syscall_info info;
    unsigned count = 0, marks = 0;
    pid_t pid = fork();
    int status;

    if (pid < 0)
        lookup_die("fork: %s", strerror(errno));
    if (pid == 0)
        traced_run(scene, op);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
        lookup_die("ptrace: %s", strerror(errno));
    while (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status)) {
        if (WSTOPSIG(status) != SYSCALL_STOP ||
            ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
            info.op != PTRACE_SYSCALL_INFO_ENTRY)
            continue;
        if (info.entry.nr == SYS_getppid)
            marks++;
        else if (marks == 1)
            count++;
    }
    if (marks != 2 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        lookup_die("%s: system calls of %s were not counted", scene->name, lookup_key(op));
    return count;
}

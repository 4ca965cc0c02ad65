/* SPDX-License-Identifier: ISC */
/*
 * net_names.c - the process that looks names up, and the file that keeps what it found.
 *
 * Between fork and exec the child becomes the reserved user. Order:
 *   1. handlers, mask, process group
 *   2. groups, gid, uid               (must: before no_new_privs is nothing to be gained by it)
 *   3. death signal, parent checked   (after the uid change, which clears it)
 *   4. descriptors from 3 closed, no_new_privs
 * It has no capability then: they went with the uid.
 */
#include "sessiond/monitor/net_names.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "sessiond/shared/resolve_wire.h"

#include "common/banned.h"

#define PROGRAM   ATELIER_PROGRAMS_DIR "/resolve"
#define FILE_PATH ATELIER_RUN_DIR "/names"
#define FILE_NEW  FILE_PATH ".new"
#define MAGIC     0x4e414d31u /* "NAM1" */

_Static_assert(RESOLVE_NAMES_MAX >= POLICY_ALLOW_MAX, "all names at once");
_Static_assert(POLICY_ALLOW_MAX <= 64, "a bit for each");
_Static_assert(RESOLVE_ADDRESSES_MAX == NAMES_ADDRESSES_MAX, "as many");

/* --- the process --------------------------------------------------------------------------- */

static _Noreturn void child_exec(char *const argv[], int out, pid_t parent)
{
    char *const envp[] = {NULL};
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(out, STDOUT_FILENO) < 0 || setpgid(0, 0) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(ID_RESOLVE, ID_RESOLVE, ID_RESOLVE) < 0 ||
        setresuid(ID_RESOLVE, ID_RESOLVE, ID_RESOLVE) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getppid() != parent || syscall(SYS_close_range, 3u, ~0u, 0u) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        _exit(126);
    (void)execve(PROGRAM, argv, envp);
    _exit(127);
}

/* "ADDRESS,ADDRESS". Heap, or NULL. */
static char *resolvers_text(const struct net_config *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    for (size_t i = 0; i < config->resolver_count; i++)
        (void)fprintf(f, "%s%s", i > 0 ? "," : "", config->resolvers[i]);
    return fclose(f) == 0 ? text : NULL;
}

int net_names_start(const struct net_config *config, pid_t *ret_pid, int *ret_fd)
{
    cleanup_free char *resolvers = resolvers_text(config);
    const char *argv[POLICY_ALLOW_MAX + 3] = {"resolve", resolvers};
    cleanup_close int in = -1, out = -1;
    pid_t parent = getpid(), pid;
    int fds[2];

    if (!resolvers)
        return -ENOMEM;
    if (config->resolver_count == 0)
        return -EDESTADDRREQ;
    for (uint32_t i = 0; i < config->names.count; i++)
        argv[i + 2] = config->names.entries[i].host;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    in = fds[0];
    out = fds[1];
    if (fcntl(in, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        child_exec((char *const *)(uintptr_t)argv, out, parent);
    *ret_pid = pid;
    *ret_fd = fd_take(&in);
    return 0;
}

static bool address_take(const struct resolve_address *a, struct prefix *ret_prefix)
{
    struct prefix p = {.bits = a->is_v6 ? 128 : 32, .is_v6 = a->is_v6 == 1};

    if (a->is_v6 > 1)
        return false;
    memcpy(p.bytes, a->bytes, p.bits / 8);
    *ret_prefix = p;
    return true;
}

int net_names_read(int fd, uint32_t count, uint64_t *answered, uint32_t *ret_i,
                   struct names_answer *ret_answer)
{
    struct names_answer answer = {0};
    struct resolve_answer in;
    ssize_t n = read(fd, &in, sizeof(in));

    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (n == 0)
        return 0;
    if ((size_t)n != sizeof(in) || in.magic != RESOLVE_MAGIC || in.index >= count ||
        in.count > RESOLVE_ADDRESSES_MAX || (*answered & (1ull << in.index)) != 0)
        return -EBADMSG;
    for (uint32_t i = 0; i < in.count; i++) {
        if (!address_take(&in.addresses[i], &answer.addresses[i]))
            return -EBADMSG;
    }
    switch (in.state) {
    case RESOLVE_FOUND:
        answer.state = NAMES_FOUND;
        break;
    case RESOLVE_EMPTY:
        answer.state = NAMES_EMPTY;
        break;
    case RESOLVE_FAILED:
        answer.state = NAMES_FAILED;
        break;
    default:
        return -EBADMSG;
    }
    answer.count = in.count;
    answer.ttl_s = in.ttl_s;
    answer.left_out = in.left_out;
    *answered |= 1ull << in.index;
    *ret_i = in.index;
    *ret_answer = answer;
    return 1;
}

/* --- the file ------------------------------------------------------------------------------ */

/* Of one version of this program on one boot; of another it is not read. */
struct saved {
    uint32_t magic;
    uint32_t size;
    struct names names;
};

int net_names_save(const struct names *names)
{
    static struct saved saved;
    cleanup_close int fd = -1;
    int r;

    saved = (struct saved){.magic = MAGIC, .size = sizeof(saved), .names = *names};
    if (unlink(FILE_NEW) < 0 && errno != ENOENT)
        return -errno;
    fd = open(FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, &saved, sizeof(saved));
    /* Everybody's to read, as the policy in force is. */
    if (r == 0 && (fchmod(fd, 0644) < 0 || rename(FILE_NEW, FILE_PATH) < 0))
        r = -errno;
    if (r < 0)
        (void)unlink(FILE_NEW);
    return r;
}

static bool is_sound(const struct saved *s)
{
    if (s->magic != MAGIC || s->size != sizeof(*s) || s->names.count > POLICY_ALLOW_MAX)
        return false;
    for (uint32_t i = 0; i < s->names.count; i++) {
        const struct names_entry *e = &s->names.entries[i];

        if (!memchr(e->host, '\0', sizeof(e->host)) || e->count > NAMES_ADDRESSES_MAX ||
            (unsigned)e->state > NAMES_FAILED)
            return false;
    }
    return true;
}

int net_names_restore(struct names *ret_names)
{
    static struct saved saved;
    cleanup_close int fd = open(FILE_PATH, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    size_t n;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != 0)
        return -EPERM;
    r = fd_read_full(fd, &saved, sizeof(saved), &n);
    if (r < 0)
        return r;
    if (n != sizeof(saved) || !is_sound(&saved))
        return -EBADMSG;
    *ret_names = saved.names;
    return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * resolve.c - looks names up for sessiond, which parses nothing that a stranger wrote.
 *
 * Started by sessiond as a reserved user without any right, under the network rules: it reaches the
 * resolvers and nothing else of the host. Order:
 *   1. the resolver library             (it reads files of the host; no stranger has a word yet)
 *   2. limits, and a filter that leaves what a look-up takes: no file, no program, no process
 *   3. all names at once, both families; CNAMEs are followed by the library
 *   4. a record for each (resolve_wire.h), when its answer is there or the time is over
 * What is found is checked by sessiond, which trusts none of it.
 *
 * Usage: resolve ADDRESS[,ADDRESS...] NAME...
 */
#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "sessiond/shared/resolve_wire.h"

#include "common/banned.h"

#define DEADLINE_MS 8000
#define TIMEOUT_MS  1200 /* for one question to one resolver; doubled at the second try */
#define TRIES       2

struct question {
    uint32_t index;
    bool is_done;
};

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- what is left to it -------------------------------------------------------------------- */

static int limit(int resource, rlim_t value)
{
    const struct rlimit l = {.rlim_cur = value, .rlim_max = value};

    return setrlimit((__rlimit_resource_t)resource, &l) < 0 ? -errno : 0;
}

/* Sockets of the two families, UDP and TCP; memory without code; nothing that opens or starts. */
static int filter_load(void)
{
    static const int calls[] = {
        SCMP_SYS(connect),       SCMP_SYS(bind),         SCMP_SYS(sendto),
        SCMP_SYS(sendmsg),       SCMP_SYS(recvfrom),     SCMP_SYS(recvmsg),
        SCMP_SYS(read),          SCMP_SYS(readv),        SCMP_SYS(write),
        SCMP_SYS(writev),        SCMP_SYS(close),        SCMP_SYS(fcntl),
        SCMP_SYS(ioctl),         SCMP_SYS(setsockopt),   SCMP_SYS(getsockopt),
        SCMP_SYS(getsockname),   SCMP_SYS(select),       SCMP_SYS(pselect6),
        SCMP_SYS(poll),          SCMP_SYS(ppoll),        SCMP_SYS(getrandom),
        SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
        SCMP_SYS(brk),           SCMP_SYS(munmap),       SCMP_SYS(mremap),
        SCMP_SYS(madvise),       SCMP_SYS(futex),        SCMP_SYS(exit),
        SCMP_SYS(exit_group),    SCMP_SYS(rt_sigreturn),
    };
    static const int families[] = {AF_INET, AF_INET6};
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = ctx ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < sizeof(calls) / sizeof(calls[0]); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
    for (size_t i = 0; r == 0 && i < sizeof(families) / sizeof(families[0]); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]));
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (r == 0)
        r = seccomp_load(ctx);
    if (ctx)
        seccomp_release(ctx);
    return r;
}

static int rights_drop(void)
{
    int r = 0;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return -errno;
    r = limit(RLIMIT_CORE, 0);
    if (r == 0)
        r = limit(RLIMIT_FSIZE, 0);
    if (r == 0)
        r = limit(RLIMIT_NPROC, 0);
    if (r == 0)
        r = limit(RLIMIT_NOFILE, 256);
    if (r == 0)
        r = limit(RLIMIT_CPU, 5);
    if (r == 0)
        r = limit(RLIMIT_DATA, 64u << 20);
    return r < 0 ? r : filter_load();
}

/* --- looking up ---------------------------------------------------------------------------- */

static void answer_write(const struct resolve_answer *answer)
{
    /* Nobody is there to hear it: then nobody waits for it either. */
    if (write(STDOUT_FILENO, answer, sizeof(*answer)) != (ssize_t)sizeof(*answer))
        _exit(EX_IOERR);
}

static void address_add(struct resolve_answer *answer, const struct sockaddr *sa)
{
    struct resolve_address *a = &answer->addresses[answer->count];

    if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
        return;
    if (answer->count == RESOLVE_ADDRESSES_MAX) {
        answer->left_out++;
        return;
    }
    if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;

        memcpy(a->bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
        a->is_v6 = 1;
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;

        memcpy(a->bytes, &in->sin_addr, sizeof(in->sin_addr));
    }
    answer->count++;
}

static uint32_t state_of(int status, uint32_t count)
{
    if (status == ARES_SUCCESS)
        return count > 0 ? RESOLVE_FOUND : RESOLVE_EMPTY;
    return status == ARES_ENODATA || status == ARES_ENOTFOUND ? RESOLVE_EMPTY : RESOLVE_FAILED;
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    struct question *q = arg;
    struct resolve_answer answer = {.magic = RESOLVE_MAGIC, .index = q->index};
    bool has_ttl = false;

    (void)timeouts;
    for (struct ares_addrinfo_node *n = info ? info->nodes : NULL; n; n = n->ai_next) {
        uint32_t ttl_s = n->ai_ttl > 0 ? (uint32_t)n->ai_ttl : 0;

        address_add(&answer, n->ai_addr);
        if (!has_ttl || ttl_s < answer.ttl_s)
            answer.ttl_s = ttl_s;
        has_ttl = true;
    }
    for (struct ares_addrinfo_cname *c = info ? info->cnames : NULL; c; c = c->next) {
        if (c->ttl >= 0 && (uint32_t)c->ttl < answer.ttl_s)
            answer.ttl_s = (uint32_t)c->ttl;
    }
    answer.state = state_of(status, answer.count);
    if (info)
        ares_freeaddrinfo(info);
    q->is_done = true;
    answer_write(&answer);
}

static int channel_open(const char *resolvers, ares_channel *ret_channel)
{
    static char lookups[] = "b"; /* no /etc/hosts: what participants get of it is ours */
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = TIMEOUT_MS,
        .tries = TRIES,
        .lookups = lookups,
    };
    const int given =
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS;
    int r = ares_library_init(ARES_LIB_INIT_ALL);

    if (r == ARES_SUCCESS)
        r = ares_init_options(ret_channel, &options, given);
    if (r == ARES_SUCCESS)
        r = ares_set_servers_csv(*ret_channel, resolvers);
    return r;
}

/* Until all have their answer, or the time is over: then the rest is FAILED. */
static void answers_wait(ares_channel channel)
{
    int64_t end_ms = now_ms() + DEADLINE_MS;

    for (;;) {
        int64_t left_ms = end_ms - now_ms();
        struct timeval most, tv, *wait;
        fd_set in, out;
        int n;

        FD_ZERO(&in);
        FD_ZERO(&out);
        n = ares_fds(channel, &in, &out);
        if (n == 0 || left_ms <= 0)
            break;
        most = (struct timeval){.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
        wait = ares_timeout(channel, &most, &tv);
        if (select(n, &in, &out, NULL, wait) < 0 && errno != EINTR)
            break;
        ares_process(channel, &in, &out);
    }
    ares_cancel(channel);
}

int main(int argc, char *argv[])
{
    static struct question questions[RESOLVE_NAMES_MAX];
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT};
    ares_channel channel = NULL;
    int r;

    if (argc < 3 || argc - 2 > (int)RESOLVE_NAMES_MAX) {
        (void)fputs("usage: resolve ADDRESS[,ADDRESS...] NAME...\n", stderr);
        return EX_USAGE;
    }
    if (channel_open(argv[1], &channel) != ARES_SUCCESS) {
        (void)fputs("resolve: the resolver library cannot be used\n", stderr);
        return EX_UNAVAILABLE;
    }
    r = rights_drop();
    if (r < 0) {
        (void)fprintf(stderr, "resolve: rights cannot be given up: %s\n", strerror(-r));
        return EX_NOPERM;
    }
    for (int i = 2; i < argc; i++) {
        struct question *q = &questions[i - 2];

        q->index = (uint32_t)(i - 2);
        ares_getaddrinfo(channel, argv[i], NULL, &hints, on_answer, q);
    }
    answers_wait(channel);
    ares_destroy(channel);
    return EXIT_SUCCESS;
}

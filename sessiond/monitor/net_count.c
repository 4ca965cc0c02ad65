/* SPDX-License-Identifier: ISC */
/* net_count.c - who reached what: NET_GET is answered. */
#include "sessiond/monitor/net_count.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "policy/netcount.h"
#include "policy/netcount_seen.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/core.h"
#include "sessiond/monitor/net_program.h"
#include "sessiond/monitor/net_table.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define LIMIT_MS 10000 /* then it is killed */
/*
 * As long as an answer took, there is a pause before the next one, so that whoever asks on and on
 * has half a processor, at the priority below; with the limit it is less than the api waits.
 */
#define PAUSE_MIN_MS 250
#define PAUSE_MAX_MS 2000
#define NICE         10
/* Of the child and each of its programs; with full sets nft takes a fifth of it. */
#define MEMORY_BYTES (512u << 20)

struct net_count {
    struct monitor *monitor;
    struct netcount_result *result; /* shared with the child; NULL: none is under way */
    struct event *dead, *limit, *pause;
    pid_t pid;
    int pidfd;
    bool is_forgotten; /* whoever asked is gone */
    bool is_late;      /* it was killed for that */
    bool is_asked;     /* once more, when this one is done, and the pause over */
    uint32_t next_uid;
    int64_t begun_ms; /* the one under way */
};

static void start(struct net_count *c, uint32_t uid);

/* --- the child ----------------------------------------------------------------------------- */

static void line_table(void *arg, const char *line)
{
    netcount_see_table(arg, line);
}

static void line_rule4(void *arg, const char *line)
{
    netcount_see_rule(arg, false, line);
}

static void line_rule6(void *arg, const char *line)
{
    netcount_see_rule(arg, true, line);
}

static void sockets_see(struct netcount_seen *seen, const char *path)
{
    FILE *file = fopen(path, "re");
    cleanup_free char *line = NULL;
    size_t size = 0;

    if (!file)
        return; /* the kernel has no IPv6 */
    while (getline(&line, &size, file) > 0)
        netcount_see_socket(seen, line);
    (void)fclose(file);
}

/* Return: 0, or an errno: nothing is known of users. */
static uint32_t all_see(struct netcount_seen *seen)
{
    const char *const table[] = {net_table_program(), "-n", "list", "table", "inet",
                                 NETCOUNT_TABLE,      NULL};
    int r = net_program_read(table, line_table, seen);

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        const char *const argv[] = {net_program_find(net_families[i].save), "-c", "-t", "filter",
                                    NULL};

        if (net_family_exists(&net_families[i]))
            (void)net_program_read(
                argv, net_families[i].family == NETRULES_V6 ? line_rule6 : line_rule4, seen);
    }
    sockets_see(seen, "/proc/net/tcp");
    sockets_see(seen, "/proc/net/tcp6");
    sockets_see(seen, "/proc/net/udp");
    sockets_see(seen, "/proc/net/udp6");
    /* 1: there is no such table; else it ran out of memory, or was ended. Source: nft(8) */
    return r > 1 ? ENOMEM : r == 1 ? ENODATA : (uint32_t)-r;
}

static _Noreturn void count_main(struct netcount_result *result, uint32_t uid, pid_t parent)
{
    const struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES};
    struct netcount_seen *seen;

    net_child_settle("atelier-netcount", parent);
    /* Nobody's start waits for this. */
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0 || setrlimit(RLIMIT_AS, &memory) < 0)
        _exit(1);
    if (netcount_seen_new(&seen) < 0)
        _exit(1);
    result->sum.error = all_see(seen);
    netcount_tell(seen, uid, result);
    _exit(0);
}

/* --- the answer ---------------------------------------------------------------------------- */

static uint32_t page_rows(uint32_t count, uint32_t at, uint32_t most)
{
    if (at >= count)
        return 0;
    return count - at < most ? count - at : most;
}

static uint32_t bounded(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

static void pages_send(struct core *core, const struct netcount_result *r)
{
    uint32_t users = bounded(r->user_count, WIRE_NET_USERS_MAX), user = 0;
    uint32_t refused = bounded(r->refused_count, WIRE_NET_REFUSED_MAX), row = 0;
    uint32_t rules = bounded(r->rule_count, WIRE_NET_RULES_MAX), rule = 0;
    bool is_last = false;

    while (!is_last) {
        struct wire_net_page page = {.head = {.type = WIRE_NET_PAGE, .size_bytes = sizeof(page)},
                                     .sum = r->sum};

        page.user_count = page_rows(users, user, WIRE_NET_PAGE_USERS);
        memcpy(page.users, &r->users[user < users ? user : 0],
               page.user_count * sizeof(page.users[0]));
        user += page.user_count;
        page.refused_count = page_rows(refused, row, WIRE_NET_PAGE_REFUSED);
        memcpy(page.refused, &r->refused[row < refused ? row : 0],
               page.refused_count * sizeof(page.refused[0]));
        row += page.refused_count;
        page.rule_count = page_rows(rules, rule, WIRE_NET_PAGE_RULES);
        memcpy(page.rules, &r->rules[rule < rules ? rule : 0],
               page.rule_count * sizeof(page.rules[0]));
        rule += page.rule_count;
        is_last = user == users && row == refused && rule == rules;
        page.is_last = is_last;
        core_send(core, &page.head);
    }
}

static void pause_begin(struct net_count *c)
{
    int64_t ms = clock_ms() - c->begun_ms;
    struct timeval tv;

    if (ms < PAUSE_MIN_MS)
        ms = PAUSE_MIN_MS;
    if (ms > PAUSE_MAX_MS)
        ms = PAUSE_MAX_MS;
    tv = ms_timeval(ms);
    if (event_add(c->pause, &tv) < 0)
        event_active(c->pause, EV_TIMEOUT, 0);
}

static void finish(struct net_count *c, int error)
{
    struct netcount_result *result = c->result;
    const struct net_limit *limit = &c->monitor->net_limit;

    if (error != 0) {
        result->user_count = result->refused_count = result->rule_count = 0;
        result->sum = (struct wire_net_sum){.error = (uint32_t)error};
    }
    result->sum.connections = limit->is_held ? limit->connections : 0;
    result->sum.since_us = limit->since_us;
    if (!c->is_forgotten)
        pages_send(c->monitor->core, result);
    (void)munmap(result, sizeof(*result));
    c->result = NULL;
    c->is_forgotten = c->is_late = false;
    pause_begin(c);
}

static void on_pause(evutil_socket_t fd, short what, void *arg)
{
    struct net_count *c = arg;

    (void)fd;
    (void)what;
    if (!c->is_asked || c->result)
        return;
    c->is_asked = false;
    start(c, c->next_uid);
}

static void on_dead(evutil_socket_t fd, short what, void *arg)
{
    struct net_count *c = arg;
    int status = 0;

    (void)fd;
    (void)what;
    (void)waitpid(c->pid, &status, 0);
    event_free(c->dead);
    c->dead = NULL;
    (void)close(c->pidfd);
    (void)event_del(c->limit);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        finish(c, 0);
    else
        finish(c, c->is_late ? ETIMEDOUT : ENOMEM);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct net_count *c = arg;

    (void)fd;
    (void)what;
    if (!c->result)
        return;
    c->is_late = true;
    log_error("what the kernel has counted takes too long to read");
    /* Its programs, too. It is not reaped yet, so the number is still its own. */
    (void)kill(-c->pid, SIGKILL);
    pidfd_kill(c->pidfd);
}

static int child_watch(struct net_count *c)
{
    struct timeval tv = ms_timeval(LIMIT_MS);

    c->pidfd = pidfd_of(c->pid);
    if (c->pidfd < 0)
        return c->pidfd;
    c->dead = event_new(c->monitor->base, c->pidfd, EV_READ, on_dead, c);
    if (c->dead && event_add(c->dead, NULL) == 0 && event_add(c->limit, &tv) == 0)
        return 0;
    if (c->dead)
        event_free(c->dead);
    c->dead = NULL;
    (void)close(c->pidfd);
    return -ENOMEM;
}

static int child_start(struct net_count *c, uint32_t uid)
{
    pid_t parent = getpid();
    int r;

    c->pid = fork();
    if (c->pid < 0)
        return -errno;
    if (c->pid == 0)
        count_main(c->result, uid, parent);
    r = child_watch(c);
    if (r < 0) {
        (void)kill(c->pid, SIGKILL);
        (void)waitpid(c->pid, NULL, 0);
    }
    return r;
}

static void start(struct net_count *c, uint32_t uid)
{
    static struct netcount_result none;
    void *mem =
        mmap(NULL, sizeof(*c->result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int r;

    if (mem == MAP_FAILED) {
        none.sum = (struct wire_net_sum){.error = ENOMEM};
        pages_send(c->monitor->core, &none);
        return;
    }
    c->result = mem;
    c->begun_ms = clock_ms();
    r = child_start(c, uid);
    if (r < 0)
        finish(c, -r);
}

void net_count_ask(struct net_count *c, uint32_t uid)
{
    if (!c->result && !evtimer_pending(c->pause, NULL)) {
        start(c, uid);
        return;
    }
    c->is_asked = true;
    c->next_uid = uid;
}

void net_count_forget(struct net_count *c)
{
    c->is_forgotten = c->result != NULL;
    c->is_asked = false;
}

int net_count_new(struct monitor *m)
{
    struct net_count *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->monitor = m;
    c->limit = evtimer_new(m->base, on_limit, c);
    c->pause = evtimer_new(m->base, on_pause, c);
    if (!c->limit || !c->pause) {
        if (c->limit)
            event_free(c->limit);
        if (c->pause)
            event_free(c->pause);
        free(c);
        return -ENOMEM;
    }
    m->net_count = c;
    return 0;
}

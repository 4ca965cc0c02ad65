/* SPDX-License-Identifier: ISC */
/*
 * netkeep.c - the rules stay as they were loaded, whatever others do to the firewall.
 *
 * One look at a time. What comes up meanwhile is a reason for one more: it may have begun before.
 * Our own load is news, too, and costs one look that finds nothing; a look makes no news.
 */
#include "sessiond/monitor/netkeep.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/sabotage.h"
#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/guard.h"
#include "sessiond/monitor/net_look.h"
#include "sessiond/monitor/net_news.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define LOOK_LIMIT_MS   10000 /* then it is killed; iptables waits half of it for its lock */
#define LOOK_AGAIN_MS   20000 /* the same for the next one: the machine may be that slow */
#define RETRY_MS        400   /* after a look that failed */
#define CUT_RETRY_MS    1000  /* after one that took too long; then 2 s, 4 s, ... */
#define CUT_RETRY_MAX   5     /* 32 s */
#define GIVEN_UP_MS     5000  /* between looks while the canary is overruled */
#define BLIND_LIMIT_MS  3000  /* nothing starts when no look has succeeded for this long */
#define PAUSE_PER_COST  200   /* 0.5 % */
#define PAUSE_CREDIT_MS 10000 /* what a quiet time is worth: some looks without a pause */
/* From the fourth mend on somebody may be at it again: 50 ms, 100 ms, ... */
#define MENDS_AT_ONCE   3
#define BACK_OFF_MS     50
#define BACK_OFF_MAX_MS 1000

struct netkeep {
    struct monitor *monitor;
    const struct net_config *config;
    struct net_look *look;
    struct event *due, *limit, *dead, *news;
    pid_t pid; /* of the look that is under way, or 0 */
    int pidfd;
    int news_fd;

    bool has_news;  /* since the look began */
    bool is_wanted; /* by the guard; a look that began before does not count */
    bool must_load, is_forgiven;
    bool has_changed; /* what the rules are made of */
    bool must_forget; /* the normal forms: no look since has known of it */
    bool was_wanted, had_to_load, was_forgiven, had_changed; /* the same of the look under way */

    int64_t began_ms;
    int64_t paid_ms;     /* looks so far have had their pauses at this time */
    int64_t bad_ms;      /* since when the rules have not been put back; 0: they are there */
    int64_t blind_ms;    /* since when no look has succeeded; 0: the last one has */
    int64_t mends_at_ms; /* when mends was right */
    uint32_t mends;      /* that are left */
    uint32_t mend_count; /* since the start, for the log */
    uint32_t cuts;       /* looks in a row that took too long */
    bool is_cut;         /* the look under way was ended for that */
    bool has_loaded;     /* the last look; the next one is about our own news */
    bool has_given_up;
};

static void look_start(struct netkeep *k);

static void due_in(struct netkeep *k, int64_t ms)
{
    struct timeval tv = ms_timeval(ms > 0 ? ms : 0);

    (void)event_add(k->due, &tv);
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void mends_count(struct netkeep *k)
{
    int64_t more = (clock_ms() - k->mends_at_ms) / NETKEEP_MEND_MS;

    k->mends_at_ms += more * NETKEEP_MEND_MS;
    k->mends = k->mends + more < NETKEEP_MENDS ? (uint32_t)(k->mends + more) : NETKEEP_MENDS;
    if (k->mends == NETKEEP_MENDS)
        k->mends_at_ms = clock_ms();
}

/* How long to leave it to others, so that their many steps meet one of ours. */
static int64_t back_off_ms(struct netkeep *k)
{
    uint32_t used;
    int64_t ms = BACK_OFF_MS;

    mends_count(k);
    used = NETKEEP_MENDS - k->mends;
    if (used < MENDS_AT_ONCE)
        return 0;
    for (uint32_t i = MENDS_AT_ONCE; i < used && ms < BACK_OFF_MAX_MS; i++)
        ms *= 2;
    return ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS;
}

/* When the next look is due, none being under way. */
static void next_plan(struct netkeep *k)
{
    int64_t paid_ms = k->paid_ms - clock_ms();

    if (k->is_wanted || k->must_load)
        look_start(k);
    else if (k->has_given_up)
        due_in(k, GIVEN_UP_MS);
    else if (k->bad_ms || k->blind_ms)
        due_in(k, RETRY_MS);
    else if (k->has_news)
        due_in(k, longer(back_off_ms(k), shorter(paid_ms, NETKEEP_NEWS_MS)));
    else if (k->cuts)
        due_in(k, (int64_t)CUT_RETRY_MS << shorter(k->cuts - 1, CUT_RETRY_MAX));
    else
        due_in(k, longer(NETKEEP_LOOK_MS, paid_ms));
}

static void give_up(struct netkeep *k, const char *what)
{
    if (k->has_given_up)
        return;
    k->has_given_up = true;
    log_error("the network rules cannot be kept: %s; nothing starts, what relies on them ends",
              what);
    canary_overrule(k->monitor->canary, WIRE_CANARY_LEAK, what);
    guard_ask(k->monitor->guard);
}

/* --- what a look has found ----------------------------------------------------------------- */

/* Who has been at it again and again may still be: not before there is a mend left. */
static void in_place(struct netkeep *k)
{
    mends_count(k);
    k->bad_ms = k->blind_ms = 0;
    if (k->mends == 0)
        return;
    if (k->has_given_up)
        log_notice("the network rules are in place again");
    k->has_given_up = false;
    canary_overrule(k->monitor->canary, WIRE_CANARY_HOLDS, "");
}

static void mended(struct netkeep *k)
{
    mends_count(k);
    k->mend_count++;
    if (k->mends > 0)
        k->mends--;
    for (size_t i = 0; i < NET_FAMILIES && !k->has_given_up; i++) {
        const struct net_look_family *p = &k->look->families[i];

        if (p->is_held && p->found != NETRULES_FAULT_NONE)
            log_warning("somebody changed the network rules; they are back family=%s found=\"%s\" "
                        "times=%u",
                        net_families[i].name, netrules_fault_words(p->found), k->mend_count);
    }
    /* What the canary knows is from before, or from between. */
    canary_forget(k->monitor->canary);
    if (k->mends == 0)
        give_up(k, "somebody takes the network rules away again and again");
    else
        guard_ask(k->monitor->guard);
}

static void not_mended(struct netkeep *k, const struct net_family *f, int error)
{
    if (!k->bad_ms) {
        k->bad_ms = k->began_ms;
        log_error("the network rules cannot be put back family=%s errno=%d", f->name, -error);
    }
    if (clock_ms() - k->bad_ms >= NETKEEP_PATIENCE_MS)
        give_up(k, "the network rules cannot be put back");
}

static void not_seen(struct netkeep *k, const struct net_family *f, int error)
{
    if (!k->blind_ms) {
        k->blind_ms = k->began_ms;
        log_warning("the network rules cannot be looked at family=%s errno=%d", f->name, -error);
    }
    if (clock_ms() - k->blind_ms >= NETKEEP_BLIND_MS)
        give_up(k, "they could not be looked at for a minute");
    else if (clock_ms() - k->blind_ms >= BLIND_LIMIT_MS && !k->has_given_up)
        canary_overrule(k->monitor->canary, WIRE_CANARY_NO_TARGET,
                        "the network rules cannot be looked at");
}

/* Return: whether something was put back. */
static bool look_judge(struct netkeep *k)
{
    const struct net_look_family *blind = NULL, *bad = NULL, *put_back = NULL;

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        const struct net_look_family *p = &k->look->families[i];

        if (!p->has_seen)
            blind = p;
        else if (!p->is_held && p->found != NETRULES_FAULT_NONE)
            bad = p;
        else if (p->found != NETRULES_FAULT_NONE)
            put_back = p;
    }
    if (put_back)
        mended(k);
    if (bad)
        not_mended(k, &net_families[bad - k->look->families], bad->error);
    else if (blind)
        not_seen(k, &net_families[blind - k->look->families], blind->error);
    else
        in_place(k);
    return put_back && !bad;
}

/* A load that was asked for: of SIGHUP what happened so far is forgiven, if it went well. */
static bool reload_judge(struct netkeep *k)
{
    const struct net_look_family *failed = NULL;

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        if (!k->look->families[i].is_held)
            failed = &k->look->families[i];
    }
    canary_forget(k->monitor->canary);
    if (failed) {
        log_error("the network rules cannot be loaded family=%s errno=%d",
                  net_families[failed - k->look->families].name, -failed->error);
        k->has_changed = k->has_changed || k->had_changed;
        return look_judge(k);
    }
    if (k->was_forgiven)
        k->mends = NETKEEP_MENDS;
    log_info("network rules %s revision=%u", k->was_forgiven ? "loaded again" : "changed",
             k->monitor->net_revision);
    in_place(k);
    guard_ask(k->monitor->guard);
    return true;
}

/* --- a look -------------------------------------------------------------------------------- */

/*
 * The look itself and its programs, which it has waited for. Only what goes on for ever counts:
 * those with a reason of their own, with something to do, or because of that, are few.
 */
static void cost_count(struct netkeep *k, const struct rusage *usage)
{
    int64_t us = (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
                 usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
    int64_t at_least = clock_ms() - PAUSE_CREDIT_MS;
    bool has_loaded = k->has_loaded;

    k->has_loaded = false;
    for (size_t i = 0; i < NET_FAMILIES; i++)
        k->has_loaded = k->has_loaded || k->look->families[i].was_loaded;
    k->has_loaded = k->has_loaded || k->look->table.was_loaded;
    if (has_loaded || k->has_loaded || k->was_wanted || k->bad_ms || k->blind_ms || k->has_given_up)
        return;
    k->paid_ms = longer(k->paid_ms, at_least) + us * PAUSE_PER_COST / 1000;
}

/* Without the second jump there is less to hold who has changed the UID: that is said. */
static void group_judge(struct netkeep *k)
{
    struct monitor *m = k->monitor;
    uint64_t id = k->look->cgroup_id;

    if (id == m->net_cgroup)
        return;
    if (id == 0)
        log_warning("there is no rule by control group now: its group is gone, or the rule could "
                    "not be loaded");
    else
        log_info("the rule by control group is about another group than before");
    m->net_cgroup = id;
}

static void on_look_end(evutil_socket_t fd, short what, void *arg)
{
    struct netkeep *k = arg;
    struct rusage usage = {0};
    bool was_wanted = k->was_wanted, has_mended;

    (void)fd;
    (void)what;
    (void)wait4(k->pid, NULL, 0, &usage);
    event_free(k->dead);
    k->dead = NULL;
    (void)close(k->pidfd);
    (void)event_del(k->limit);
    k->pid = 0;
    /* One that was ended has not done what it cost. */
    k->cuts = k->is_cut ? k->cuts + 1 : 0;
    if (!k->is_cut)
        cost_count(k, &usage);
    if (k->look->must_see_table)
        net_limit_seen(&k->monitor->net_limit, &k->look->table, k->look->connections);
    if (k->look->revision != 0)
        k->monitor->net_revision = k->look->revision;
    group_judge(k);
    has_mended = k->had_to_load ? reload_judge(k) : look_judge(k);
    if (was_wanted)
        guard_kept(k->monitor->guard, !has_mended);
    /* What was told may have led to the next one already. */
    if (k->pid == 0)
        next_plan(k);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct netkeep *k = arg;

    (void)fd;
    (void)what;
    if (k->pid == 0)
        return;
    log_error("a look at the network rules takes too long and is ended");
    k->is_cut = true;
    /* Its programs, too. It is not reaped yet, so the number is still its own. */
    (void)kill(-k->pid, SIGKILL);
    pidfd_kill(k->pidfd);
}

static int look_watch(struct netkeep *k)
{
    struct timeval tv = ms_timeval(k->cuts ? LOOK_AGAIN_MS : LOOK_LIMIT_MS);

    k->pidfd = pidfd_of(k->pid);
    if (k->pidfd < 0)
        return k->pidfd;
    k->dead = event_new(k->monitor->base, k->pidfd, EV_READ, on_look_end, k);
    if (!k->dead || event_add(k->dead, NULL) < 0 || event_add(k->limit, &tv) < 0)
        return -ENOMEM;
    return 0;
}

static void look_abandon(struct netkeep *k)
{
    (void)kill(k->pid, SIGKILL);
    (void)waitpid(k->pid, NULL, 0);
    if (k->dead)
        event_free(k->dead);
    k->dead = NULL;
    if (k->pidfd >= 0)
        (void)close(k->pidfd);
    k->pid = 0;
}

static void look_start(struct netkeep *k)
{
    int r;

    k->look->must_load = k->had_to_load = k->must_load || k->has_changed;
    k->look->is_changed = k->had_changed = k->has_changed;
    k->look->must_forget = k->must_forget;
    k->look->must_see_table =
        k->had_to_load || net_limit_is_due(&k->monitor->net_limit, k->has_news);
    k->look->connections = k->monitor->policy->net.connections;
    k->was_wanted = k->is_wanted;
    k->was_forgiven = k->is_forgiven;
    k->has_news = k->is_wanted = k->must_load = k->has_changed = k->is_forgiven = false;
    k->is_cut = k->must_forget = false;
    k->began_ms = clock_ms();
    (void)event_del(k->due);
    r = net_look_start(k->look, k->config, &k->pid);
    if (r == 0) {
        r = look_watch(k);
        if (r < 0)
            look_abandon(k);
    }
    if (r == 0)
        return;
    k->pid = 0;
    k->must_load = k->had_to_load;
    k->has_changed = k->had_changed;
    not_seen(k, &net_families[0], r);
    if (k->was_wanted)
        guard_kept(k->monitor->guard, true);
    due_in(k, RETRY_MS);
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
    struct netkeep *k = arg;

    (void)fd;
    (void)what;
    if (k->pid == 0 && !SABOTAGED("netkeep"))
        look_start(k);
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
    struct netkeep *k = arg;

    (void)what;
    if (!net_news_read(fd) || k->has_news || SABOTAGED("netkeep"))
        return;
    k->has_news = true;
    if (k->pid == 0)
        next_plan(k);
}

void netkeep_change(struct netkeep *k)
{
    k->must_load = k->has_changed = k->must_forget = true;
    if (k->pid == 0)
        look_start(k);
}

void netkeep_reload(struct netkeep *k)
{
    k->is_forgiven = true;
    netkeep_change(k);
}

void netkeep_require(struct netkeep *k)
{
    if (k->has_given_up || SABOTAGED("netkeep")) {
        guard_kept(k->monitor->guard, true);
        return;
    }
    k->is_wanted = true;
    if (k->pid == 0)
        look_start(k);
}

int netkeep_new(struct monitor *m, const struct net_config *config)
{
    struct netkeep *k = calloc(1, sizeof(*k));
    int r;

    if (!k)
        return -ENOMEM;
    m->netkeep = k;
    k->monitor = m;
    k->config = config;
    k->pidfd = -1;
    k->mends = NETKEEP_MENDS;
    k->mends_at_ms = clock_ms();
    r = net_look_new(&k->look);
    if (r < 0)
        return r;
    k->look->cgroup_id = m->net_cgroup;
    k->news_fd = net_news_open();
    if (k->news_fd < 0)
        return k->news_fd;
    k->due = evtimer_new(m->base, on_due, k);
    k->limit = evtimer_new(m->base, on_limit, k);
    k->news = event_new(m->base, k->news_fd, EV_READ | EV_PERSIST, on_news, k);
    if (!k->due || !k->limit || !k->news || event_add(k->news, NULL) < 0)
        return -ENOMEM;
    due_in(k, 0);
    return 0;
}

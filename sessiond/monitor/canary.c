/* SPDX-License-Identifier: ISC */
/*
 * canary.c - rounds: the probe must fail where root succeeds.
 *
 * States of the probe: GONE -> STARTING (spawned, receipt, go) -> LIVE -> GONE. One round at a
 * time; whoever asks during a round waits for it. A round ends when the probe has answered and
 * every control of root has ended, or at CANARY_ROUND_MS.
 */
#include "sessiond/monitor/canary.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/sabotage.h"
#include "sessiond/monitor/canary_cost.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/listener.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/spawned.h"
#include "sessiond/monitor/target.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define CANARY_ROUND_MS   800
#define LISTENER_RETRY_MS 5000 /* a dead listener is replaced after this long */
#define PROBE_RETRY_MS    1000
#define CONTROL_PENDING   UINT32_MAX

enum probe_state {
    PROBE_GONE,
    PROBE_STARTING,
    PROBE_LIVE,
};

/* Root's own attempt at one target. */
struct control {
    struct canary *canary;
    struct event *event;
    int fd;
    uint32_t error; /* CONTROL_PENDING while under way, 0: the right banner came */
};

struct canary {
    struct event_base *base;
    int spawner_sock;
    struct cgroup *cgroup;
    struct canary_cost cost;

    struct listener listener;
    struct event *listener_dead;
    struct event *listener_retry;

    struct spawned probe;
    struct spawn_request probe_request;
    struct cgroup_leaf *leaf; /* of the probe; NULL: none, or no control groups */
    enum probe_state probe_state;
    struct filter_proof *proof; /* of the probe's filter, under way, or NULL */
    struct event *probe_retry;

    bool in_round;
    bool asked;    /* the probe has this round's request */
    bool answered; /* and has answered it */
    bool repeated; /* the round before this one found nothing out */
    struct probe_request round;
    struct probe_answer answer;
    struct control controls[PROBE_TARGETS_MAX];
    struct event *round_limit;

    struct canary_waiter *waiters;
    enum wire_canary verdict;
    char what[WIRE_PATH_SIZE];
    enum wire_canary overrule; /* see canary_overrule(); WIRE_CANARY_HOLDS: nothing is */
    const char *overrule_what;
    int64_t held_ms; /* monotonic time of the last round that held; 0: none */
};

static void round_check(struct canary *c);
static void round_start(struct canary *c);
static void round_end(struct canary *c, enum wire_canary verdict, const char *what);

/* --- the probe ----------------------------------------------------------------------------- */

static void probe_start(struct canary *c);

static void probe_refuse(struct canary *c, const char *what, int error)
{
    filter_proof_cancel(c->proof);
    c->proof = NULL;
    log_error("the canary's probe is not confined as planned what=%s errno=%d", what, error);
    spawned_kill(&c->probe);
}

static void on_filter(void *arg, int result)
{
    struct canary *c = arg;

    c->proof = NULL;
    if (result == 0)
        result = spawned_go(&c->probe);
    if (result < 0) {
        probe_refuse(c, "filter", -result);
        return;
    }
    c->probe_state = PROBE_LIVE;
    round_check(c);
}

/* As run.c does it with a payload. */
static void probe_ready(struct canary *c, pid_t pid)
{
    struct wire_receipt receipt;
    const char *what = "receipt";
    int r = c->proof ? -EPROTO : filter_proof_begin(pid, FILTER_RUN, &c->proof);

    if (r == 0)
        r = receipt_read(pid, c->leaf, &receipt);
    if (r == 0 && !SABOTAGED("verify"))
        r = receipt_verify(&receipt, &c->probe_request, c->leaf, &what);
    cost_part_set(&c->cost.probe, pid);
    if (r < 0)
        probe_refuse(c, what, -r);
    else
        filter_proof_finish(c->proof, on_filter, c);
}

static void probe_on_packet(void *arg, const void *buf, size_t size, const struct msg_extra *extra)
{
    struct canary *c = arg;

    cost_own_begin(&c->cost);
    if (c->probe_state == PROBE_LIVE && size == sizeof(struct probe_answer)) {
        memcpy(&c->answer, buf, sizeof(c->answer));
        c->answered =
            c->in_round && c->answer.round == c->round.round && c->answer.count == c->round.count;
        round_check(c);
    } else if (c->probe_state == PROBE_STARTING && size == sizeof(struct report)) {
        struct report rep;

        memcpy(&rep, buf, sizeof(rep));
        if (rep.kind == REPORT_READY && extra->uid == ID_CANARY)
            probe_ready(c, extra->pid);
        else if (rep.kind == REPORT_FAILED)
            log_error("the canary's probe does not start step=%u errno=%u what=%s", rep.step,
                      rep.error, rep.what);
    }
    cost_own_end(&c->cost);
}

static void probe_on_dead(void *arg)
{
    struct canary *c = arg;
    struct timeval tv = ms_timeval(PROBE_RETRY_MS);

    spawned_done(&c->probe);
    filter_proof_cancel(c->proof);
    c->proof = NULL;
    cgroup_leaf_drop(c->leaf);
    c->leaf = NULL;
    cost_part_set(&c->cost.probe, 0);
    c->probe_state = PROBE_GONE;
    log_warning("the canary's probe is gone: nothing is started until it is back");
    (void)event_add(c->probe_retry, &tv);
    if (c->in_round)
        round_end(c, WIRE_CANARY_NO_PROBE, "the probe died");
}

static const struct spawned_ops probe_ops = {.on_packet = probe_on_packet,
                                             .on_dead = probe_on_dead};

/* A leaf with a name that nobody else has. Return: 0 or a negative errno. */
static int probe_leaf(struct canary *c, int *ret_fds, size_t *ret_n, const char **ret_what)
{
    char id[WIRE_SESSION_ID_SIZE] = {0};
    uint64_t words[2];
    int r;

    if (getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
        return -errno;
    (void)snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    r = cgroup_leaf_new(c->cgroup, CGROUP_RUN, ID_CANARY, id, &c->probe_request.plan, &c->leaf,
                        ret_what);
    if (r == 0)
        r = cgroup_leaf_fds(c->leaf, ret_fds, ret_n);
    if (r < 0)
        return r;
    c->probe_request.cgroup_mode = cgroup_mode(c->cgroup);
    c->probe_request.cgroup_fds = (uint32_t)*ret_n;
    return 0;
}

static void probe_start(struct canary *c)
{
    int groups[CGROUP_TREES_MAX];
    const char *what = "control group";
    size_t count = 0;
    struct spawn_request *req = &c->probe_request;
    struct timeval tv = ms_timeval(PROBE_RETRY_MS);
    static const struct plan_ask nothing;
    static struct policy shipped;
    const char *field;
    int r;

    *req = (struct spawn_request){
        .kind = SPAWN_PROBE, .uid = ID_CANARY, .gid = ID_CANARY, .net = WIRE_NET_PUBLIC};
    str_cut(req->name, sizeof(req->name), "canary");
    /* Ours, not a participant's: what the files say is not for it. */
    policy_defaults(&shipped);
    (void)policy_plan(&shipped, POLICY_RUN, ID_CANARY, NULL, 0, &nothing, &req->plan, &field);
    r = probe_leaf(c, groups, &count, &what);
    if (r == 0) {
        what = "spawner";
        r = spawned_start(&c->probe, c->base, c->spawner_sock, req, groups, count, &probe_ops, c);
    }
    while (count > 0)
        (void)close(groups[--count]);
    if (r == 0) {
        c->probe_state = PROBE_STARTING;
        return;
    }
    cgroup_leaf_drop(c->leaf);
    c->leaf = NULL;
    log_error("the canary's probe cannot be spawned what=%s errno=%d", what, -r);
    (void)event_add(c->probe_retry, &tv);
}

static void on_probe_retry(evutil_socket_t fd, short what, void *arg)
{
    struct canary *c = arg;

    (void)fd;
    (void)what;
    if (c->probe_state == PROBE_GONE)
        probe_start(c);
}

/* --- the listener -------------------------------------------------------------------------- */

static void on_listener_dead(evutil_socket_t fd, short what, void *arg)
{
    struct canary *c = arg;
    struct timeval tv = ms_timeval(LISTENER_RETRY_MS);
    siginfo_t info;

    (void)what;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    event_free(c->listener_dead);
    c->listener_dead = NULL;
    listener_stop(&c->listener);
    cost_part_set(&c->cost.listener, 0);
    log_error("the canary's listener died: nothing is started until it is back");
    (void)event_add(c->listener_retry, &tv);
    canary_forget(c);
}

static int listener_watch(struct canary *c)
{
    int r = listener_start(&c->listener);

    if (r < 0)
        return r;
    cost_part_set(&c->cost.listener, c->listener.pid);
    c->listener_dead = event_new(c->base, c->listener.pidfd, EV_READ, on_listener_dead, c);
    if (!c->listener_dead || event_add(c->listener_dead, NULL) < 0)
        return -ENOMEM;
    return 0;
}

static void on_listener_retry(evutil_socket_t fd, short what, void *arg)
{
    struct canary *c = arg;
    struct timeval tv = ms_timeval(LISTENER_RETRY_MS);

    (void)fd;
    (void)what;
    if (listener_watch(c) < 0)
        (void)event_add(c->listener_retry, &tv);
}

/* --- a round ------------------------------------------------------------------------------- */

static void target_add(struct canary *c, int family, const void *addr, uint16_t port)
{
    struct probe_target *t = &c->round.targets[c->round.count++];

    *t = (struct probe_target){.family = (uint32_t)family, .port = port};
    memcpy(t->addr, addr, family == AF_INET ? 4 : 16);
}

/* An address of the host outside 127/8: the first interface address that is not loopback, or
 * one on lo itself. */
static bool own_address(struct in_addr *ret_addr)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) < 0)
        return false;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        struct sockaddr_in sin;

        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
            continue;
        memcpy(&sin, i->ifa_addr, sizeof(sin));
        if ((ntohl(sin.sin_addr.s_addr) >> 24) == 127)
            continue;
        *ret_addr = sin.sin_addr;
        found = true;
        if (!(i->ifa_flags & IFF_LOOPBACK))
            break;
    }
    freeifaddrs(list);
    return found;
}

static void targets_choose(struct canary *c)
{
    struct in_addr lo = {.s_addr = htonl(INADDR_LOOPBACK)}, own;

    c->round.count = 0;
    target_add(c, AF_INET, &lo, c->listener.port4);
    if (own_address(&own))
        target_add(c, AF_INET, &own, c->listener.port4);
    if (c->listener.port6 != 0)
        target_add(c, AF_INET6, &in6addr_loopback, c->listener.port6);
}

static void control_end(struct control *k, uint32_t error)
{
    k->error = error;
    if (k->event)
        event_free(k->event);
    k->event = NULL;
    if (k->fd >= 0)
        (void)close(k->fd);
    k->fd = -1;
}

/* Readable or failed: only the listener's own banner counts as reached. */
static void control_read(struct control *k)
{
    const struct listener *l = &k->canary->listener;
    uint8_t banner[LISTENER_BANNER_SIZE];
    ssize_t n = recv(k->fd, banner, sizeof(banner), 0);

    if (n == (ssize_t)sizeof(banner) && memcmp(banner, l->banner, sizeof(banner)) == 0)
        control_end(k, 0);
    else
        control_end(k, n < 0 ? (uint32_t)errno : EPROTO);
}

static void on_control(evutil_socket_t fd, short what, void *arg)
{
    struct control *k = arg;
    struct canary *c = k->canary;

    (void)fd;
    (void)what;
    cost_own_begin(&c->cost);
    control_read(k);
    round_check(c);
    cost_own_end(&c->cost);
}

static void control_start(struct canary *c, uint32_t i)
{
    struct control *k = &c->controls[i];
    int r = target_connect(&c->round.targets[i], &k->fd);

    k->canary = c;
    k->error = CONTROL_PENDING;
    if (r < 0 && r != -EINPROGRESS) {
        control_end(k, (uint32_t)-r);
        return;
    }
    k->event = event_new(c->base, k->fd, EV_READ, on_control, k);
    if (!k->event || event_add(k->event, NULL) < 0)
        control_end(k, ENOMEM);
}

static void controls_end(struct canary *c)
{
    for (uint32_t i = 0; i < PROBE_TARGETS_MAX; i++)
        control_end(&c->controls[i], 0);
}

static void round_start(struct canary *c)
{
    struct timeval tv = ms_timeval(CANARY_ROUND_MS);

    cost_round_begin(&c->cost);
    controls_end(c);
    c->in_round = true;
    c->asked = c->answered = false;
    c->round.round++;
    (void)event_add(c->round_limit, &tv);
    if (c->listener.pidfd < 0) {
        round_end(c, WIRE_CANARY_NO_TARGET, "the listener is gone");
        return;
    }
    targets_choose(c);
    for (uint32_t i = 0; i < c->round.count; i++)
        control_start(c, i);
    if (c->probe_state == PROBE_GONE)
        round_end(c, WIRE_CANARY_NO_PROBE, "the probe is gone");
    else
        round_check(c);
}

/* A leak overrules for everybody. */
static bool is_overruled(const struct canary *c, const struct canary_waiter *w)
{
    return c->overrule == WIRE_CANARY_LEAK ||
           (c->overrule != WIRE_CANARY_HOLDS && !w->is_for_others);
}

static void waiter_tell(const struct canary *c, const struct canary_waiter *w)
{
    if (is_overruled(c, w))
        w->fn(w->arg, c->overrule, c->overrule_what);
    else
        w->fn(w->arg, c->verdict, c->what);
}

/* One at a time: a callback may cancel others, or begin a round, whose end is for those left. */
static void waiters_tell(struct canary *c)
{
    while (c->waiters && !c->in_round) {
        struct canary_waiter *w = c->waiters;

        c->waiters = w->next;
        waiter_tell(c, w);
    }
}

/* Whom no round helps; the others wait for theirs. */
static void overruled_tell(struct canary *c)
{
    struct canary_waiter **p = &c->waiters;

    while (*p) {
        struct canary_waiter *w = *p;

        if (!is_overruled(c, w)) {
            p = &w->next;
            continue;
        }
        *p = w->next;
        waiter_tell(c, w);
        p = &c->waiters;
    }
}

static void round_end(struct canary *c, enum wire_canary verdict, const char *what)
{
    /* Nothing was found out, perhaps because the host is busy: once more before anybody suffers. */
    if (!c->repeated && (verdict == WIRE_CANARY_NO_PROBE || verdict == WIRE_CANARY_NO_TARGET)) {
        c->repeated = true;
        round_start(c);
        return;
    }
    c->repeated = false;
    if (verdict != c->verdict && verdict != WIRE_CANARY_HOLDS)
        log_error("canary: nothing is started: %s verdict=%d", what, (int)verdict);
    else if (verdict != c->verdict)
        log_info("canary: the network rules hold");
    c->in_round = false;
    c->verdict = verdict;
    str_cut(c->what, sizeof(c->what), what);
    c->held_ms = verdict == WIRE_CANARY_HOLDS ? clock_ms() : 0;
    (void)event_del(c->round_limit);
    controls_end(c);
    cost_own_end(&c->cost);
    cost_round_end(&c->cost);
    waiters_tell(c);
}

/* Errors that say "a rule refused this"; any other says that nothing was found out. */
static bool is_refusal(uint32_t error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == EACCES || error == EPERM;
}

static void round_end_at(struct canary *c, enum wire_canary verdict, const char *words,
                         uint32_t target)
{
    char where[INET6_ADDRSTRLEN], what[WIRE_PATH_SIZE];

    target_text(&c->round.targets[target], where, sizeof(where));
    (void)snprintf(what, sizeof(what), "%s %s", words, where);
    round_end(c, verdict, what);
}

static void round_judge(struct canary *c)
{
    for (uint32_t i = 0; i < c->round.count; i++) {
        if (c->answer.error[i] == 0) {
            round_end_at(c, WIRE_CANARY_LEAK, "the probe reached", i);
            return;
        }
    }
    for (uint32_t i = 0; i < c->round.count; i++) {
        if (c->controls[i].error != 0) {
            round_end_at(c, WIRE_CANARY_NO_TARGET, "root does not reach the listener at", i);
            return;
        }
        if (!is_refusal(c->answer.error[i])) {
            round_end_at(c, WIRE_CANARY_NO_PROBE, "the probe got neither yes nor no from", i);
            return;
        }
    }
    round_end(c, WIRE_CANARY_HOLDS, "");
}

/* A probe that is still starting is asked as soon as it is live. */
static void probe_ask(struct canary *c)
{
    if (c->probe_state != PROBE_LIVE || c->asked)
        return;
    c->asked = true;
    if (msg_send(c->probe.sock, &c->round, sizeof(c->round), NULL, 0) < 0)
        round_end(c, WIRE_CANARY_NO_PROBE, "the probe does not listen");
}

/* Go on with a round as far as it goes: after every answer, and when the probe comes up. */
static void round_check(struct canary *c)
{
    if (!c->in_round)
        return;
    if (!c->answered) {
        probe_ask(c);
        return;
    }
    for (uint32_t i = 0; i < c->round.count; i++) {
        if (c->controls[i].error == CONTROL_PENDING)
            return;
    }
    round_judge(c);
}

static void on_round_limit(evutil_socket_t fd, short what, void *arg)
{
    struct canary *c = arg;

    (void)fd;
    (void)what;
    if (!c->answered)
        round_end(c, WIRE_CANARY_NO_PROBE, "the probe did not answer");
    else
        round_end(c, WIRE_CANARY_NO_TARGET, "root's own connection did not answer");
}

/* --- the outside --------------------------------------------------------------------------- */

void canary_require(struct canary *c, struct canary_waiter *w)
{
    bool is_fresh = c->verdict == WIRE_CANARY_HOLDS && canary_age_ms(c) <= CANARY_FRESH_MS;

    c->cost.sum.asked++;
    if (SABOTAGED("canary") || (is_fresh && !is_overruled(c, w))) {
        w->fn(w->arg, WIRE_CANARY_HOLDS, "");
        return;
    }
    if (is_overruled(c, w)) {
        waiter_tell(c, w);
        return;
    }
    w->next = c->waiters;
    c->waiters = w;
    c->cost.sum.asked_new++;
    if (c->in_round)
        return;
    cost_own_begin(&c->cost);
    round_start(c);
    cost_own_end(&c->cost);
}

void canary_cancel(struct canary *c, struct canary_waiter *w)
{
    for (struct canary_waiter **p = &c->waiters; *p; p = &(*p)->next) {
        if (*p == w) {
            *p = w->next;
            return;
        }
    }
}

void canary_forget(struct canary *c)
{
    c->held_ms = 0;
    c->verdict = WIRE_CANARY_UNKNOWN;
    /* What is under way may have been answered by what is gone: ask again. */
    if (c->in_round)
        round_start(c);
}

void canary_overrule(struct canary *c, enum wire_canary verdict, const char *what)
{
    if (c->overrule == verdict)
        return;
    c->overrule = verdict;
    c->overrule_what = what;
    if (verdict == WIRE_CANARY_HOLDS) {
        log_info("canary: its own word counts again");
        return;
    }
    log_error("canary: nothing is started: %s verdict=%d", what, (int)verdict);
    overruled_tell(c);
}

uint32_t canary_age_ms(const struct canary *c)
{
    int64_t age;

    if (c->held_ms == 0)
        return UINT32_MAX;
    age = clock_ms() - c->held_ms;
    return age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
}

void canary_report(struct canary *c, struct wire_status *status)
{
    bool is_overruled = c->overrule != WIRE_CANARY_HOLDS;

    status->canary = is_overruled ? c->overrule : c->verdict;
    status->canary_age_ms = canary_age_ms(c);
    str_cut(status->canary_what, sizeof(status->canary_what),
            is_overruled ? c->overrule_what : c->what);
    cost_report(&c->cost, &status->canary_cost);
}

int canary_new(struct event_base *base, int spawner_sock, struct cgroup *cgroup,
               struct canary **ret_c)
{
    struct canary *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -ENOMEM;
    c->base = base;
    c->spawner_sock = spawner_sock;
    c->cgroup = cgroup;
    c->overrule = WIRE_CANARY_HOLDS;
    c->listener.pidfd = -1;
    c->probe = (struct spawned){.sock = -1, .pidfd = -1};
    for (uint32_t i = 0; i < PROBE_TARGETS_MAX; i++)
        c->controls[i].fd = -1;
    c->round_limit = evtimer_new(base, on_round_limit, c);
    c->probe_retry = evtimer_new(base, on_probe_retry, c);
    c->listener_retry = evtimer_new(base, on_listener_retry, c);
    r = c->round_limit && c->probe_retry && c->listener_retry ? listener_watch(c) : -ENOMEM;
    if (r < 0) {
        canary_free(c);
        return r;
    }
    probe_start(c);
    *ret_c = c;
    return 0;
}

void canary_free(struct canary *c)
{
    struct event *events[] = {c->round_limit, c->probe_retry, c->listener_retry, c->listener_dead};

    controls_end(c);
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i])
            event_free(events[i]);
    }
    filter_proof_cancel(c->proof);
    spawned_done(&c->probe);
    listener_stop(&c->listener);
    free(c);
}

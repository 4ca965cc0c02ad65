/* SPDX-License-Identifier: ISC */
/*
 * net_follow.c - what the rules are made of changes by itself.
 *
 * One look-up at a time, of all names together. What is asked for meanwhile is done after it.
 */
#include "sessiond/monitor/net_follow.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/net_link.h"
#include "sessiond/monitor/net_names.h"
#include "sessiond/monitor/netkeep.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define LOOKUP_LIMIT_MS 12000 /* it ends by itself after 8 s */
#define LINK_PAUSE_MS   50    /* an interface that comes up says so in several steps */

struct net_follow {
    struct monitor *monitor;
    struct net_config *config;
    struct event *link_news, *link_due, *names_due, *names_limit, *answers;
    int link_fd, answers_fd;
    pid_t pid;         /* of the look-up that is under way, or 0 */
    uint64_t answered; /* bit n: name n has its answer in this look-up */
    bool has_changed;  /* addresses, in this look-up */
    bool is_wanted;    /* again, at once */
};

static void event_in(struct event *e, int64_t ms)
{
    struct timeval tv = ms_timeval(ms > 0 ? ms : 0);

    (void)event_add(e, &tv);
}

/* --- networks of the host ------------------------------------------------------------------ */

/* Return: whether they are others than before; or a negative errno. */
static int links_update(struct net_config *config)
{
    struct prefix links[NET_LINKS_MAX + 1];
    int n = net_link_list(links, NET_LINKS_MAX + 1);

    if (n < 0)
        return n;
    if ((size_t)n == config->link_count &&
        memcmp(links, config->links, (size_t)n * sizeof(links[0])) == 0)
        return 0;
    memcpy(config->links, links, (size_t)n * sizeof(links[0]));
    config->link_count = (size_t)n;
    return 1;
}

static bool links_count(const struct net_config *config)
{
    return config->policy && config->policy->deny_on_link;
}

/* What is refused may be more by now than when names were looked up. */
static void names_recheck(struct net_config *config)
{
    struct prefix denied[NETRULES_DENIED_MAX + 1];
    size_t n = net_denied(config, denied);

    (void)names_refuse(&config->names, denied, n);
}

static void on_link_due(evutil_socket_t fd, short what, void *arg)
{
    struct net_follow *f = arg;
    int r = links_update(f->config);

    (void)fd;
    (void)what;
    if (r < 0) {
        log_warning("the networks of the host cannot be listed, again in a second errno=%d", -r);
        event_in(f->link_due, 1000);
        return;
    }
    if (r == 0 || !links_count(f->config))
        return;
    log_info("the host is in other networks than before count=%zu", f->config->link_count);
    names_recheck(f->config);
    netkeep_change(f->monitor->netkeep);
}

static void on_link_news(evutil_socket_t fd, short what, void *arg)
{
    struct net_follow *f = arg;

    (void)what;
    if (net_link_read(fd) && !event_pending(f->link_due, EV_TIMEOUT, NULL))
        event_in(f->link_due, LINK_PAUSE_MS);
}

/* --- names --------------------------------------------------------------------------------- */

static void lookup_start(struct net_follow *f);

static void names_plan(struct net_follow *f)
{
    int64_t due_ms = names_due_ms(&f->config->names);

    if (f->pid != 0)
        return;
    if (f->is_wanted && f->config->names.count > 0)
        lookup_start(f);
    else if (due_ms == INT64_MAX)
        (void)event_del(f->names_due);
    else
        event_in(f->names_due, due_ms - clock_ms());
}

static void refused_say(const struct names_entry *e)
{
    char text[PREFIX_TEXT_SIZE];

    prefix_text(&e->first_refused, text);
    log_warning("a name of the policy has an address that is refused, which is left out name=%s "
                "address=%s count=%u",
                e->host, text, e->refused);
}

static void answer_take(struct net_follow *f, uint32_t i, const struct names_answer *answer)
{
    struct prefix denied[NETRULES_DENIED_MAX + 1];
    struct names_entry *e = &f->config->names.entries[i];
    enum names_state before = e->state;
    uint32_t refused = e->refused, left_out = e->left_out;
    size_t n = net_denied(f->config, denied);

    if (names_take(&f->config->names, i, answer, denied, n, clock_ms())) {
        f->has_changed = true;
        log_info("a name of the policy has other addresses than before name=%s count=%u", e->host,
                 e->count);
    }
    if (e->refused > 0 && refused == 0)
        refused_say(e);
    if (e->left_out > 0 && left_out == 0)
        log_warning("a name of the policy has more addresses than there is room for name=%s "
                    "left_out=%u",
                    e->host, e->left_out);
    if (e->state != before && e->state != NAMES_FOUND)
        log_warning("a name of the policy cannot be looked up: %s; what it was stays for now "
                    "name=%s addresses=%u",
                    names_state_word(e->state), e->host, e->count);
    else if (e->state != before && before == NAMES_FAILED)
        log_notice("a name of the policy is found again name=%s", e->host);
}

static void lookup_end(struct net_follow *f, const char *fault)
{
    const struct names_answer none = {.state = NAMES_FAILED};
    int r;

    (void)event_del(f->names_limit);
    if (f->answers) {
        event_free(f->answers);
        f->answers = NULL;
        (void)close(f->answers_fd);
    }
    if (f->pid > 0) {
        /* It is not reaped yet, so the number is its own; at the end of its pipe it is as good as
         * gone. */
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
        f->pid = 0;
    }
    if (fault)
        log_error("names of the policy cannot be looked up: %s", fault);
    for (uint32_t i = 0; i < f->config->names.count; i++) {
        if ((f->answered & (1ull << i)) == 0)
            answer_take(f, i, &none);
    }
    r = net_names_save(&f->config->names);
    if (r < 0)
        log_warning("what names stand for cannot be saved errno=%d", -r);
    if (f->has_changed)
        netkeep_change(f->monitor->netkeep);
    names_plan(f);
}

static void on_answers(evutil_socket_t fd, short what, void *arg)
{
    struct net_follow *f = arg;
    struct names_answer answer;
    uint32_t i;
    int r;

    (void)what;
    while ((r = net_names_read(fd, f->config->names.count, &f->answered, &i, &answer)) == 1)
        answer_take(f, i, &answer);
    if (r == -EAGAIN)
        return;
    lookup_end(f, r == 0 ? NULL : "what the program says is no answer");
}

static void on_names_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    lookup_end(arg, "it takes too long");
}

static void lookup_start(struct net_follow *f)
{
    int r;

    f->is_wanted = f->has_changed = false;
    f->answered = 0;
    (void)event_del(f->names_due);
    r = net_names_start(f->config, &f->pid, &f->answers_fd);
    if (r < 0) {
        f->pid = 0;
        lookup_end(f, r == -EDESTADDRREQ ? "sessiond has no --resolver" : strerrordesc_np(-r));
        return;
    }
    f->answers = event_new(f->monitor->base, f->answers_fd, EV_READ | EV_PERSIST, on_answers, f);
    if (!f->answers || event_add(f->answers, NULL) < 0) {
        lookup_end(f, "there is no memory");
        return;
    }
    event_in(f->names_limit, LOOKUP_LIMIT_MS);
}

static void on_names_due(evutil_socket_t fd, short what, void *arg)
{
    struct net_follow *f = arg;

    (void)fd;
    (void)what;
    if (f->pid == 0 && f->config->names.count > 0)
        lookup_start(f);
}

/* --- both ---------------------------------------------------------------------------------- */

static void names_of_policy(struct net_config *config)
{
    static const struct policy_net nothing;

    names_follow(&config->names, config->policy ? config->policy : &nothing, clock_ms());
    names_recheck(config);
}

int net_follow_prepare(struct net_config *config)
{
    int r = links_update(config);

    if (r < 0 && links_count(config))
        return r;
    (void)net_names_restore(&config->names);
    names_of_policy(config);
    return 0;
}

void net_follow_policy(struct net_follow *f)
{
    int r = links_update(f->config);

    if (r < 0)
        event_in(f->link_due, 0);
    /* Answers of a look-up that is under way are about other names. */
    if (f->pid > 0) {
        f->has_changed = false;
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
        f->pid = 0;
        event_free(f->answers);
        f->answers = NULL;
        (void)close(f->answers_fd);
        (void)event_del(f->names_limit);
    }
    names_of_policy(f->config);
    f->is_wanted = true;
    names_plan(f);
}

int net_follow_new(struct monitor *m, struct net_config *config)
{
    struct net_follow *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    m->net_follow = f;
    f->monitor = m;
    f->config = config;
    f->link_fd = net_link_open();
    if (f->link_fd < 0)
        return f->link_fd;
    f->link_news = event_new(m->base, f->link_fd, EV_READ | EV_PERSIST, on_link_news, f);
    f->link_due = evtimer_new(m->base, on_link_due, f);
    f->names_due = evtimer_new(m->base, on_names_due, f);
    f->names_limit = evtimer_new(m->base, on_names_limit, f);
    if (!f->link_news || !f->link_due || !f->names_due || !f->names_limit ||
        event_add(f->link_news, NULL) < 0)
        return -ENOMEM;
    /* What has changed since net_follow_prepare(). */
    event_in(f->link_due, 0);
    names_plan(f);
    return 0;
}

void net_follow_report(const struct net_follow *f, struct wire_status *st)
{
    const struct names *names = &f->config->names;

    st->names = names->count;
    for (uint32_t i = 0; i < names->count; i++) {
        st->names_failed += names->entries[i].state == NAMES_FAILED;
        st->names_refused += names->entries[i].refused > 0;
    }
}

int net_follow_show(FILE *to)
{
    static struct names names;
    int r = net_names_restore(&names);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < names.count; i++) {
        const struct names_entry *e = &names.entries[i];

        (void)fprintf(to, "%-30s %s", e->host, names_state_word(e->state));
        for (uint32_t k = 0; k < e->count; k++) {
            char text[PREFIX_TEXT_SIZE];

            prefix_text(&e->addresses[k].prefix, text);
            (void)fprintf(to, " %s", text);
        }
        if (e->refused > 0)
            (void)fprintf(to, " (%u refused)", e->refused);
        if (e->left_out > 0)
            (void)fprintf(to, " (%u left out)", e->left_out);
        (void)fputc('\n', to);
    }
    return ferror(to) ? -EIO : 0;
}

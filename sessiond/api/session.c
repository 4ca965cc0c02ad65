/* SPDX-License-Identifier: ISC */
/* session.c - the table of logins that live, and who may add to it. */
#include "sessiond/api/session.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "sessiond/api/app.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/login.h"
#include "sessiond/api/outcome.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/*
 * A login that was let in is up or has failed long before (sshd's LoginGraceTime is 120 s by
 * default): after that its place is free again. sessiond says nothing if our answer came too late.
 */
#define ASKED_MS (150 * 1000)

struct session {
    TAILQ_ENTRY(session) link;
    uint32_t tag; /* of the question, while it is answered and not live; else 0 */
    int64_t asked_ms;
    bool is_named;  /* by sessiond, since it was connected to */
    bool is_killed; /* its end was asked for */
    uint32_t uid;
    char session_id[WIRE_SESSION_ID_SIZE];
    char name[NAME_SIZE]; /* "" if the user is gone */
    struct wire_session_started m;
};

struct session_table {
    struct app *app;
    TAILQ_HEAD(, session) all;
    uint32_t count; /* of all, those that come up too */
    bool is_synced;
};

/* --- table --- */

int session_table_new(struct app *app, struct session_table **ret_table)
{
    struct session_table *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->app = app;
    TAILQ_INIT(&t->all);
    *ret_table = t;
    return 0;
}

static struct session *session_add(struct session_table *t)
{
    struct session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    TAILQ_INSERT_TAIL(&t->all, s, link);
    t->count++;
    return s;
}

static void session_drop(struct session_table *t, struct session *s)
{
    TAILQ_REMOVE(&t->all, s, link);
    t->count--;
    free(s);
}

void session_table_free(struct session_table *t)
{
    if (!t)
        return;
    while (!TAILQ_EMPTY(&t->all))
        session_drop(t, TAILQ_FIRST(&t->all));
    free(t);
}

static bool is_live(const struct session *s)
{
    return s->tag == 0;
}

uint32_t session_table_count(const struct session_table *t)
{
    const struct session *s;
    uint32_t n = 0;

    TAILQ_FOREACH(s, &t->all, link)
    {
        n += is_live(s);
    }
    return n;
}

size_t session_table_count_of(const struct session_table *t, uint32_t uid)
{
    const struct session *s;
    size_t n = 0;

    TAILQ_FOREACH(s, &t->all, link)
    {
        n += s->uid == uid;
    }
    return n;
}

bool session_table_is_synced(const struct session_table *t)
{
    return t->is_synced;
}

static struct session *find_live(const struct session_table *t, const char *id)
{
    struct session *s;

    TAILQ_FOREACH(s, &t->all, link)
    {
        if (is_live(s) && strcmp(s->session_id, id) == 0)
            return s;
    }
    return NULL;
}

static struct session *find_asked(const struct session_table *t, uint32_t tag)
{
    struct session *s;

    TAILQ_FOREACH(s, &t->all, link)
    {
        if (!is_live(s) && s->tag == tag)
            return s;
    }
    return NULL;
}

static int send_kill(const struct session_table *t, const char *id)
{
    struct wire_session_kill m = {.head = {.type = WIRE_SESSION_KILL}};

    (void)str_copy(m.session_id, sizeof(m.session_id), id);
    return core_send(t->app->core, &m, sizeof(m), NULL, 0);
}

/* --- audit --- */

static int row_put(const struct session_table *t, const struct session_row *row)
{
    int r = session_put(t->app->reg, row);

    if (r < 0)
        log_error("session audit could not be written: %s session=%s", registry_error(t->app->reg),
                  row->session_id);
    return r;
}

static struct session_row row_of(const struct session *s)
{
    struct session_row row = {.uid = s->uid, .started_us = s->m.started_us};

    (void)str_copy(row.session_id, sizeof(row.session_id), s->session_id);
    str_cut(row.service, sizeof(row.service), s->m.service);
    str_cut(row.line, sizeof(row.line), s->m.line);
    str_cut(row.rhost, sizeof(row.rhost), s->m.rhost);
    return row;
}

/* The end of a session, in the audit and the log. */
static void row_end(const struct session_table *t, struct session_row *row, uint32_t end,
                    int64_t ended_us, const struct wire_usage *usage)
{
    char used[96] = "";

    if (usage && usage->memory_peak_bytes != WIRE_NOT_KNOWN)
        (void)snprintf(used, sizeof(used), " memory_peak=%" PRIu64, usage->memory_peak_bytes);
    if (usage && usage->oom_kills != WIRE_NOT_KNOWN)
        (void)snprintf(used + strlen(used), sizeof(used) - strlen(used), " oom_kills=%" PRIu64,
                       usage->oom_kills);
    row->ended_us = ended_us;
    (void)str_copy(row->end, sizeof(row->end), outcome_session_end_key(end));
    (void)row_put(t, row);
    log_notice("session closed session=%s uid=%u end=%s%s", row->session_id, row->uid, row->end,
               used);
}

/* @usage: NULL if it is not known */
static void session_close(struct session_table *t, struct session *s, uint32_t end,
                          int64_t ended_us, const struct wire_usage *usage)
{
    struct session_row row = row_of(s);

    row_end(t, &row, end, ended_us, usage);
    session_drop(t, s);
}

/* --- the question --- */

/* Logins that never came up: their places are free again. */
static void forget_stale(struct session_table *t, uint32_t tag)
{
    int64_t now = clock_mono_ms();

    for (struct session *s = TAILQ_FIRST(&t->all), *next; s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (!is_live(s) && (s->tag == tag || now - s->asked_ms > ASKED_MS))
            session_drop(t, s);
    }
}

/* Who it is, and may they? Return: NULL if they may, or why not. */
static const char *refusal(const struct session_table *t, uint32_t uid, struct user *ret_user,
                           struct group *ret_groups, size_t *ret_n)
{
    int r = user_by_uid(t->app->reg, uid, ret_user);

    if (r == -ENOENT)
        return "unknown user";
    if (r < 0)
        return registry_error(t->app->reg);
    if (!login_state_may(ret_user->state))
        return user_state_key(ret_user->state);
    if (t->app->is_stopping)
        return "sessiond-api ends";
    if (t->count >= WIRE_SESSIONS_MAX)
        return "too many sessions";
    if (session_table_count_of(t, uid) >= WIRE_SESSIONS_PER_USER_MAX)
        return "too many sessions of this user";
    if (group_of_user(t->app->reg, uid, ret_groups, WIRE_GROUPS_MAX, ret_n) < 0)
        return registry_error(t->app->reg);
    return NULL;
}

_Static_assert(SHELL_SIZE <= WIRE_PATH_SIZE, "every shell fits");

static void answer_fill(struct wire_session_answer *a, const struct user *user,
                        const struct group *groups, size_t n)
{
    unsigned char id[(SESSION_ID_SIZE - 1) / 2];

    a->verdict = WIRE_SESSION_ALLOW;
    a->uid = user->uid;
    a->gid = user->uid;
    a->profile = WIRE_PROFILE_LOGIN;
    a->cgroup_mode = WIRE_CGROUP_NONE;
    a->group_count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        a->groups[i].gid = groups[i].gid;
        (void)str_copy(a->groups[i].name, sizeof(a->groups[i].name), groups[i].name);
    }
    (void)str_copy(a->name, sizeof(a->name), user->name);
    (void)str_copy(a->shell, sizeof(a->shell), user->shell);
    randombytes_buf(id, sizeof(id));
    (void)sodium_bin2hex(a->session_id, sizeof(a->session_id), id, sizeof(id));
}

void session_table_asked(struct session_table *t, const struct wire_session_ask *m)
{
    struct wire_session_answer a = {.head = {.type = WIRE_SESSION_ANSWER, .tag = m->head.tag}};
    struct group groups[WIRE_GROUPS_MAX];
    struct session *s = NULL;
    struct user user = {0};
    const char *why;
    size_t n = 0;

    forget_stale(t, m->head.tag);
    why = refusal(t, m->uid, &user, groups, &n);
    if (!why) {
        s = session_add(t);
        why = s ? NULL : "no memory";
    }
    if (s) {
        answer_fill(&a, &user, groups, n);
        s->tag = m->head.tag;
        s->asked_ms = clock_mono_ms();
        s->uid = user.uid;
        (void)str_copy(s->session_id, sizeof(s->session_id), a.session_id);
        (void)str_copy(s->name, sizeof(s->name), user.name);
    } else {
        log_notice("session denied: %s uid=%u service=%s rhost=%s", why, m->uid, m->service,
                   m->rhost);
    }
    if (core_send(t->app->core, &a, sizeof(a), NULL, 0) < 0 && s)
        session_drop(t, s);
}

/* --- life --- */

/*
 * Between question and session, or while nobody looked, the user may have been locked. If it cannot
 * be found out, who is new goes; who was there stays until lockout.c looks again.
 */
static bool may_stay(const struct session_table *t, struct session *s, bool is_new)
{
    struct user user;
    int r = user_by_uid(t->app->reg, s->uid, &user);

    if (r == 0)
        (void)str_copy(s->name, sizeof(s->name), user.name);
    if (r == 0 && user.state == USER_STATE_RESERVED && user_activate(t->app->reg, s->uid) < 0)
        log_warning("a first login could not be noted: %s uid=%u", registry_error(t->app->reg),
                    s->uid);
    if (r < 0 && r != -ENOENT)
        return !is_new;
    return r == 0 && login_state_may(user.state);
}

/* The receipt as it goes into the audit; NULL if there is no memory for it. */
static char *receipt_text(const struct wire_receipt *r)
{
    json_t *json = json_of_receipt(r);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

    json_decref(json);
    return text;
}

/* For the journal; all of it is in the audit. */
static void log_receipt(const struct session *s)
{
    const struct wire_receipt *r = &s->m.receipt;
    char hash[2 * WIRE_HASH_SIZE + 1];

    (void)sodium_bin2hex(hash, sizeof(hash), r->filter_sha256, sizeof(r->filter_sha256));
    log_info("session receipt session=%s seccomp=%u filter=%s:%s cgroup=%s leaf=%s mounts=%u"
             " net_revision=%u canary_age_ms=%u",
             s->session_id, r->seccomp, json_filter_how(r->filter_how), hash,
             json_cgroup_mode(r->cgroup_mode), r->cgroup_leaf, r->mount_count, r->net_revision,
             r->canary_age_ms);
}

/* The entry that a message is about. *ret_s is NULL if sessiond has one that we do not know. */
static int find_started(const struct session_table *t, const struct wire_session_started *m,
                        struct session **ret_s)
{
    if (m->head.tag == 0) {
        *ret_s = find_live(t, m->session_id);
        return *ret_s && (*ret_s)->uid != m->uid ? -ENOENT : 0;
    }
    *ret_s = find_asked(t, m->head.tag);
    return *ret_s && (*ret_s)->uid == m->uid && strcmp((*ret_s)->session_id, m->session_id) == 0
               ? 0
               : -ENOENT;
}

int session_table_started(struct session_table *t, const struct wire_session_started *m)
{
    cleanup_free char *receipt = receipt_text(&m->receipt);
    bool is_new = m->head.tag != 0, is_audited;
    struct session_row row;
    struct session *s;
    int r = find_started(t, m, &s);

    if (r < 0)
        return r;
    if (!s) {
        s = session_add(t);
        if (!s) { /* What cannot be listed, locked or audited must not be there. */
            log_error("session killed: no memory session=%s uid=%u", m->session_id, m->uid);
            (void)send_kill(t, m->session_id);
            return 0;
        }
    }
    s->tag = 0;
    s->is_named = true;
    s->uid = m->uid;
    (void)str_copy(s->session_id, sizeof(s->session_id), m->session_id);
    s->m = *m;
    row = row_of(s);
    row.receipt = receipt;
    is_audited = row_put(t, &row) == 0 && receipt;
    if (!may_stay(t, s, is_new) || (is_new && !is_audited))
        s->is_killed = true;
    log_notice("session %s user=%s uid=%u session=%s service=%s line=%s rhost=%s%s",
               is_new ? "opened" : "found", s->name[0] ? s->name : "?", s->uid, s->session_id,
               m->service, m->line, m->rhost, s->is_killed ? " killed=yes" : "");
    log_receipt(s);
    if (s->is_killed)
        (void)send_kill(t, s->session_id);
    return 0;
}

int session_table_failed(struct session_table *t, const struct wire_session_failed *m)
{
    struct session *s = find_asked(t, m->head.tag);
    char message[512];

    if (!s || strcmp(s->session_id, m->session_id) != 0)
        return -ENOENT;
    outcome_step_message(m->step, m->error, m->what, message, sizeof(message));
    log_error("session failed: %s session=%s uid=%u", message, s->session_id, s->uid);
    session_drop(t, s);
    return 0;
}

int session_table_ended(struct session_table *t, const struct wire_session_ended *m)
{
    struct session *s = find_live(t, m->session_id);

    if (s && s->uid != m->uid)
        return -ENOENT;
    if (!s) /* There was no room for its entry. */
        log_warning("a session ended that is not in the table session=%s uid=%u", m->session_id,
                    m->uid);
    else
        session_close(t, s, m->end, m->ended_us, &m->usage);
    return 0;
}

/* --- after a new connection --- */

void session_table_down(struct session_table *t)
{
    t->is_synced = false;
    for (struct session *s = TAILQ_FIRST(&t->all), *next; s; s = next) {
        next = TAILQ_NEXT(s, link);
        s->is_named = false;
        if (!is_live(s))
            session_drop(t, s);
    }
}

/* Rows are collected first: the registry is not asked anything else while it lists. */
struct stale_rows {
    const struct session_table *table;
    struct session_row *rows;
    size_t n, size;
};

static int collect_stale(void *arg, const struct session_row *row)
{
    struct stale_rows *l = arg;

    if (find_live(l->table, row->session_id))
        return 0;
    if (l->n == l->size) {
        size_t size = l->size ? l->size * 2 : 16;
        struct session_row *p = reallocarray(l->rows, size, sizeof(*p));

        if (!p)
            return -ENOMEM;
        l->rows = p;
        l->size = size;
    }
    l->rows[l->n++] = *row;
    return 0;
}

void session_table_synced(struct session_table *t)
{
    struct stale_rows stale = {.table = t};
    int64_t now_us = clock_unix_us();

    for (struct session *s = TAILQ_FIRST(&t->all), *next; s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (is_live(s) && !s->is_named)
            session_close(t, s, WIRE_SESSION_END_LOST, now_us, NULL);
    }
    if (session_list_open(t->app->reg, collect_stale, &stale) < 0)
        log_error("session audit could not be read: %s", registry_error(t->app->reg));
    for (size_t i = 0; i < stale.n; i++)
        row_end(t, &stale.rows[i], WIRE_SESSION_END_LOST, now_us, NULL);
    free(stale.rows);
    t->is_synced = true;
}

/* --- requests --- */

int session_table_list(const struct session_table *t, session_view_fn fn, void *arg)
{
    const struct session *s;
    int r = 0;

    TAILQ_FOREACH(s, &t->all, link)
    {
        if (r == 0 && is_live(s))
            r = fn(arg, s->name, &s->m);
    }
    return r;
}

int session_table_get(const struct session_table *t, const char *id, session_view_fn fn, void *arg)
{
    const struct session *s = find_live(t, id);

    return s ? fn(arg, s->name, &s->m) : -ENOENT;
}

int session_table_kill(struct session_table *t, const char *id)
{
    struct session *s = find_live(t, id);
    int r = s ? send_kill(t, id) : -ENOENT;

    if (r == 0)
        s->is_killed = true;
    return r;
}

void session_table_lock(struct session_table *t, uint32_t uid)
{
    struct session *s;

    forget_stale(t, 0);
    TAILQ_FOREACH(s, &t->all, link)
    {
        if (s->uid == uid)
            s->is_killed = true;
    }
}

void session_table_each_uid(const struct session_table *t, void (*fn)(void *arg, uint32_t uid),
                            void *arg)
{
    const struct session *s;

    TAILQ_FOREACH(s, &t->all, link)
    {
        if (!s->is_killed)
            fn(arg, s->uid);
    }
}

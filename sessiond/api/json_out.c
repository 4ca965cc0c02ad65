/* SPDX-License-Identifier: ISC */
/* json_out.c - rows and messages as JSON. */
#include "sessiond/api/json_out.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>

#include "sessiond/api/timestamp.h"

#include "common/banned.h"

json_t *json_of_text(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

json_t *json_of_time(int64_t s)
{
    char text[TIMESTAMP_SIZE];

    return s != 0 && timestamp_format(s, text) == 0 ? json_string(text) : json_null();
}

json_t *json_of_group(const struct group *g)
{
    return json_pack("{s:s, s:I}", "name", g->name, "gid", (json_int_t)g->gid);
}

json_t *json_of_group_names(const struct group *groups, size_t n)
{
    json_t *names = json_array();

    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(names, json_string(groups[i].name)) < 0) {
            json_decref(names);
            return NULL;
        }
    }
    return names;
}

json_t *json_of_new_user(const struct user *u, bool is_created)
{
    return json_pack("{s:s, s:I, s:s, s:b}", "name", u->name, "uid", (json_int_t)u->uid, "state",
                     user_state_key(u->state), "created", is_created);
}

json_t *json_of_external_id(uint32_t owner_uid, const char *external_id)
{
    return json_pack("{s:I, s:s}", "caller", (json_int_t)owner_uid, "external_id", external_id);
}

json_t *json_of_user(const struct user *u, json_t *external_ids, const struct group *groups,
                     size_t n)
{
    return json_pack("{s:s, s:I, s:s, s:o, s:o, s:I, s:o, s:o, s:s, s:s}", "name", u->name, "uid",
                     (json_int_t)u->uid, "state", user_state_key(u->state), "email",
                     json_of_text(u->email), "external_ids", external_ids, "created_s",
                     (json_int_t)u->created_s, "expires_at", json_of_time(u->expires_s), "groups",
                     json_of_group_names(groups, n), "comment", u->comment, "shell", u->shell);
}

json_t *json_of_caller(const struct caller *c)
{
    json_t *verbs = json_array();

    for (uint32_t v = 0; v < CALLER_VERB__COUNT; v++) {
        if (c->verbs & (1u << v))
            (void)json_array_append_new(verbs, json_string(caller_verb_key((enum caller_verb)v)));
    }
    return json_pack("{s:I, s:o, s:o, s:I}", "uid", (json_int_t)c->uid, "groups",
                     json_of_group_names(c->groups, c->group_count), "verbs", verbs, "created_s",
                     (json_int_t)c->created_s);
}

static json_t *u32_array(const uint32_t *v, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, json_integer(v[i]));
    return array;
}

/* Capability sets as /proc/PID/status writes them. */
static json_t *cap_set(uint64_t set)
{
    return json_sprintf("%016" PRIx64, set);
}

static json_t *capabilities(const struct wire_receipt *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "inheritable", cap_set(r->cap_inh), "permitted",
                     cap_set(r->cap_prm), "effective", cap_set(r->cap_eff), "bounding",
                     cap_set(r->cap_bnd), "ambient", cap_set(r->cap_amb));
}

static bool is_own(const struct wire_receipt *r, enum wire_ns ns)
{
    return r->ns_own & (1u << ns);
}

static json_t *namespaces(const struct wire_receipt *r)
{
    static const char *const names[WIRE_NS__COUNT] = {
        [WIRE_NS_MNT] = "mnt",   [WIRE_NS_PID] = "pid", [WIRE_NS_IPC] = "ipc",
        [WIRE_NS_UTS] = "uts",   [WIRE_NS_NET] = "net", [WIRE_NS_CGROUP] = "cgroup",
        [WIRE_NS_USER] = "user",
    };
    json_t *all = json_object();

    for (unsigned i = 0; i < WIRE_NS__COUNT; i++)
        (void)json_object_set_new(all, names[i],
                                  json_pack("{s:I, s:b}", "inode", (json_int_t)r->ns_inode[i],
                                            "own", is_own(r, (enum wire_ns)i)));
    return all;
}

/* A limit, or null where there is none; JSON integers end at 2^63 - 1. */
static json_t *limit(uint64_t v, uint64_t none)
{
    return v == none || v > INT64_MAX ? json_null() : json_integer((json_int_t)v);
}

static json_t *cgroup(const struct wire_receipt *r)
{
    bool is_none = r->cgroup_mode == WIRE_CGROUP_NONE;

    /* Without a group its 0 would say that there is no swap. */
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mode",
                     json_cgroup_mode(r->cgroup_mode), "leaf", r->cgroup_leaf, "memory_max",
                     limit(r->cgroup_memory_max, 0), "swap_max",
                     is_none ? json_null() : limit(r->cgroup_swap_max, UINT64_MAX), "oom_group",
                     is_none ? json_null() : json_boolean(r->cgroup_oom_group != 0), "pids_max",
                     limit(r->cgroup_pids_max, 0), "cpu_quota_us", limit(r->cgroup_cpu_quota_us, 0),
                     "cpu_period_us", limit(r->cgroup_cpu_period_us, 0), "io_weight",
                     limit(r->io_weight, 0), "io_read", limit(r->io_read, 0), "io_write",
                     limit(r->io_write, 0));
}

static json_t *disk(const struct wire_receipt *r)
{
    return json_pack("{s:s, s:o, s:o}", "mode", json_disk_mode(r->disk), "bytes",
                     limit(r->disk_bytes, 0), "files", limit(r->disk_files, 0));
}

static json_t *rlimits(const struct wire_receipt *r)
{
    json_t *all = json_object();

#define RLIMIT_JSON(field, key, resource)                                                          \
    (void)json_object_set_new(all, #field, limit(r->rlimit_##field, UINT64_MAX));
    WIRE_RLIMITS(RLIMIT_JSON)
#undef RLIMIT_JSON
    return all;
}

static json_t *mount_flags(const struct wire_receipt *r)
{
    return json_pack("{s:I, s:I, s:I}", "nosuid", (json_int_t)r->mount_nosuid, "nodev",
                     (json_int_t)r->mount_nodev, "loose", (json_int_t)r->mount_loose);
}

const char *json_filter_how(uint32_t how)
{
    static const char *const hows[WIRE_FILTER__COUNT] = {
#define FILTER_KEY(id, key) [WIRE_FILTER_##id] = (key),
        WIRE_FILTER_HOWS(FILTER_KEY)
#undef FILTER_KEY
    };

    return how < WIRE_FILTER__COUNT ? hows[how] : hows[WIRE_FILTER_UNKNOWN];
}

static json_t *filter(const struct wire_receipt *r)
{
    char hex[2 * WIRE_HASH_SIZE + 1];

    (void)sodium_bin2hex(hex, sizeof(hex), r->filter_sha256, sizeof(r->filter_sha256));
    return json_pack("{s:o, s:s}", "sha256",
                     r->filter_how == WIRE_FILTER_UNKNOWN ? json_null() : json_string(hex), "how",
                     json_filter_how(r->filter_how));
}

static json_t *signals(const struct wire_receipt *r)
{
    return json_pack("{s:o, s:o}", "ignored", cap_set(r->sig_ignored), "blocked",
                     cap_set(r->sig_blocked));
}

static json_t *skills(const struct wire_receipt *r)
{
    json_t *a = json_array();

    for (uint32_t i = 0; a && i < r->skill_count; i++) {
        if (json_array_append_new(a, json_string(r->skills[i])) < 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

json_t *json_of_receipt(const struct wire_receipt *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:o,"
                     " s:o, s:I, s:o, s:o, s:I, s:b, s:o, s:I}",
                     "uid", u32_array(r->uid, 4), "gid", u32_array(r->gid, 4), "groups",
                     u32_array(r->groups, r->group_count), "capabilities", capabilities(r),
                     "no_new_privs", (json_int_t)r->no_new_privs, "seccomp", (json_int_t)r->seccomp,
                     "seccomp_filters", (json_int_t)r->seccomp_filters, "filter", filter(r),
                     "namespaces", namespaces(r), "net", is_own(r, WIRE_NS_NET) ? "none" : "public",
                     "cgroup", cgroup(r), "rlimits", rlimits(r), "disk", disk(r), "mounts",
                     (json_int_t)r->mount_count, "mount_flags", mount_flags(r), "umask",
                     json_sprintf("%04o", r->umask), "oom_score_adj", (json_int_t)r->oom_score_adj,
                     "signals", signals(r), "skills", skills(r), "net_revision",
                     (json_int_t)r->net_revision, "net_group", r->net_group != 0, "net_limit",
                     limit(r->net_limit, 0), "canary_age_ms", (json_int_t)r->canary_age_ms);
}

json_t *json_of_watch(const struct wire_watch *w)
{
    return json_pack("{s:o, s:o}", "memory_max", limit(w->memory_max, 0), "pids_max",
                     limit(w->pids_max, 0));
}

const char *json_link_state(const struct link *l, int64_t now_s)
{
    if (l->used_s != 0)
        return "used";
    if (l->revoked_s != 0)
        return "revoked";
    return l->expires_s <= now_s ? "expired" : "open";
}

json_t *json_of_link(const struct link *l, int64_t now_s)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:o, s:o, s:I}", "id", l->link_id, "user",
                     l->name, "uid", (json_int_t)l->uid, "purpose", link_purpose_key(l->purpose),
                     "state", json_link_state(l, now_s), "created_at", json_of_time(l->created_s),
                     "expires_at", json_of_time(l->expires_s), "used_at", json_of_time(l->used_s),
                     "caller_uid", (json_int_t)l->caller_uid);
}

json_t *json_of_minted(const struct minted *m, const char *user, const char *url, const char *qr)
{
    json_t *v =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:s}", "id", m->link.link_id, "user", user, "uid",
                  (json_int_t)m->link.uid, "link", url, "code", m->code, "expires_at",
                  json_of_time(m->link.expires_s), "purpose", link_purpose_key(m->link.purpose));

    if (v && qr)
        (void)json_object_set_new(v, "qr", json_string(qr));
    return v;
}

json_t *json_of_session(const char *user, const struct wire_session_started *s)
{
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:I, s:I, s:s, s:o, s:o}", "id", s->session_id, "user",
        user, "uid", (json_int_t)s->uid, "service", s->service, "line", s->line, "rhost", s->rhost,
        "started_at", json_of_time(s->started_us / 1000000), "pid", (json_int_t)s->holder_pid,
        "init_pid", (json_int_t)s->init_pid, "abstract", s->is_scoped ? "scoped" : "shared",
        "receipt", json_of_receipt(&s->receipt), "watch", json_of_watch(&s->watch));
}

json_t *json_of_outcome(const struct outcome *o, uint64_t out_bytes)
{
    const char *signal = outcome_signal_name(o->signal);
    json_t *end = json_pack("{s:s, s:o, s:s?, s:o}", "status", status_key(o->status), "exit",
                            o->exit_code < 0 ? json_null() : json_integer(o->exit_code), "signal",
                            signal, "message", json_of_text(o->message));

    if (end && o->step)
        (void)json_object_set_new(end, "step", json_string(o->step));
    if (end)
        (void)json_object_set_new(
            end, "usage",
            json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "wall_ms", (json_int_t)o->usage.wall_ms,
                      "cpu_ms", (json_int_t)(o->usage.cpu_us / 1000), "rss_peak_kb",
                      (json_int_t)o->usage.rss_peak_kib, "out_bytes", (json_int_t)out_bytes,
                      "memory_peak", limit(o->usage.group.memory_peak_bytes, WIRE_NOT_KNOWN),
                      "pids_peak", limit(o->usage.group.pids_peak, WIRE_NOT_KNOWN)));
    return end;
}

const char *json_cgroup_mode(uint32_t mode)
{
    switch ((enum wire_cgroup_mode)mode) {
    case WIRE_CGROUP_NONE:
        return "none";
    case WIRE_CGROUP_V1:
        return "v1";
    case WIRE_CGROUP_V2_LITE:
        return "v2-lite";
    case WIRE_CGROUP_V2:
        return "v2";
    }
    return "none";
}

const char *json_disk_mode(uint64_t disk)
{
    static const char *const names[WIRE_DISK__COUNT] = {
        [WIRE_DISK_NONE] = "none", [WIRE_DISK_QUOTA] = "quota", [WIRE_DISK_IMAGE] = "image"};

    return disk < WIRE_DISK__COUNT ? names[disk] : "none";
}

const char *json_canary(uint32_t canary)
{
    switch ((enum wire_canary)canary) {
    case WIRE_CANARY_UNKNOWN:
        return "unknown";
    case WIRE_CANARY_HOLDS:
        return "holds";
    case WIRE_CANARY_LEAK:
        return "leak";
    case WIRE_CANARY_NO_PROBE:
        return "no_probe";
    case WIRE_CANARY_NO_TARGET:
        return "no_target";
    }
    return "no_probe";
}

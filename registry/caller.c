/* SPDX-License-Identifier: ISC */
/* caller.c - programs that may use the API: what they may do, and for whom. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "registry/caller.h"
#include "registry/change.h"
#include "registry/group.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define VERBS_SIZE 128u

static const char *const verb_keys[CALLER_VERB__COUNT] = {
#define CALLER_VERB_KEY(id, key) [CALLER_VERB_##id] = key,
    CALLER_VERBS(CALLER_VERB_KEY)
#undef CALLER_VERB_KEY
};

const char *caller_verb_key(enum caller_verb verb)
{
    return verb < CALLER_VERB__COUNT ? verb_keys[verb] : "unknown";
}

/* Keys, not bits, are stored: "users,runs". A new verb in the table moves no right. */
static void verbs_format(uint32_t verbs, char ret_text[VERBS_SIZE])
{
    size_t len = 0;

    memset(ret_text, 0, VERBS_SIZE);
    for (unsigned v = 0; v < CALLER_VERB__COUNT; v++) {
        if (!(verbs & (1u << v)))
            continue;
        len += (size_t)snprintf(ret_text + len, VERBS_SIZE - len, "%s%s", len > 0 ? "," : "",
                                verb_keys[v]);
        if (len >= VERBS_SIZE)
            len = VERBS_SIZE - 1;
    }
}

static bool verb_parse(const char *key, size_t len, uint32_t *verbs)
{
    for (unsigned v = 0; v < CALLER_VERB__COUNT; v++) {
        if (strlen(verb_keys[v]) == len && memcmp(verb_keys[v], key, len) == 0) {
            *verbs |= 1u << v;
            return true;
        }
    }
    return false;
}

static int verbs_parse(struct registry *reg, const char *text, uint32_t *ret_verbs)
{
    uint32_t verbs = 0;

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, ",");

        if (!verb_parse(p, len, &verbs))
            return registry_fail(reg, -EBADMSG, "unknown verb of a caller: %s", text);
        p += len + (p[len] == ',' ? 1 : 0);
    }
    *ret_verbs = verbs;
    return 0;
}

static bool caller_is_valid(const struct caller *caller)
{
    return caller->uid != 0 && caller->uid != UINT32_MAX &&
           caller->verbs < (1u << CALLER_VERB__COUNT) && caller->group_count <= CALLER_GROUPS_MAX;
}

static int caller_run(struct registry *reg, enum stmt_id id, uint32_t uid, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(reg, id);

    stmt_int(&st, 1, uid);
    return stmt_run(&st, what);
}

static int caller_row_put(struct registry *reg, const struct caller *caller)
{
    char verbs[VERBS_SIZE];
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_CALLER_PUT);

    verbs_format(caller->verbs, verbs);
    stmt_int(&st, 1, caller->uid);
    stmt_text(&st, 2, verbs);
    stmt_int(&st, 3, caller->created_s != 0 ? caller->created_s : now_s());
    return stmt_run(&st, "store a caller");
}

static int caller_group_put(struct registry *reg, uint32_t uid, uint32_t gid)
{
    cleanup_stmt struct stmt st = {0};
    struct group g;
    int r = group_by_gid(reg, gid, &g);

    if (r == -ENOENT)
        return registry_fail(reg, r, "no group has gid %u", gid);
    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_CALLER_GROUP_INSERT);
    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, gid);
    return stmt_run(&st, "store a group of a caller");
}

int caller_rows_put(struct registry *reg, const struct caller *caller)
{
    int r = caller_row_put(reg, caller);

    if (r == 0)
        r = caller_run(reg, STMT_CALLER_GROUPS_DELETE, caller->uid, "replace a caller's groups");
    for (uint32_t i = 0; r == 0 && i < caller->group_count; i++)
        r = caller_group_put(reg, caller->uid, caller->groups[i].gid);
    return r;
}

int caller_rows_clear(struct registry *reg)
{
    int r;

    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_CALLER_GROUPS_CLEAR);

        r = stmt_run(&st, "remove the groups of all callers");
    }
    if (r == 0) {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_CALLERS_CLEAR);

        r = stmt_run(&st, "remove all callers");
    }
    return r;
}

int caller_put(struct registry *reg, const struct caller *caller)
{
    int r;

    if (!caller_is_valid(caller))
        return registry_fail(reg, -EINVAL, "store a caller");
    r = change_begin(reg);
    if (r < 0)
        return r;
    r = caller_rows_put(reg, caller);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

static int caller_row_get(struct registry *reg, uint32_t uid, struct caller *ret_caller)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_CALLER_BY_UID);
    char verbs[VERBS_SIZE];
    int r;

    stmt_int(&st, 1, uid);
    r = stmt_step(&st, "look for a caller");
    if (r == 0)
        return -ENOENT;
    if (r > 0)
        r = stmt_col_text(&st, 1, verbs, sizeof(verbs));
    if (r == 0)
        r = verbs_parse(reg, verbs, &ret_caller->verbs);
    if (r < 0)
        return r;
    ret_caller->uid = uid;
    ret_caller->created_s = stmt_col_int(&st, 2);
    return 0;
}

int caller_get(struct registry *reg, uint32_t uid, struct caller *ret_caller)
{
    cleanup_stmt struct stmt st = {0};
    struct caller c = {0};
    size_t n = 0;
    int r = caller_row_get(reg, uid, &c);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_CALLER_GROUPS);
    stmt_int(&st, 1, uid);
    r = group_rows_read(&st, c.groups, CALLER_GROUPS_MAX, &n);
    if (r < 0)
        return r;
    c.group_count = (uint32_t)n;
    *ret_caller = c;
    return 0;
}

/* Whatever took the caller over may have made links for everybody it acts for. */
static int caller_links_revoke(struct registry *reg, uint32_t uid)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_REVOKE_OF_CALLER);

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, (int64_t)time(NULL));
    return stmt_run(&st, "revoke a caller's links");
}

int caller_del(struct registry *reg, uint32_t uid)
{
    struct caller caller;
    int r = caller_row_get(reg, uid, &caller);

    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = caller_run(reg, STMT_CALLER_GROUPS_DELETE, uid, "delete a caller's groups");
    if (r == 0)
        r = caller_run(reg, STMT_CALLER_DELETE, uid, "delete a caller");
    if (r == 0)
        r = caller_links_revoke(reg, uid);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* The caller with the smallest uid above @uid. Return: 1, 0 if there is none, or -errno. */
static int caller_after(struct registry *reg, uint32_t uid, uint32_t *ret_uid)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_CALLER_AFTER);
    int r;

    stmt_int(&st, 1, uid);
    r = stmt_step(&st, "list the callers");
    if (r > 0)
        *ret_uid = (uint32_t)stmt_col_int(&st, 0);
    return r;
}

int caller_list(struct registry *reg, caller_fn fn, void *arg)
{
    struct caller caller;
    uint32_t uid = 0;
    int r;

    while ((r = caller_after(reg, uid, &uid)) > 0) {
        r = caller_get(reg, uid, &caller);
        if (r == 0)
            r = fn(arg, &caller);
        if (r != 0)
            return r;
    }
    return r;
}

int caller_may_act_for(struct registry *reg, const struct caller *caller, uint32_t uid,
                       bool *ret_may)
{
    bool has = false;

    if (caller->group_count > CALLER_GROUPS_MAX)
        return registry_fail(reg, -EINVAL, "a caller with %u groups", caller->group_count);
    for (uint32_t i = 0; !has && i < caller->group_count; i++) {
        int r = group_has_member(reg, caller->groups[i].gid, uid, &has);

        if (r < 0)
            return r;
    }
    *ret_may = has;
    return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * restore_merge.c - what a copy does not know, and what must not come back with it.
 *
 * Since the copy was made ids and names were given out, links were used, and rights were taken
 * away. Nobody who puts a copy back remembers all of it, and the copy has none of it. So:
 *   - what was given out here stays used, and the counters are those of here
 *   - every link that is open in the copy is revoked
 *   - who is locked here, or whose time is over, does not get in by the copy; who was here and is
 *     gone comes back locked
 *   - the callers are those of here: a uid of a program may be somebody else's by now
 *   - whoever comes to life is new to this host: the name must not be reserved, and name and id
 *     must be nobody else's, as if they were given out now
 * Each of these that makes a difference is told before anything is changed.
 */
#include <errno.h>
#include <string.h>

#include "registry/caller.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/name.h"
#include "registry/restore_internal.h"
#include "registry/schema.h"
#include "registry/user.h"

#include "common/banned.h"

/* --- what was given out -------------------------------------------------------------------- */

static int used_take(void *arg, const struct used *used)
{
    struct restore *x = arg;
    const char *what = NULL;
    bool *is_seen;
    int r;

    if (!id_is_allocatable(used->id))
        return registry_fail(x->reg, -EBADMSG, "id %u was given out", used->id);
    is_seen = &x->seen[used->id - ID_ALLOC_MIN];
    r = used_merge(x->in, used, !*is_seen, &what);
    *is_seen = true;
    if (r == -EEXIST)
        return registry_fail(x->reg, r, "%s with id %u was given out here: %s in the file",
                             used->name, used->id, what);
    return restore_fail(x, r);
}

/*
 * Those of here, and past what is used in both: the file's own could be at its end, and then
 * nothing would be given out, or published, ever again.
 */
static int counters_set(struct restore *x)
{
    cleanup_stmt struct stmt st = {0};
    int64_t generation = 0, next_id = 0;
    int r = db_number(x->reg, "SELECT generation FROM meta", &generation);

    if (r == 0)
        r = db_number(x->reg, "SELECT next_id FROM meta", &next_id);
    if (r < 0)
        return r;
    while (next_id >= ID_ALLOC_MIN && next_id <= ID_ALLOC_MAX &&
           (x->used[next_id - ID_ALLOC_MIN] || x->seen[next_id - ID_ALLOC_MIN]))
        next_id++;
    st = stmt_get(x->in, STMT_META_REPLACE);
    stmt_int(&st, 1, generation + 1);
    stmt_int(&st, 2, next_id);
    return restore_fail(x, stmt_run(&st, "set the counters"));
}

static int links_kill(struct restore *x)
{
    cleanup_stmt struct stmt st = stmt_get(x->in, STMT_LINK_REVOKE_ALL);
    int r;

    stmt_int(&st, 1, now_s());
    r = stmt_run(&st, "revoke the links");
    if (r == 0)
        x->result.links_revoked = (uint32_t)sqlite3_changes(x->in->db);
    return restore_fail(x, r);
}

/* --- the host ------------------------------------------------------------------------------ */

/* Somebody or something new to this host; @id 0: only the name is. */
static int host_ask(struct restore *x, const char *name, bool has_new_name, uint32_t id)
{
    int r = 0;

    x->has_asked = x->has_asked || has_new_name || id != 0;
    if (has_new_name && name_is_reserved(name))
        return registry_fail(x->reg, -EEXIST, "%s in the file has a reserved name", name);
    if (has_new_name)
        r = x->how->taken(x->how->host, name, 0);
    if (r > 0)
        return registry_fail(x->reg, -EEXIST, "the name of %s in the file is taken on this host",
                             name);
    if (r == 0 && id != 0)
        r = x->how->taken(x->how->host, NULL, id);
    if (r > 0)
        return registry_fail(x->reg, -EEXIST, "id %u of %s in the file is taken on this host", id,
                             name);
    return r < 0 ? registry_fail(x->reg, r, "ask the host for %s", name) : 0;
}

/* --- users --------------------------------------------------------------------------------- */

static int user_note(struct restore *x, enum restore_note what, const struct user *user)
{
    return x->how->on_user ? x->how->on_user(x->how->arg, what, user) : 0;
}

static int gone_look(void *arg, const struct user *user)
{
    struct restore *x = arg;
    struct user there;
    int r = user_by_uid(x->in, user->uid, &there);

    if (r != -ENOENT)
        return restore_fail(x, r);
    x->result.users_gone++;
    return user_note(x, RESTORE_GONE, user);
}

static int user_bar(struct restore *x, const struct user *user)
{
    cleanup_stmt struct stmt st = {0};

    if (user->state == USER_STATE_LOCKED)
        return 0;
    st = stmt_get(x->in, STMT_USER_LOCK);
    stmt_int(&st, 1, user->uid);
    return restore_fail(x, stmt_run(&st, "lock a user"));
}

/* Alive in the file, and not here. */
static int user_come(struct restore *x, const struct user *user)
{
    int r = host_ask(x, user->name, true, user->uid);

    if (r < 0 || !x->seen[user->uid - ID_ALLOC_MIN])
        return r;
    r = user_bar(x, user);
    return r < 0 ? r : user_note(x, RESTORE_BACK, user);
}

/* Alive in both. An expiry that is over is a lock that nobody had to set. */
static int user_stay(struct restore *x, const struct user *user, const struct user *here)
{
    bool is_barred = here->state == USER_STATE_LOCKED ||
                     (here->state == USER_STATE_EXPIRED && user->state != USER_STATE_EXPIRED);
    int r;

    if (!is_barred || user->state == USER_STATE_LOCKED)
        return 0;
    r = user_bar(x, user);
    return r < 0 ? r : user_note(x, RESTORE_LOCKED, user);
}

static int user_look(void *arg, const struct user *user)
{
    struct restore *x = arg;
    struct user here;
    int r = user_by_uid(x->reg, user->uid, &here);

    if (r == -ENOENT)
        return user_come(x, user);
    return r < 0 ? r : user_stay(x, user, &here);
}

/* --- groups -------------------------------------------------------------------------------- */

static int group_look(void *arg, const struct group *group)
{
    struct restore *x = arg;
    struct group here;
    int has_gid = group_by_gid(x->reg, group->gid, &here), has_name;

    if (has_gid < 0 && has_gid != -ENOENT)
        return has_gid;
    has_name = group_by_name(x->reg, group->name, &here);
    if (has_name < 0 && has_name != -ENOENT)
        return has_name;
    return host_ask(x, group->name, has_name < 0, has_gid < 0 ? group->gid : 0);
}

/* --- callers ------------------------------------------------------------------------------- */

static int dropped_look(void *arg, const struct caller *caller)
{
    struct restore *x = arg;
    struct caller here;
    int r = caller_get(x->reg, caller->uid, &here);

    if (r != -ENOENT)
        return r;
    return x->how->on_dropped ? x->how->on_dropped(x->how->arg, caller) : 0;
}

/* As it is here, for those of its groups that there will be. */
static int caller_take(void *arg, const struct caller *caller)
{
    struct restore *x = arg;
    struct caller c = *caller;

    c.group_count = 0;
    for (uint32_t i = 0; i < caller->group_count; i++) {
        struct group *g = &c.groups[c.group_count];
        int r = group_by_gid(x->in, caller->groups[i].gid, g);

        if (r < 0 && r != -ENOENT)
            return restore_fail(x, r);
        c.group_count += r == 0;
    }
    return restore_fail(x, caller_rows_put(x->in, &c));
}

static int callers_replace(struct restore *x)
{
    int r = caller_list(x->in, dropped_look, x);

    if (r == 0)
        r = restore_fail(x, caller_rows_clear(x->in));
    return r != 0 ? r : caller_list(x->reg, caller_take, x);
}

/* --- all of it ----------------------------------------------------------------------------- */

int restore_merge(struct restore *x)
{
    int r = used_list(x->reg, used_take, x);

    if (r == 0)
        r = counters_set(x);
    if (r == 0)
        r = links_kill(x);
    if (r == 0)
        r = user_list(x->reg, gone_look, x);
    if (r == 0)
        r = user_list(x->in, user_look, x);
    if (r == 0)
        r = group_list(x->in, group_look, x);
    return r != 0 ? r : callers_replace(x);
}

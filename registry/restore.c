/* SPDX-License-Identifier: ISC */
/*
 * restore.c - another database in the place of all rows.
 *
 * The order of registry_restore():
 *   1. the file is checked (ours alone, whole, a registry and no more) and migrated, as a database
 *      of its own, in one transaction that a rehearsal rolls back
 *   2. in it: the used ids and names of here, the counters of here, and every open link revoked: it
 * may have been used since the copy was made
 *   3. the state of here is kept as before-restore-TIME.db
 *   4. all pages of the file in the place of ours, in one transaction of SQLite
 *   5. the ledger gets what the file had and it had not, the index is made anew
 * Before 4 nothing of here has changed; after it everything has, and what a crash leaves of 5 is
 * done by the next open. Were 2 after 4, a crash between them would give ids out again.
 *
 * The file is not swapped for ours by rename: our connection and SQLite's locks are on that one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ids.h"
#include "registry/backup.h"
#include "registry/change.h"
#include "registry/id.h"
#include "registry/ledger.h"
#include "registry/registry_internal.h"
#include "registry/restore_check.h"
#include "registry/schema.h"

#include "common/banned.h"

/* What is restored, and into what. */
struct restore {
    struct registry *reg;
    struct registry *in; /* the file; borrows the directory of @reg */
    user_fn gone;
    void *arg;
    struct registry_restored result;
    bool seen[ID_ALLOC_MAX - ID_ALLOC_MIN + 1]; /* of the ids of @reg */
    bool used[ID_ALLOC_MAX - ID_ALLOC_MIN + 1]; /* of the ids of @in */
};

/* The sentence of the file's connection is the one of the restore. */
static int in_fail(struct restore *x, int r)
{
    if (r < 0)
        (void)snprintf(x->reg->error, sizeof(x->reg->error), REGISTRY_RESTORE_NAME ": %.220s",
                       x->in->error);
    return r;
}

/* --- the file ------------------------------------------------------------------------------ */

static int in_open(struct restore *x)
{
    struct registry *reg = x->reg;
    struct stat st;
    int r;

    if (fstatat(reg->registry_fd, REGISTRY_RESTORE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return registry_fail(reg, -errno, "look at " REGISTRY_RESTORE_NAME);
    r = db_remove_beside(reg, REGISTRY_RESTORE_NAME);
    if (r < 0)
        return r;
    x->in->registry_fd = reg->registry_fd;
    memcpy(x->in->state_dir, reg->state_dir, sizeof(reg->state_dir));
    return in_fail(x, db_open(x->in, REGISTRY_RESTORE_NAME, true));
}

static void in_close(struct restore *x)
{
    if (x->in->db) {
        stmt_finalize_all(x->in);
        (void)sqlite3_close(x->in->db);
    }
    free(x->in);
    x->in = NULL;
}

/* One row with one column, that is @expected; or no row at all if that is NULL. */
static int in_expect(struct restore *x, enum stmt_id id, const char *expected, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(x->in, id);
    int r = stmt_step(&st, what);

    if (r < 0)
        return in_fail(x, r);
    if (expected ? r > 0 && strcmp((const char *)sqlite3_column_text(st.s, 0), expected) == 0
                 : r == 0)
        return 0;
    return registry_fail(x->reg, -EBADMSG, REGISTRY_RESTORE_NAME ": %s: %.100s", what,
                         r > 0 ? (const char *)sqlite3_column_text(st.s, 0) : "no row");
}

/* Is it a registry, of a version that we know? */
static int in_check(struct restore *x, int64_t *ret_version)
{
    int64_t application = 0, version = 0, page = 0, our_page = 0;
    int r = db_number(x->in, "PRAGMA application_id", &application);

    if (r == 0)
        r = db_number(x->in, "PRAGMA user_version", &version);
    if (r == 0)
        r = db_number(x->in, "PRAGMA page_size", &page);
    if (r < 0)
        return in_fail(x, r);
    r = db_number(x->reg, "PRAGMA page_size", &our_page);
    if (r < 0)
        return r;
    if (application != REGISTRY_APPLICATION_ID || version < 1 || page != our_page)
        return registry_fail(x->reg, -EBADMSG, REGISTRY_RESTORE_NAME " is no registry");
    if (version > SCHEMA_VERSION)
        return registry_fail(x->reg, -EPROTO,
                             REGISTRY_RESTORE_NAME
                             ": schema version %lld is newer than this program's %d",
                             (long long)version, SCHEMA_VERSION);
    r = in_expect(x, STMT_INTEGRITY_CHECK, "ok", "check the integrity");
    if (r == 0)
        r = in_expect(x, STMT_FOREIGN_KEY_CHECK, NULL, "check the references");
    *ret_version = version;
    return r;
}

static int schema_text(struct registry *reg, char **ret_text)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_SCHEMA_TEXT);
    int r = stmt_step(&st, "read the schema");

    if (r < 0)
        return r;
    *ret_text = strdup(r > 0 ? (const char *)sqlite3_column_text(st.s, 0) : "");
    return *ret_text ? 0 : registry_fail(reg, -ENOMEM, "read the schema");
}

/* The same tables, and what they refuse: a trigger that is missing would be missing for ever. */
static int schemas_compare(struct restore *x)
{
    char *ours = NULL, *theirs = NULL;
    int r = schema_text(x->reg, &ours);

    if (r == 0)
        r = in_fail(x, schema_text(x->in, &theirs));
    if (r == 0 && strcmp(ours, theirs) != 0)
        r = registry_fail(x->reg, -EBADMSG, REGISTRY_RESTORE_NAME " has other tables");
    free(ours);
    free(theirs);
    return r;
}

static int in_migrate(struct restore *x, int64_t version)
{
    struct group all;
    int r = schema_steps_run(x->in, version);

    /* What a step finds in its way is of the file, not of the disk. */
    if (r < 0 && (sqlite3_errcode(x->in->db) & 0xff) == SQLITE_ERROR)
        r = -EBADMSG;
    if (r < 0)
        return in_fail(x, r);
    r = schemas_compare(x);
    if (r == 0)
        r = in_fail(x, rows_check(x->in, x->used));
    if (r == 0)
        r = group_by_name(x->in, GROUP_ALL_USERS, &all);
    return r == -ENOENT ? registry_fail(x->reg, -EBADMSG,
                                        REGISTRY_RESTORE_NAME " has no group " GROUP_ALL_USERS)
                        : r;
}

/* --- what must not be forgotten ------------------------------------------------------------ */

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
    return in_fail(x, r);
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
    return in_fail(x, stmt_run(&st, "set the counters"));
}

static int links_kill(struct restore *x)
{
    cleanup_stmt struct stmt st = stmt_get(x->in, STMT_LINK_REVOKE_ALL);
    int r;

    stmt_int(&st, 1, now_s());
    r = stmt_run(&st, "revoke the links");
    if (r == 0)
        x->result.links_revoked = (uint32_t)sqlite3_changes(x->in->db);
    return in_fail(x, r);
}

static int user_look(void *arg, const struct user *user)
{
    struct restore *x = arg;
    struct user there;
    int r = user_by_uid(x->in, user->uid, &there);

    if (r != -ENOENT)
        return in_fail(x, r);
    x->result.users_gone++;
    return x->gone ? x->gone(x->arg, user) : 0;
}

/* Steps 1 and 2, in an open change of the file. */
static int in_prepare(struct restore *x, int64_t version)
{
    struct registry_counts counts;
    int r = in_migrate(x, version);

    if (r == 0)
        r = used_list(x->reg, used_take, x);
    if (r == 0)
        r = counters_set(x);
    if (r == 0)
        r = links_kill(x);
    if (r == 0)
        r = in_fail(x, run_close_stale(x->in));
    if (r == 0)
        r = in_fail(x, registry_count(x->in, &counts));
    if (r != 0)
        return r;
    x->result.users = counts.users;
    x->result.groups = counts.groups;
    return user_list(x->reg, user_look, x);
}

/* --- into the place of ours ---------------------------------------------------------------- */

static int ours_keep(struct restore *x)
{
    int64_t now = now_s();
    int r;

    do {
        (void)snprintf(x->result.kept, sizeof(x->result.kept), "before-restore-%lld.db",
                       (long long)now++);
        r = copy_make(x->reg, x->result.kept, false, NULL);
    } while (r == -EEXIST);
    return r;
}

static int pages_copy(struct restore *x)
{
    sqlite3_backup *copy = sqlite3_backup_init(x->reg->db, "main", x->in->db, "main");
    int rc;

    if (!copy)
        return registry_fail_sql(x->reg, sqlite3_extended_errcode(x->reg->db), "restore");
    (void)sqlite3_backup_step(copy, -1);
    rc = sqlite3_backup_finish(copy);
    return rc == SQLITE_OK ? 0 : registry_fail_sql(x->reg, rc, "restore");
}

/* Steps 3 to 5. */
static int in_take(struct restore *x)
{
    struct registry *reg = x->reg;
    int r = ours_keep(x);

    if (r == 0)
        r = pages_copy(x);
    if (r < 0)
        return r;
    /* From here on it is done; what fails is made up for by the next call, or the next open. */
    reg->index_behind = true;
    reg->ledger.is_behind = true;
    r = index_catch_up(reg);
    if (r < 0) {
        char error[REGISTRY_ERROR_SIZE];

        (void)snprintf(error, sizeof(error), "%s", reg->error);
        (void)snprintf(reg->error, sizeof(reg->error), "stored, but not published: %.220s", error);
    }
    return r;
}

static int restore(struct restore *x, bool is_rehearsal)
{
    int64_t version = 0;
    int r = in_open(x);

    if (r == 0)
        r = in_check(x, &version);
    if (r == 0)
        r = in_fail(x, change_begin(x->in));
    if (r < 0)
        return r;
    r = in_prepare(x, version);
    if (r != 0 || is_rehearsal) {
        change_abort(x->in);
        return r;
    }
    r = in_fail(x, change_commit(x->in));
    return r < 0 ? r : in_take(x);
}

int registry_restore(struct registry *reg, bool is_rehearsal, user_fn gone, void *arg,
                     struct registry_restored *ret_restored)
{
    struct restore *x = calloc(1, sizeof(*x));
    int r = run_commit(reg);

    if (!x || r < 0) {
        free(x);
        return r < 0 ? r : registry_fail(reg, -ENOMEM, "restore");
    }
    x->reg = reg;
    x->gone = gone;
    x->arg = arg;
    x->in = calloc(1, sizeof(*x->in));
    r = x->in ? restore(x, is_rehearsal) : registry_fail(reg, -ENOMEM, "restore");
    if (x->in)
        in_close(x);
    if (r == 0 && !is_rehearsal)
        r = db_remove(reg, REGISTRY_RESTORE_NAME);
    if (r == 0)
        *ret_restored = x->result;
    free(x);
    return r;
}

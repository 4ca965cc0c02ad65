/* SPDX-License-Identifier: ISC */
/*
 * restore.c - another database in the place of all rows.
 *
 * The order of registry_restore():
 *   1. the file is checked (ours alone, the one that was shown, whole, a registry and no more) and
 *      migrated, as a database of its own, in one transaction that a rehearsal rolls back
 *   2. in it: what must not be forgotten and what must not come back (restore_merge.c)
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
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "registry/backup.h"
#include "registry/change.h"
#include "registry/group.h"
#include "registry/restore_check.h"
#include "registry/restore_internal.h"
#include "registry/schema.h"

#include "common/banned.h"

int restore_fail(struct restore *x, int r)
{
    if (r < 0)
        (void)snprintf(x->reg->error, sizeof(x->reg->error), REGISTRY_RESTORE_NAME ": %.220s",
                       x->in->error);
    return r;
}

/* --- the file ------------------------------------------------------------------------------ */

static int in_hash(struct restore *x, unsigned char ret_hash[crypto_generichash_BYTES])
{
    crypto_generichash_state state;
    unsigned char buf[16384];
    ssize_t n;

    (void)crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES);
    while ((n = read(x->in_fd, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return registry_fail(x->reg, -errno, "read " REGISTRY_RESTORE_NAME);
        (void)crypto_generichash_update(&state, buf, (size_t)n);
    }
    (void)crypto_generichash_final(&state, ret_hash, crypto_generichash_BYTES);
    return 0;
}

/* What was shown to somebody must be what is taken: the file may have been replaced meanwhile. */
static int in_digest(struct restore *x)
{
    unsigned char hash[crypto_generichash_BYTES];
    int r;

    x->in_fd = openat(x->reg->registry_fd, REGISTRY_RESTORE_NAME,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (x->in_fd < 0)
        return registry_fail(x->reg, -errno, "open " REGISTRY_RESTORE_NAME);
    r = in_hash(x, hash);
    if (r < 0)
        return r;
    (void)sodium_bin2hex(x->result.digest, sizeof(x->result.digest), hash, sizeof(hash));
    if (x->how->digest && strcmp(x->how->digest, x->result.digest) != 0)
        return registry_fail(x->reg, -ESTALE, REGISTRY_RESTORE_NAME " has another digest");
    x->is_checked = strcmp(x->reg->restore_good, x->result.digest) == 0;
    return 0;
}

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
    r = restore_fail(x, db_open(x->in, REGISTRY_RESTORE_NAME, true));
    return r < 0 ? r : in_digest(x);
}

static void in_close(struct restore *x)
{
    if (x->in->db) {
        stmt_finalize_all(x->in);
        (void)sqlite3_close(x->in->db);
    }
    /* Only now: to close any descriptor of a file gives up the locks that SQLite has on it. */
    cleanup_close_p(&x->in_fd);
    free(x->in);
    x->in = NULL;
}

/* One row with one column, that is @expected; or no row at all if that is NULL. */
static int in_expect(struct restore *x, enum stmt_id id, const char *expected, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(x->in, id);
    int r = stmt_step(&st, what);

    if (r < 0)
        return restore_fail(x, r);
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
        return restore_fail(x, r);
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
    *ret_version = version;
    /* It takes a second for fifty thousand users, and the password lock is ours for less. */
    if (x->is_checked)
        return 0;
    r = in_expect(x, STMT_INTEGRITY_CHECK, "ok", "check the integrity");
    if (r == 0)
        r = in_expect(x, STMT_FOREIGN_KEY_CHECK, NULL, "check the references");
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
        r = restore_fail(x, schema_text(x->in, &theirs));
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
        return restore_fail(x, r);
    r = schemas_compare(x);
    if (r == 0)
        r = restore_fail(x, rows_check(x->in, x->is_checked, x->used));
    if (r == 0)
        r = group_by_name(x->in, GROUP_ALL_USERS, &all);
    return r == -ENOENT ? registry_fail(x->reg, -EBADMSG,
                                        REGISTRY_RESTORE_NAME " has no group " GROUP_ALL_USERS)
                        : r;
}

/* Steps 1 and 2, in an open change of the file. */
static int in_prepare(struct restore *x, int64_t version)
{
    struct registry_counts counts;
    int r = in_migrate(x, version);

    if (r == 0)
        r = restore_merge(x);
    if (r == 0)
        r = restore_fail(x, run_close_stale(x->in));
    if (r == 0)
        r = restore_fail(x, registry_count(x->in, &counts));
    if (r != 0)
        return r;
    x->result.users = counts.users;
    x->result.groups = counts.groups;
    return 0;
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

/* Names and ids were asked for a while ago, if there were any. */
static int entitled_still(struct restore *x)
{
    int r = x->has_asked ? x->how->taken(x->how->host, NULL, 0) : 0;

    if (r == 0)
        return 0;
    return registry_fail(x->reg, r < 0 ? r : -EBUSY,
                         "not stored: the right to give out ids is over");
}

/* Stored; what is left to do did not work. Whatever it was, it is not the file's fault. */
static int unfinished(struct registry *reg, const char *what)
{
    char error[REGISTRY_ERROR_SIZE];

    (void)snprintf(error, sizeof(error), "%s", reg->error);
    (void)snprintf(reg->error, sizeof(reg->error), "stored, but %s: %.200s", what, error);
    return -EINPROGRESS;
}

/* So that nobody looks for a fault in the file, which is good. */
static int not_of_file(int r)
{
    return r == -ENOENT || r == -EPERM || r == -EBADMSG || r == -EEXIST ? -EIO : r;
}

/* Steps 3 to 5. */
static int in_take(struct restore *x)
{
    struct registry *reg = x->reg;
    int r = not_of_file(ours_keep(x));

    if (r == 0)
        r = entitled_still(x);
    if (r == 0)
        r = not_of_file(pages_copy(x));
    if (r < 0)
        return r;
    /* From here on it is done; what fails is made up for by the next call, or the next open. */
    reg->index_behind = true;
    reg->ledger.is_behind = true;
    if (index_catch_up(reg) < 0)
        return unfinished(reg, "not published");
    return db_remove(reg, REGISTRY_RESTORE_NAME) < 0 ? unfinished(reg, "the file is still there")
                                                     : 0;
}

static int restore(struct restore *x)
{
    int64_t version = 0;
    int r = in_open(x);

    if (r == 0)
        r = in_check(x, &version);
    if (r == 0)
        r = restore_fail(x, change_begin(x->in));
    if (r < 0)
        return r;
    r = in_prepare(x, version);
    if (r == 0)
        memcpy(x->reg->restore_good, x->result.digest, sizeof(x->reg->restore_good));
    if (r != 0 || x->how->is_rehearsal) {
        change_abort(x->in);
        return r;
    }
    r = restore_fail(x, change_commit(x->in));
    return r < 0 ? r : in_take(x);
}

int registry_restore(struct registry *reg, const struct restore_how *how,
                     struct registry_restored *ret_restored)
{
    struct restore *x = calloc(1, sizeof(*x));
    int r = run_commit(reg);

    if (!x || r < 0 || !how->taken) {
        free(x);
        return r < 0 ? r : registry_fail(reg, x ? -EINVAL : -ENOMEM, "restore");
    }
    x->reg = reg;
    x->how = how;
    x->in_fd = -1;
    x->in = calloc(1, sizeof(*x->in));
    r = x->in ? restore(x) : registry_fail(reg, -ENOMEM, "restore");
    if (x->in)
        in_close(x);
    if (r == 0 || r == -EINPROGRESS)
        *ret_restored = x->result;
    free(x);
    return r;
}

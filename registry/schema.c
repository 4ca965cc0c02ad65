/* SPDX-License-Identifier: ISC */
/*
 * schema.c - the tables of registry.db.
 *
 * What must never happen is refused by the database itself, not only by the code above it: an id
 * or name that comes back (tombstones hold every one ever issued, and neither lose nor change a
 * row), a counter that falls, two people with one e-mail address or one key of a caller, an id
 * outside the range, a link that was used and can be used again, or one that changes hands.
 *
 * A step is never edited after a release: a change is a further step.
 */
#include "registry/schema.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "registry/change.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/ledger.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define HOST_SIZE 256u /* HOST_NAME_MAX is 64 on Linux; POSIX allows 255 */

/* Step n brings user_version n to n + 1. Ids: 10000..59899 is ID_ALLOC_MIN..ID_ALLOC_MAX. */
static const char *const schema_steps[SCHEMA_VERSION] = {
    /* Counter and generation; next_id is one past the last id when all are used. */
    "CREATE TABLE meta ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " generation INTEGER NOT NULL CHECK (generation > 0),"
    " next_id INTEGER NOT NULL CHECK (next_id BETWEEN 10000 AND 59900),"
    " home_host TEXT NOT NULL) STRICT;"
    "CREATE TRIGGER meta_only_grows BEFORE UPDATE ON meta"
    " WHEN new.next_id < old.next_id OR new.generation < old.generation"
    " BEGIN SELECT RAISE(ABORT, 'a counter would fall'); END;"

    "CREATE TABLE tombstones ("
    " id INTEGER PRIMARY KEY CHECK (id BETWEEN 10000 AND 59899),"
    " kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),"
    " name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TRIGGER tombstones_stay BEFORE DELETE ON tombstones"
    " BEGIN SELECT RAISE(ABORT, 'an id would become free'); END;"
    "CREATE TRIGGER tombstones_are_fixed BEFORE UPDATE ON tombstones"
    " BEGIN SELECT RAISE(ABORT, 'an id would become free'); END;"

    "CREATE TABLE users ("
    " uid INTEGER PRIMARY KEY REFERENCES tombstones (id),"
    " name TEXT NOT NULL UNIQUE,"
    " email TEXT CHECK (email = lower(email)),"
    " state TEXT NOT NULL"
    "  CHECK (state IN ('reserved', 'active', 'locked', 'expired', 'deleted')),"
    " shell INTEGER NOT NULL,"
    " created_s INTEGER NOT NULL,"
    " expires_s INTEGER NOT NULL,"
    " home_host TEXT NOT NULL) STRICT;"
    /* A person who was deleted may come back: as a new user with a new id. */
    "CREATE UNIQUE INDEX users_email ON users (email)"
    " WHERE email IS NOT NULL AND state <> 'deleted';"
    /* Each caller has its own keys, and one for a person; owner 0 is the administrator. */
    "CREATE TABLE external_ids ("
    " owner_uid INTEGER NOT NULL CHECK (owner_uid BETWEEN 0 AND 4294967294),"
    " external_id TEXT NOT NULL CHECK (external_id <> ''),"
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " PRIMARY KEY (owner_uid, external_id),"
    " UNIQUE (uid, owner_uid)) STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER external_ids_are_fixed BEFORE UPDATE ON external_ids"
    " BEGIN SELECT RAISE(ABORT, 'an external id would change hands'); END;"
    "CREATE TRIGGER users_deleted_free_external_ids AFTER UPDATE OF state ON users"
    " WHEN new.state = 'deleted'"
    " BEGIN DELETE FROM external_ids WHERE uid = new.uid; END;"

    "CREATE TABLE groups ("
    " gid INTEGER PRIMARY KEY REFERENCES tombstones (id),"
    " name TEXT NOT NULL UNIQUE,"
    " created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE members ("
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " gid INTEGER NOT NULL REFERENCES groups (gid),"
    " PRIMARY KEY (uid, gid)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE callers ("
    " uid INTEGER PRIMARY KEY CHECK (uid BETWEEN 1 AND 4294967294),"
    " verbs TEXT NOT NULL,"
    " created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE caller_groups ("
    " uid INTEGER NOT NULL REFERENCES callers (uid),"
    " gid INTEGER NOT NULL REFERENCES groups (gid),"
    " PRIMARY KEY (uid, gid)) STRICT, WITHOUT ROWID;"

    /* No reference to users: an audit row is never refused. */
    "CREATE TABLE runs ("
    " run_id TEXT PRIMARY KEY,"
    " uid INTEGER NOT NULL,"
    " caller_uid INTEGER NOT NULL,"
    " net TEXT NOT NULL,"
    " program TEXT NOT NULL,"
    " accepted_us INTEGER NOT NULL,"
    " started_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL,"
    " status TEXT NOT NULL,"
    " exit_code INTEGER NOT NULL,"
    " signal INTEGER NOT NULL,"
    " cpu_us INTEGER NOT NULL,"
    " out_bytes INTEGER NOT NULL) STRICT;"
    "CREATE INDEX runs_by_user ON runs (uid, accepted_us);"
    "CREATE INDEX runs_open ON runs (run_id) WHERE ended_us = 0;"

    "PRAGMA application_id = 1096043602;" /* REGISTRY_APPLICATION_ID */
    "PRAGMA user_version = 1;",

    /* Links. The hashes are keyed by a file outside the database: nothing here opens a login. */
    "CREATE TABLE links ("
    " link_id TEXT PRIMARY KEY NOT NULL,"
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " caller_uid INTEGER NOT NULL CHECK (caller_uid BETWEEN 0 AND 4294967294),"
    " purpose TEXT NOT NULL CHECK (purpose IN ('any', 'ssh', 'web')),"
    " token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),"
    " code_hash BLOB NOT NULL UNIQUE CHECK (length(code_hash) = 32),"
    " created_s INTEGER NOT NULL CHECK (created_s > 0),"
    " expires_s INTEGER NOT NULL CHECK (expires_s > created_s),"
    " used_s INTEGER NOT NULL CHECK (used_s >= 0),"
    " revoked_s INTEGER NOT NULL CHECK (revoked_s >= 0),"
    " CHECK (token_hash <> code_hash),"
    " CHECK (used_s = 0 OR revoked_s = 0)) STRICT;"
    "CREATE INDEX links_by_age ON links (created_s);"
    "CREATE INDEX links_by_user ON links (uid);"
    /*
     * One secret finds one row, whichever form it has; and INSERT OR REPLACE, which deletes
     * without asking the triggers of deletion, cannot put an unused row in the place of a used one.
     */
    "CREATE TRIGGER links_have_new_secrets BEFORE INSERT ON links"
    " WHEN EXISTS (SELECT 1 FROM links WHERE link_id = new.link_id"
    "  OR token_hash IN (new.token_hash, new.code_hash)"
    "  OR code_hash IN (new.token_hash, new.code_hash))"
    " BEGIN SELECT RAISE(ABORT, 'a link would be replaced'); END;"
    /* Two uses within a second write the same number: what counts is that one is written. */
    "CREATE TRIGGER links_are_used_once BEFORE UPDATE OF used_s, revoked_s ON links"
    " WHEN old.used_s <> 0 OR old.revoked_s <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a link would be used again'); END;"
    "CREATE TRIGGER links_are_fixed BEFORE UPDATE ON links"
    " WHEN new.link_id IS NOT old.link_id OR new.uid IS NOT old.uid"
    "  OR new.caller_uid IS NOT old.caller_uid OR new.purpose IS NOT old.purpose"
    "  OR new.token_hash IS NOT old.token_hash OR new.code_hash IS NOT old.code_hash"
    "  OR new.created_s IS NOT old.created_s OR new.expires_s IS NOT old.expires_s"
    " BEGIN SELECT RAISE(ABORT, 'a link would become another'); END;"

    /* As runs: no reference to users. */
    "CREATE TABLE sessions ("
    " session_id TEXT PRIMARY KEY NOT NULL,"
    " uid INTEGER NOT NULL,"
    " service TEXT NOT NULL,"
    " line TEXT NOT NULL,"
    " rhost TEXT NOT NULL,"
    " started_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL,"
    " end TEXT NOT NULL) STRICT;"
    "CREATE INDEX sessions_by_user ON sessions (uid, started_us);"
    "CREATE INDEX sessions_open ON sessions (session_id) WHERE ended_us = 0;"

    "CREATE INDEX users_by_expiry ON users (expires_s) WHERE expires_s > 0;"
    "PRAGMA user_version = 2;",

    "ALTER TABLE users ADD COLUMN comment TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE users ADD COLUMN login_shell TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX members_by_group ON members (gid);"
    /*
     * What tombstones have no room for, which hold one name for an id: the later names of a group,
     * and a second gid that GROUP_ALL_USERS had in another registry. The columns of the key come
     * first: with another order integrity_check of SQLite 3.40 calls sound rows damaged.
     */
    "CREATE TABLE used_names ("
    " id INTEGER NOT NULL CHECK (id BETWEEN 10000 AND 59899),"
    " name TEXT NOT NULL,"
    " kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),"
    " PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX used_names_by_name ON used_names (name);"
    "CREATE TRIGGER used_names_stay BEFORE DELETE ON used_names"
    " BEGIN SELECT RAISE(ABORT, 'a name would become free'); END;"
    "CREATE TRIGGER used_names_are_fixed BEFORE UPDATE ON used_names"
    " BEGIN SELECT RAISE(ABORT, 'a name would become free'); END;"
    /* Also against INSERT OR REPLACE, which deletes without asking the triggers of deletion. */
    "CREATE TRIGGER tombstones_are_new BEFORE INSERT ON tombstones"
    " WHEN EXISTS (SELECT 1 FROM tombstones WHERE id = new.id OR name = new.name)"
    "  OR EXISTS (SELECT 1 FROM used_names WHERE id = new.id OR name = new.name)"
    " BEGIN SELECT RAISE(ABORT, 'an id or a name would be used again'); END;"
    "PRAGMA user_version = 3;",

    /* What was enforced on a session, as GET /v1/sessions/ID shows it; '' if it is older. */
    "ALTER TABLE sessions ADD COLUMN receipt TEXT NOT NULL DEFAULT '';"
    "PRAGMA user_version = 4;",
};

_Static_assert(REGISTRY_APPLICATION_ID == 1096043602, "as in step 0");
_Static_assert(ID_ALLOC_MIN == 10000 && ID_ALLOC_MAX == 59899, "as in the CHECKs of step 0");

int db_number(struct registry *reg, const char *sql, int64_t *ret_n)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(reg->db, sql, -1, &s, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        *ret_n = sqlite3_column_int64(s, 0);
        (void)sqlite3_finalize(s);
        return 0;
    }
    rc = registry_fail_sql(reg, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, sql);
    (void)sqlite3_finalize(s);
    return rc;
}

static int nobody_has(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 0;
}

/* The rows that every registry has from the start. */
static int seed(struct registry *reg, const struct registry_options *options)
{
    registry_taken_fn taken = options->taken ? options->taken : nobody_has;
    char host[HOST_SIZE] = "";
    uint32_t gid = 0;
    int r;

    if (gethostname(host, sizeof(host) - 1) < 0)
        return registry_fail(reg, -errno, "read the host's name");
    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_INSERT);

        stmt_int(&st, 1, ID_ALLOC_MIN);
        stmt_text(&st, 2, host);
        r = stmt_run(&st, "make the counter");
    }
    if (r == 0)
        r = ledger_merge(reg);
    if (r == 0)
        r = tombstone_find(reg, "group", GROUP_ALL_USERS, &gid);
    if (r < 0)
        return r;
    /* A registry that was lost: the group is who it was, and what the ledger knows stays used. */
    if (gid != 0)
        return group_row_insert(reg, gid, GROUP_ALL_USERS);
    /* So that our own source of NSS can say that it has nobody: without a file it cannot say. */
    r = index_agree(reg);
    if (r < 0)
        return r;
    r = id_allocate(reg, taken, options->arg, &gid);
    if (r < 0)
        return r;
    if (gid == 0)
        return registry_fail(reg, -ENOSPC, "no gid is free for group " GROUP_ALL_USERS);
    return group_insert(reg, gid, GROUP_ALL_USERS);
}

int schema_steps_run(struct registry *reg, int64_t version)
{
    for (int64_t v = version; v < SCHEMA_VERSION; v++) {
        int rc = sqlite3_exec(reg->db, schema_steps[v], NULL, NULL, NULL);

        if (rc != SQLITE_OK)
            return registry_fail_sql(reg, rc, "make the tables");
    }
    return 0;
}

int schema_migrate(struct registry *reg, const struct registry_options *options)
{
    int64_t version = 0, tables = 0;
    int r;

    r = db_number(reg, "PRAGMA user_version", &version);
    if (r < 0)
        return r;
    if (version < 0 || version > SCHEMA_VERSION)
        return registry_fail(reg, -EPROTO, "schema version %lld is newer than this program's %d",
                             (long long)version, SCHEMA_VERSION);
    if (version == SCHEMA_VERSION)
        return 0;
    r = db_number(reg, "SELECT count(*) FROM sqlite_schema", &tables);
    if (r < 0)
        return r;
    if (version == 0 && tables > 0)
        return registry_fail(reg, -EPROTO, REGISTRY_FILE_NAME " has tables but is no registry");

    r = change_begin(reg);
    if (r < 0)
        return r;
    r = schema_steps_run(reg, version);
    if (r == 0 && version == 0)
        r = seed(reg, options);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* SPDX-License-Identifier: ISC */
/*
 * registry.c - open and close registry.db.
 *
 * The order of registry_open(): directories (somebody else's directory is refused before anything
 * in it is opened), lock (before SQLite: two writers of the index would mix their temporary
 * files), ledger (before the schema: a new database must not give out again what a lost one has
 * given out), database and its settings, schema, what only the ledger knows, runs of a crash, old
 * links, index (last: it shows nothing that the ledger does not have).
 *
 * One process for one database: besides our own lock SQLite's exclusive mode keeps the files
 * locked, so that no reader can hold up the writer, and its index of the log is in memory, not in
 * a mapped file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "registry/backup.h"
#include "registry/change.h"
#include "registry/id.h"
#include "registry/index_write.h"
#include "registry/registry_internal.h"
#include "registry/schema.h"

#include "common/banned.h"

/* registry_error(NULL): of the last registry_open() that gave no registry. */
static char open_error[REGISTRY_ERROR_SIZE] = "no error";

int64_t now_us(void)
{
    struct timespec ts = {0};

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t now_s(void)
{
    return now_us() / 1000000;
}

bool hex_id_is_valid(const char *id, size_t size)
{
    return strnlen(id, size) == size - 1 && strspn(id, "0123456789abcdef") == size - 1;
}

int registry_fail(struct registry *reg, int err, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(reg->error, sizeof(reg->error), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(reg->error))
        (void)snprintf(reg->error + n, sizeof(reg->error) - (size_t)n, ": %s", strerror(-err));
    return err;
}

static int sql_errno(int rc)
{
    if (rc == SQLITE_IOERR_NOMEM)
        return -ENOMEM;
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return -EINVAL;
    default:
        return -EIO;
    }
}

int registry_fail_sql(struct registry *reg, int rc, const char *what)
{
    const char *text = reg->db ? sqlite3_errmsg(reg->db) : sqlite3_errstr(rc);
    int os = reg->db && (rc & 0xff) != SQLITE_CONSTRAINT ? sqlite3_system_errno(reg->db) : 0;

    (void)snprintf(reg->error, sizeof(reg->error), "%s: %s%s%s", what, text, os > 0 ? ": " : "",
                   os > 0 ? strerror(os) : "");
    return sql_errno(rc);
}

const char *registry_error(const struct registry *reg)
{
    return reg ? reg->error : open_error;
}

/* --- directories and lock ------------------------------------------------------------------ */

/* Ours, and nobody else has any of @forbidden. */
static int dir_open(struct registry *reg, int at, const char *name, mode_t forbidden, int *ret_fd)
{
    cleanup_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return registry_fail(reg, -ENOENT,
                             "directory %s/ is missing: atelier setup, or systemd-tmpfiles "
                             "--create atelier.conf, makes it",
                             name);
    if (fd < 0 || fstat(fd, &st) < 0)
        return registry_fail(reg, -errno, "open directory %s/", name);
    if (st.st_uid != geteuid())
        return registry_fail(reg, -EPERM, "directory %s/ belongs to uid %u, not to %u", name,
                             st.st_uid, geteuid());
    if (st.st_mode & forbidden)
        return registry_fail(reg, -EPERM, "directory %s/ has mode %04o, more than %04o", name,
                             st.st_mode & 07777, 07777 & ~forbidden);
    *ret_fd = fd_take(&fd);
    return 0;
}

static int dirs_open(struct registry *reg, const char *state_dir)
{
    cleanup_close int state_fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (state_fd < 0)
        return registry_fail(reg, -errno, "open directory %s", state_dir);
    r = dir_open(reg, state_fd, REGISTRY_DIR_NAME, 07077, &reg->registry_fd);
    if (r == 0)
        r = dir_open(reg, state_fd, LEDGER_DIR_NAME, 07077, &reg->ledger.dir_fd);
    return r < 0 ? r : dir_open(reg, state_fd, INDEX_DIR_NAME, 07022, &reg->nss_fd);
}

static int lock_take(struct registry *reg)
{
    reg->lock_fd = openat(reg->registry_fd, REGISTRY_LOCK_NAME,
                          O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (reg->lock_fd < 0)
        return registry_fail(reg, -errno, "open " REGISTRY_DIR_NAME "/" REGISTRY_LOCK_NAME);
    if (flock(reg->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return registry_fail(reg, errno == EWOULDBLOCK ? -EBUSY : -errno,
                             "another process has the registry open");
    return 0;
}

/* --- database ------------------------------------------------------------------------------ */

/* What is there must be ours and private. By path: an open file here would cost SQLite's locks. */
static int db_file_check(struct registry *reg, const char *name)
{
    struct stat st;

    if (fstatat(reg->registry_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : registry_fail(reg, -errno, "look at %s", name);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        return registry_fail(reg, -EPERM, "%s is not a file of ours alone", name);
    if ((st.st_mode & 07777) != 0600 && fchmodat(reg->registry_fd, name, 0600, 0) < 0)
        return registry_fail(reg, -errno, "make %s private", name);
    return 0;
}

/* Set one thing and see that it is set: an unknown pragma is no error to SQLite. */
static int pragma_set(struct registry *reg, const char *sql, const char *expected)
{
    sqlite3_stmt *s = NULL;
    const char *got = NULL;
    int rc = sqlite3_prepare_v2(reg->db, sql, -1, &s, NULL), r = 0;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        got = (const char *)sqlite3_column_text(s, 0);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        r = registry_fail_sql(reg, rc, sql);
    else if (expected && (!got || strcmp(got, expected) != 0))
        r = registry_fail(reg, -EPROTO, "%s: SQLite answers %s", sql, got ? got : "nothing");
    (void)sqlite3_finalize(s);
    return r;
}

static int db_settings(struct registry *reg, bool is_journal)
{
    static const struct {
        int op;
        int on;
    } configs[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1}, {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    };
    const struct {
        const char *sql;
        const char *expected; /* answer; NULL: not looked at */
    } pragmas[] = {
        /* Before the log is touched: else its index would be a mapped file. */
        {"PRAGMA locking_mode = EXCLUSIVE", "exclusive"},
        {is_journal ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL",
         is_journal ? "delete" : "wal"},
        {"PRAGMA synchronous = FULL", NULL},
        {"PRAGMA synchronous", "2"},
        {"PRAGMA foreign_keys", "1"},
        {"PRAGMA trusted_schema", "0"},
        {"PRAGMA cell_size_check = ON", NULL},
        {"PRAGMA temp_store = MEMORY", NULL},
        {"PRAGMA mmap_size = 0", NULL},
        /* KiB: start reads all users for the index; 50,000 of them fit. */
        {"PRAGMA cache_size = -16384", NULL},
        {"PRAGMA journal_size_limit = 4194304", NULL},
    };
    int r = 0;

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        int rc = sqlite3_db_config(reg->db, configs[i].op, configs[i].on, NULL);

        if (rc != SQLITE_OK)
            return registry_fail_sql(reg, rc, "configure SQLite");
    }
    for (size_t i = 0; r == 0 && i < sizeof(pragmas) / sizeof(pragmas[0]); i++)
        r = pragma_set(reg, pragmas[i].sql, pragmas[i].expected);
    return r;
}

int registry_path(struct registry *reg, const char *name, char ret_path[REGISTRY_PATH_SIZE])
{
    int n =
        snprintf(ret_path, REGISTRY_PATH_SIZE, "%s/" REGISTRY_DIR_NAME "/%s", reg->state_dir, name);

    if (n < 0 || (size_t)n >= REGISTRY_PATH_SIZE)
        return registry_fail(reg, -ENAMETOOLONG, "open %s", name);
    return 0;
}

int db_open(struct registry *reg, const char *name, bool is_journal)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    char path[REGISTRY_PATH_SIZE];
    int rc, r = db_file_check(reg, name);

    if (r == 0)
        r = registry_path(reg, name, path);
    if (r < 0)
        return r;
    rc = sqlite3_open_v2(path, &reg->db, flags, NULL);
    if (rc != SQLITE_OK)
        return registry_fail_sql(reg, rc, "open the database");
    return db_settings(reg, is_journal);
}

/* --- open and close ------------------------------------------------------------------------ */

static int options_take(struct registry *reg, const struct registry_options *options)
{
    if (options->id_min < ID_ALLOC_MIN || options->id_max > ID_ALLOC_MAX ||
        options->id_min > options->id_max)
        return registry_fail(reg, -ERANGE, "ids are %u to %u at most, not %u to %u", ID_ALLOC_MIN,
                             ID_ALLOC_MAX, options->id_min, options->id_max);
    reg->id_min = options->id_min;
    reg->id_max = options->id_max;
    return 0;
}

static int files_open(struct registry *reg, const struct registry_options *options)
{
    int r = lock_take(reg);

    if (r == 0)
        r = copies_sweep(reg);
    if (r == 0)
        r = ledger_open(reg);
    if (r == 0)
        r = db_open(reg, REGISTRY_FILE_NAME, false);
    if (r == 0)
        r = schema_migrate(reg, options);
    if (r == 0 && fsync(reg->registry_fd) < 0)
        r = registry_fail(reg, -errno, "sync directory " REGISTRY_DIR_NAME "/");
    return r;
}

static int registry_start(struct registry *reg, const char *state_dir,
                          const struct registry_options *options)
{
    mode_t old_umask;
    int r = options_take(reg, options);

    if (r == 0 && str_copy(reg->state_dir, sizeof(reg->state_dir), state_dir) < 0)
        r = registry_fail(reg, -ENAMETOOLONG, "open directory %.64s...", state_dir);
    if (r == 0)
        r = dirs_open(reg, state_dir);
    if (r < 0)
        return r;
    /* SQLite makes its files 0644 less the umask. */
    old_umask = umask(077);
    r = files_open(reg, options);
    (void)umask(old_umask);
    if (r == 0)
        r = ledger_agree(reg);
    if (r == 0)
        r = run_close_stale(reg);
    if (r == 0)
        r = link_forget_old(reg);
    return r < 0 ? r : index_agree(reg);
}

int registry_open(const char *state_dir, const struct registry_options *options,
                  struct registry **ret_reg)
{
    static const struct registry_options all = {.id_min = ID_ALLOC_MIN, .id_max = ID_ALLOC_MAX};
    struct registry *reg = calloc(1, sizeof(*reg));
    int r;

    if (!reg) {
        (void)snprintf(open_error, sizeof(open_error), "open the registry: out of memory");
        return -ENOMEM;
    }
    reg->registry_fd = reg->nss_fd = reg->lock_fd = -1;
    reg->ledger.dir_fd = reg->ledger.fd = -1;
    (void)snprintf(reg->error, sizeof(reg->error), "no error");
    r = registry_start(reg, state_dir, options ? options : &all);
    if (r < 0) {
        memcpy(open_error, reg->error, sizeof(open_error));
        registry_close(reg);
        return r;
    }
    *ret_reg = reg;
    return 0;
}

void registry_close(struct registry *reg)
{
    if (!reg)
        return;
    if (reg->db) {
        (void)run_commit(reg);
        stmt_finalize_all(reg);
        (void)sqlite3_close(reg->db);
    }
    ledger_close(reg);
    index_rows_forget(&reg->rows);
    cleanup_close_p(&reg->nss_fd);
    cleanup_close_p(&reg->registry_fd);
    /* Last: from here on another process may open it. */
    cleanup_close_p(&reg->lock_fd);
    free(reg);
}

int registry_count(struct registry *reg, struct registry_counts *ret_counts)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_COUNTS);
    struct registry_counts counts;
    int r;

    stmt_int(&st, 1, now_s());
    r = stmt_step(&st, "count");
    if (r == 0)
        return registry_fail(reg, -EBADMSG, "table meta is empty");
    if (r < 0)
        return r;
    counts.generation = (uint64_t)stmt_col_int(&st, 0);
    counts.users = (uint32_t)stmt_col_int(&st, 1);
    counts.groups = (uint32_t)stmt_col_int(&st, 2);
    counts.users_enabled = (uint32_t)stmt_col_int(&st, 3);
    r = ids_free_count(reg, &counts.ids_free);
    if (r == 0)
        *ret_counts = counts;
    return r;
}

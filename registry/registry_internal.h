/* SPDX-License-Identifier: ISC */
/* registry_internal.h - what the files of registry/ share: the open registry and its errors. */
#ifndef ATELIER_REGISTRY_INTERNAL_H
#define ATELIER_REGISTRY_INTERNAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry/index_rows.h"
#include "registry/ledger.h"
#include "registry/registry.h"
#include "registry/statement.h"

#define REGISTRY_DIR_NAME   "registry"
#define REGISTRY_FILE_NAME  "registry.db"
#define REGISTRY_LOCK_NAME  "lock"
#define REGISTRY_ERROR_SIZE 256u
#define REGISTRY_PATH_SIZE  4096u

struct registry {
    sqlite3 *db;
    sqlite3_stmt *stmts[STMT__COUNT]; /* prepared at first use, finalised at close */
    int registry_fd;                  /* directory of the database */
    int nss_fd;                       /* directory of the index */
    int lock_fd;                      /* holds the exclusive lock while it is open */
    uint32_t id_min, id_max;          /* what may be given out */
    struct ledger ledger;
    char state_dir[REGISTRY_PATH_SIZE];
    enum index_found index_found; /* at the open */
    bool run_group_open;          /* a transaction with run rows alone is open */
    bool index_behind;            /* a COMMIT succeeded and the rename after it did not */
    void (*published)(void *arg); /* registry_on_publish(); NULL: nobody wants to know */
    void *published_arg;
    struct index_rows rows; /* of the last publication, less what is touched */
    bool is_touched;        /* any of: */
    unsigned char touched[(INDEX_ENTRIES_MAX + 7) / 8]; /* a bit for each id, from ID_ALLOC_MIN */
    char restore_good[RESTORE_DIGEST_SIZE]; /* of the file of the last rehearsal that went well */
    char error[REGISTRY_ERROR_SIZE];
};

/**
 * registry_fail() - Keep the sentence of a failure
 * @err: Negative errno
 * @fmt: What was being done, on what; never an e-mail address. The errno's text is added.
 *
 * Return: @err, so that a caller can return it in one line.
 */
int registry_fail(struct registry *reg, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * registry_fail_sql() - The same for a failure of SQLite, whose text is added
 * @rc: Extended result code
 *
 * SQLite's messages name tables and columns, never values.
 *
 * Return: the negative errno for @rc.
 */
int registry_fail_sql(struct registry *reg, int rc, const char *what);

/**
 * db_open() - Open a file of registry/ as a database, with all settings
 * @name:       In the directory; private from now on
 * @is_journal: With a journal that goes with each change, not with a log: nothing is left beside it
 *
 * Return: 0; -EPERM if it is not a file of ours alone; -EBADMSG if it is no database; or a negative
 * errno.
 */
int db_open(struct registry *reg, const char *name, bool is_journal);

/* A path below the state directory, for SQLite. Return: 0 or -ENAMETOOLONG. */
int registry_path(struct registry *reg, const char *name, char ret_path[REGISTRY_PATH_SIZE]);

/* A random id of ours: @size - 1 lower-case hex digits and a NUL. */
bool hex_id_is_valid(const char *id, size_t size);

/* Links that expired long ago, part of registry_open(). Return: 0 or a negative errno. */
int link_forget_old(struct registry *reg);

/* Unix time in seconds and microseconds. */
int64_t now_s(void);
int64_t now_us(void);

#endif

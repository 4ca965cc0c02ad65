/* SPDX-License-Identifier: ISC */
/*
 * backup.c - copies of the database beside it.
 *
 * VACUUM INTO writes them: one moment of the database as one file, without a log beside it and
 * without what deleted rows left in its pages. It syncs nothing, so that is done here, and only
 * then the file gets its name: a file of that name is whole.
 */
#include "registry/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define TMP_NAME ".copy.tmp"

int db_remove_beside(struct registry *reg, const char *name)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char beside[64];

        (void)snprintf(beside, sizeof(beside), "%s%s", name, endings[i]);
        if (unlinkat(reg->registry_fd, beside, 0) < 0 && errno != ENOENT)
            return registry_fail(reg, -errno, "remove %s", beside);
    }
    return 0;
}

int db_remove(struct registry *reg, const char *name)
{
    if (unlinkat(reg->registry_fd, name, 0) < 0 && errno != ENOENT)
        return registry_fail(reg, -errno, "remove %s", name);
    return db_remove_beside(reg, name);
}

int copies_sweep(struct registry *reg)
{
    int r = db_remove(reg, TMP_NAME);

    return r < 0 ? r : db_remove(reg, REGISTRY_RESTORE_NAME);
}

static int vacuum_into(struct registry *reg, const char *name)
{
    cleanup_stmt struct stmt st = {0};
    char path[REGISTRY_PATH_SIZE];
    int r = registry_path(reg, name, path);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_VACUUM_INTO);
    stmt_text(&st, 1, path);
    return stmt_run(&st, "copy the database");
}

/* Private, durable, and then under its name. */
static int copy_finish(struct registry *reg, const char *name, bool replace, uint64_t *ret_bytes)
{
    cleanup_close int fd = openat(reg->registry_fd, TMP_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fchmod(fd, 0600) < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0)
        return registry_fail(reg, -errno, "copy the database");
    if (renameat2(reg->registry_fd, TMP_NAME, reg->registry_fd, name,
                  replace ? 0 : RENAME_NOREPLACE) < 0)
        return registry_fail(reg, -errno, "put the copy in place as %s", name);
    if (fsync(reg->registry_fd) < 0)
        return registry_fail(reg, -errno, "sync directory " REGISTRY_DIR_NAME "/");
    if (ret_bytes)
        *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

int copy_make(struct registry *reg, const char *name, bool replace, uint64_t *ret_bytes)
{
    char error[REGISTRY_ERROR_SIZE];
    int r = run_commit(reg);

    if (r == 0)
        r = db_remove(reg, TMP_NAME);
    if (r == 0)
        r = vacuum_into(reg, TMP_NAME);
    if (r == 0)
        r = copy_finish(reg, name, replace, ret_bytes);
    if (r == 0)
        return 0;
    (void)snprintf(error, sizeof(error), "%s", reg->error);
    (void)db_remove(reg, TMP_NAME);
    (void)snprintf(reg->error, sizeof(reg->error), "%s", error);
    return r;
}

int registry_backup(struct registry *reg, struct registry_backup *ret_backup)
{
    struct registry_backup backup = {0};
    struct registry_counts counts;
    int r = registry_count(reg, &counts);

    if (r == 0)
        r = copy_make(reg, REGISTRY_BACKUP_NAME, true, &backup.bytes);
    if (r < 0)
        return r;
    backup.generation = counts.generation;
    backup.users = counts.users;
    backup.groups = counts.groups;
    *ret_backup = backup;
    return 0;
}

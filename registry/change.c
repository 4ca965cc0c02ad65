/* SPDX-License-Identifier: ISC */
/*
 * change.c - transactions, and the one way in which a change reaches NSS.
 *
 * The index is written and fsynced before COMMIT: afterwards nothing is left that can run out of
 * space, only a rename. It is renamed after COMMIT: before, NSS could show a user whose id the
 * registry gives to somebody else after a crash. The generation is in both, so that
 * a crash between the two is seen at the next open.
 *
 * The rows of the last publication stay in memory, and a publication reads again what the change
 * has touched. They are worth something only as long as they are what the database says: whatever
 * goes wrong on the way makes us forget them, and the next publication reads all.
 */
#include "registry/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "registry/index_image.h"
#include "registry/index_write.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

/* --- what the change concerns -------------------------------------------------------------- */

void change_touch(struct registry *reg, uint32_t id)
{
    /* Another id cannot be in the index; a row that has one is found at the next start. */
    if (!id_is_allocatable(id))
        return;
    id -= ID_ALLOC_MIN;
    reg->touched[id / 8] |= (unsigned char)(1u << id % 8);
    reg->is_touched = true;
}

static bool is_touched(const struct registry *reg, uint32_t id)
{
    id -= ID_ALLOC_MIN;
    return (reg->touched[id / 8] & 1u << id % 8) != 0;
}

static void touched_clear(struct registry *reg)
{
    if (reg->is_touched)
        memset(reg->touched, 0, sizeof(reg->touched));
    reg->is_touched = false;
}

void change_touch_all(struct registry *reg)
{
    index_rows_forget(&reg->rows);
    touched_clear(reg);
}

/* The first id from @from on that is touched, or is not; ID_ALLOC_MAX + 1 if there is none. */
static uint32_t touched_next(const struct registry *reg, uint32_t from, bool wanted)
{
    uint32_t id = from;

    while (id <= ID_ALLOC_MAX && is_touched(reg, id) != wanted) {
        /* Eight at once: nearly all of them are not. */
        bool skips =
            wanted && (id - ID_ALLOC_MIN) % 8 == 0 && reg->touched[(id - ID_ALLOC_MIN) / 8] == 0;

        id += skips ? 8 : 1;
    }
    return id <= ID_ALLOC_MAX ? id : ID_ALLOC_MAX + 1;
}

/* Side by side they are read together: an import touches thousands in a row. */
static int touched_read(struct registry *reg)
{
    uint32_t id = touched_next(reg, ID_ALLOC_MIN, true);
    int r = 0;

    while (r == 0 && id <= ID_ALLOC_MAX) {
        uint32_t end = touched_next(reg, id, false);

        r = index_rows_read(reg, &reg->rows, id, end - 1);
        id = touched_next(reg, end, true);
    }
    return r;
}

/* Make the rows in memory those that this connection sees. */
static int rows_refresh(struct registry *reg)
{
    int r = 0;

    if (!reg->rows.v)
        r = index_rows_read(reg, &reg->rows, 0, UINT32_MAX);
    else if (reg->is_touched)
        r = touched_read(reg);
    touched_clear(reg);
    return r;
}

/* --- transactions -------------------------------------------------------------------------- */

int change_begin(struct registry *reg)
{
    cleanup_stmt struct stmt st = {0};
    int r = run_commit(reg);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_BEGIN);
    return stmt_run(&st, "begin");
}

void change_abort(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_ROLLBACK);

    ledger_forget(reg);
    /* After a full disk or an I/O error SQLite has rolled back by itself. */
    if (st.s && sqlite3_get_autocommit(reg->db) == 0)
        (void)sqlite3_step(st.s);
    touched_clear(reg);
}

static int commit(struct registry *reg)
{
    int r;

    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_COMMIT);

        r = stmt_run(&st, "commit");
    }
    if (r < 0)
        change_abort(reg);
    return r;
}

int change_commit(struct registry *reg)
{
    int r = commit(reg);

    /* Stored and not published, for a reason that only the caller knows. */
    if (reg->is_touched)
        change_touch_all(reg);
    return r;
}

int always_entitled(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 0;
}

/* --- publication --------------------------------------------------------------------------- */

static int generation_next(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_GENERATION_NEXT);

    return stmt_run(&st, "count the generation");
}

static int generation_get(struct registry *reg, uint64_t *ret_generation)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_GENERATION);
    int r = stmt_step(&st, "read the generation");

    if (r == 0)
        return registry_fail(reg, -EBADMSG, "table meta is empty");
    if (r < 0)
        return r;
    *ret_generation = (uint64_t)stmt_col_int(&st, 0);
    return 0;
}

/* The index of the rows as this connection sees them now. */
static int image_make(struct registry *reg, struct index_image *ret_image)
{
    uint64_t generation = 0;
    int r = generation_get(reg, &generation);

    if (r == 0)
        r = rows_refresh(reg);
    if (r < 0)
        return r;
    r = index_image_build(&reg->rows, generation, ret_image);
    return r < 0 ? registry_fail(reg, r, "make the new index") : 0;
}

static int image_write(struct registry *reg, const struct index_image *image)
{
    int r = index_write(reg->nss_fd, image);

    if (r < 0)
        (void)registry_fail(reg, r, "write the new index " INDEX_DIR_NAME "/" INDEX_TMP_NAME);
    return r;
}

/* Rows into the temporary file. */
static int index_prepare(struct registry *reg)
{
    cleanup_index_image struct index_image image = {0};
    int r = image_make(reg, &image);

    return r < 0 ? r : image_write(reg, &image);
}

static int index_swap(struct registry *reg)
{
    int r = ledger_append(reg);

    if (r < 0) {
        reg->index_behind = true;
        (void)index_sweep(reg->nss_fd);
        return r;
    }
    r = index_rename(reg->nss_fd);
    reg->index_behind = r < 0;
    if (r < 0) {
        (void)index_sweep(reg->nss_fd);
        return registry_fail(reg, r,
                             "stored, but cannot put the new index in place as " INDEX_DIR_NAME
                             "/" INDEX_FILE_NAME);
    }
    if (reg->published)
        reg->published(reg->published_arg);
    return 0;
}

void registry_on_publish(struct registry *reg, void (*fn)(void *arg), void *arg)
{
    reg->published = fn;
    reg->published_arg = arg;
}

/*
 * Names and ids were asked for before the index was written, and an fsync can outlast the lock
 * that made the answers hold.
 */
static int entitled_still(struct registry *reg, registry_taken_fn taken, void *arg)
{
    int r = taken ? taken(arg, NULL, 0) : 0;

    if (r == 0)
        return 0;
    return registry_fail(reg, r < 0 ? r : -EBUSY, "not stored: the right to give out ids is over");
}

/* Everything up to COMMIT. */
static int change_store(struct registry *reg, registry_taken_fn taken, void *arg)
{
    int r = generation_next(reg);

    if (r == 0)
        r = index_prepare(reg);
    if (r == 0)
        r = entitled_still(reg, taken, arg);
    if (r == 0)
        return commit(reg);
    change_abort(reg);
    return r;
}

int change_publish(struct registry *reg, registry_taken_fn taken, void *arg)
{
    int r = change_store(reg, taken, arg);

    if (r < 0)
        (void)index_sweep(reg->nss_fd);
    /* Between these two: stored, and nobody has seen it yet. Its failure must not look like one of
     * the rows: -EEXIST of the ledger is no name that is taken. */
    else if (index_swap(reg) < 0)
        r = -EINPROGRESS;
    if (r < 0)
        change_touch_all(reg);
    return r;
}

/* What is stored, into the index. Return: 0 or a negative errno, and then it is behind. */
static int index_renew(struct registry *reg)
{
    int r;

    reg->index_behind = true;
    change_touch_all(reg);
    r = index_prepare(reg);
    if (r == 0)
        r = index_swap(reg);
    if (r < 0)
        change_touch_all(reg);
    return r;
}

int index_catch_up(struct registry *reg)
{
    if (!reg->index_behind)
        return 0;
    /* Of an earlier change: what it is must not be taken for a fault of this one. */
    return index_renew(reg) < 0 ? -EIO : 0;
}

int registry_rebuild_index(struct registry *reg)
{
    int r = index_catch_up(reg);

    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    change_touch_all(reg);
    return change_publish(reg, NULL, NULL);
}

int index_agree(struct registry *reg)
{
    cleanup_index_image struct index_image image = {0};
    int r = index_sweep(reg->nss_fd);

    if (r < 0)
        return registry_fail(reg, r, "remove " INDEX_DIR_NAME "/" INDEX_TMP_NAME);
    change_touch_all(reg);
    r = image_make(reg, &image);
    reg->index_found = INDEX_FOUND_RIGHT;
    if (r == 0 && !index_is_current(reg->nss_fd, &image)) {
        reg->index_found = faccessat(reg->nss_fd, INDEX_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0
                               ? INDEX_FOUND_NONE
                               : INDEX_FOUND_ANOTHER;
        r = image_write(reg, &image);
        if (r == 0)
            r = index_swap(reg);
    }
    if (r < 0)
        return r;
    r = index_sweep_old(reg->nss_fd);
    return r < 0 ? registry_fail(reg, r, "remove " INDEX_DIR_NAME "/" INDEX_OLD_NAME) : 0;
}

enum index_found registry_index_found(const struct registry *reg)
{
    return reg->index_found;
}

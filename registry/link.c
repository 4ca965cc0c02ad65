/* SPDX-License-Identifier: ISC */
/*
 * link.c - links: made once, used once.
 *
 * A link is used up by one UPDATE with every condition in its WHERE, so that there is no moment
 * between the check and the use. The row is read back by the same statement (RETURNING), the user
 * becomes active in the same transaction, and nothing is told before COMMIT came back: a login that
 * was accepted and forgotten in a crash could be repeated. If COMMIT fails, all of it is undone and
 * the answer is an errno, never a verdict.
 *
 * Which condition failed is not known here, and so cannot leak from here. The search is by a keyed
 * hash: what an attacker types says nothing about which row it comes near.
 */
#include <errno.h>
#include <string.h>

#include "registry/change.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define LIST_PAGE 32

static const char *const purpose_keys[LINK_PURPOSE__COUNT] = {
#define LINK_PURPOSE_KEY(id, key) [LINK_PURPOSE_##id] = key,
    LINK_PURPOSES(LINK_PURPOSE_KEY)
#undef LINK_PURPOSE_KEY
};

const char *link_purpose_key(enum link_purpose purpose)
{
    return purpose < LINK_PURPOSE__COUNT ? purpose_keys[purpose] : "unknown";
}

static int purpose_read(struct stmt *st, int col, enum link_purpose *ret_purpose)
{
    char key[8];
    int r = stmt_col_text(st, col, key, sizeof(key));

    if (r < 0)
        return r;
    for (size_t i = 0; i < LINK_PURPOSE__COUNT; i++) {
        if (strcmp(key, purpose_keys[i]) == 0) {
            *ret_purpose = (enum link_purpose)i;
            return 0;
        }
    }
    return registry_fail(st->reg, -EBADMSG, "unknown purpose of a link: %s", key);
}

/* LINK_COLUMNS of statements.def. */
static int link_row_read(struct stmt *st, struct link *ret_link)
{
    struct link l = {0};
    int64_t caller_uid = stmt_col_int(st, 2);
    int r = stmt_col_text(st, 0, l.link_id, sizeof(l.link_id));

    if (r == 0)
        r = stmt_col_id(st, 1, &l.uid);
    if (r == 0 && (caller_uid < 0 || caller_uid > UINT32_MAX))
        r = registry_fail(st->reg, -EBADMSG, "a link was made by %lld, which is no uid",
                          (long long)caller_uid);
    if (r == 0)
        r = purpose_read(st, 3, &l.purpose);
    if (r == 0)
        r = stmt_col_text(st, 8, l.name, sizeof(l.name));
    if (r < 0)
        return r;
    l.caller_uid = (uint32_t)caller_uid;
    l.created_s = stmt_col_int(st, 4);
    l.expires_s = stmt_col_int(st, 5);
    l.used_s = stmt_col_int(st, 6);
    l.revoked_s = stmt_col_int(st, 7);
    *ret_link = l;
    return 0;
}

/* --- make ---------------------------------------------------------------------------------- */

static bool link_is_valid(const struct link *link)
{
    return hex_id_is_valid(link->link_id, LINK_ID_SIZE) && link->purpose < LINK_PURPOSE__COUNT &&
           link->created_s > 0 && link->expires_s > link->created_s;
}

/* 1 if a link has this id or one of these hashes, 0, or a negative errno. */
static int link_clashes(struct registry *reg, const struct link *link, const uint8_t *token_hash,
                        const uint8_t *code_hash)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_CLASH);

    if (memcmp(token_hash, code_hash, LINK_HASH_SIZE) == 0)
        return 1;
    stmt_text(&st, 1, link->link_id);
    stmt_blob(&st, 2, token_hash, LINK_HASH_SIZE);
    stmt_blob(&st, 3, code_hash, LINK_HASH_SIZE);
    return stmt_step(&st, "look for a link like a new one");
}

static int link_insert(struct registry *reg, const struct link *link, const uint8_t *token_hash,
                       const uint8_t *code_hash)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_INSERT);

    stmt_text(&st, 1, link->link_id);
    stmt_int(&st, 2, link->uid);
    stmt_int(&st, 3, link->caller_uid);
    stmt_text(&st, 4, purpose_keys[link->purpose]);
    stmt_blob(&st, 5, token_hash, LINK_HASH_SIZE);
    stmt_blob(&st, 6, code_hash, LINK_HASH_SIZE);
    stmt_int(&st, 7, link->created_s);
    stmt_int(&st, 8, link->expires_s);
    return stmt_run(&st, "store a link");
}

int link_add(struct registry *reg, const struct link *link, const uint8_t *token_hash,
             const uint8_t *code_hash)
{
    struct user user;
    int r;

    if (!link_is_valid(link))
        return registry_fail(reg, -EINVAL, "store a link");
    r = user_by_uid(reg, link->uid, &user);
    if (r == 0)
        r = link_clashes(reg, link, token_hash, code_hash);
    if (r > 0)
        return registry_fail(reg, -EEXIST, "store a link");
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = link_insert(reg, link, token_hash, code_hash);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* --- use ----------------------------------------------------------------------------------- */

/* The statement. Return: 1 with *@ret_link set, 0 if no link meets every condition, or -errno. */
static int link_use(struct registry *reg, const uint8_t *hash, const char *name,
                    enum link_purpose door, int64_t now_s, struct link *ret_link)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_CONSUME);
    int r;

    stmt_blob(&st, 1, hash, LINK_HASH_SIZE);
    stmt_text(&st, 2, name);
    stmt_text(&st, 3, purpose_keys[door]);
    stmt_int(&st, 4, now_s);
    r = stmt_step(&st, "use a link");
    if (r <= 0)
        return r;
    r = link_row_read(&st, ret_link);
    /* One secret, one row; to the end, so that the statement has done all it does. */
    if (r == 0)
        r = stmt_run(&st, "use a link");
    return r < 0 ? r : 1;
}

static int first_login_note(struct registry *reg, uint32_t uid)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USER_ACTIVATE);

    stmt_int(&st, 1, uid);
    return stmt_run(&st, "activate a user");
}

int link_consume(struct registry *reg, const uint8_t *hash, const char *name,
                 enum link_purpose door, int64_t now_s, struct link *ret_link,
                 enum link_verdict *ret_verdict)
{
    struct link link;
    int r;

    /* A used_s of 0 would be a link that was never used. */
    if (now_s <= 0 || (door != LINK_PURPOSE_SSH && door != LINK_PURPOSE_WEB))
        return registry_fail(reg, -EINVAL, "use a link");
    r = change_begin(reg);
    if (r < 0)
        return r;
    /* Nobody has the name "": what is no name goes the same way as an unknown one. */
    r = link_use(reg, hash, name_is_valid(name) ? name : "", door, now_s, &link);
    if (r == 0) {
        change_abort(reg);
        *ret_verdict = LINK_REFUSED;
        return 0;
    }
    if (r > 0)
        r = first_login_note(reg, link.uid);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    r = change_commit(reg);
    if (r < 0)
        return r;
    *ret_link = link;
    *ret_verdict = LINK_ACCEPTED;
    return 0;
}

/* --- look, revoke, forget ------------------------------------------------------------------ */

int link_get(struct registry *reg, const char *link_id, struct link *ret_link)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_BY_ID);
    int r;

    if (!hex_id_is_valid(link_id, LINK_ID_SIZE))
        return -ENOENT;
    stmt_text(&st, 1, link_id);
    r = stmt_step(&st, "look for a link");
    if (r == 0)
        return -ENOENT;
    return r < 0 ? r : link_row_read(&st, ret_link);
}

int link_revoke(struct registry *reg, const char *link_id, int64_t now_s)
{
    struct link link;
    int r;

    if (now_s <= 0)
        return registry_fail(reg, -EINVAL, "revoke a link");
    r = link_get(reg, link_id, &link);
    if (r < 0 || link.used_s != 0 || link.revoked_s != 0)
        return r;
    r = change_begin(reg);
    if (r < 0)
        return r;
    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_REVOKE);

        stmt_text(&st, 1, link_id);
        stmt_int(&st, 2, now_s);
        r = stmt_run(&st, "revoke a link");
    }
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* Where a listing is: below this in (created_s, row). */
struct place {
    int64_t created_s;
    int64_t row;
};

/* One page of rows, so that @fn may use the registry: no statement is open while it runs. */
static int link_page(struct registry *reg, struct place *place, struct link page[LIST_PAGE],
                     int *ret_n)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_BEFORE);
    int n = 0, r;

    stmt_int(&st, 1, place->created_s);
    stmt_int(&st, 2, place->row);
    stmt_int(&st, 3, LIST_PAGE);
    while ((r = stmt_step(&st, "list the links")) > 0 && n < LIST_PAGE) {
        r = link_row_read(&st, &page[n]);
        if (r < 0)
            return r;
        place->created_s = page[n].created_s;
        place->row = stmt_col_int(&st, 9);
        n++;
    }
    if (r < 0)
        return r;
    *ret_n = n;
    return 0;
}

int link_list(struct registry *reg, link_fn fn, void *arg)
{
    struct place place = {INT64_MAX, INT64_MAX};
    struct link page[LIST_PAGE];
    int n, r;

    do {
        r = link_page(reg, &place, page, &n);
        if (r < 0)
            return r;
        for (int i = 0; i < n; i++) {
            r = fn(arg, &page[i]);
            if (r != 0)
                return r;
        }
    } while (n == LIST_PAGE);
    return 0;
}

int link_forget_old(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_FORGET);

    stmt_int(&st, 1, now_s());
    stmt_int(&st, 2, LINK_KEPT_S);
    return stmt_run(&st, "forget old links");
}

/* SPDX-License-Identifier: ISC */
/*
 * restore_check.c - is a database one that only this program has written?
 *
 * A copy was outside, and whoever had it could write into it. Its tables and references are those
 * of a registry, but what code checks before it stores, only code can check again. So each row is
 * read as it will be read when it is live, and its texts go through the functions that they went
 * through when they came.
 */
#include "registry/restore_check.h"

#include <errno.h>
#include <string.h>

#include "registry/email.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/index_image.h"
#include "registry/index_rows.h"
#include "registry/registry_internal.h"
#include "registry/schema.h"
#include "registry/user_text.h"

#include "common/banned.h"

/* The end of the year 9999: what an RFC 3339 time can say. */
#define TIME_MAX_S INT64_C(253402300799)

struct check {
    struct registry *in;
    bool *used;
};

static int used_look(void *arg, const struct used *used)
{
    struct check *c = arg;

    if (!used_is_valid(used))
        return registry_fail(c->in, -EBADMSG, "id %u was given out under a name that is none",
                             used->id);
    c->used[used->id - ID_ALLOC_MIN] = true;
    return 0;
}

/* No row, where each would be a fault. */
static int no_row(struct check *c, enum stmt_id id, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(c->in, id);
    int r = stmt_step(&st, what);

    return r > 0
               ? registry_fail(c->in, -EBADMSG, "id %lld %s", (long long)stmt_col_int(&st, 0), what)
               : r;
}

static int used_check(struct check *c)
{
    int r = used_list(c->in, used_look, c);

    if (r == 0)
        r = no_row(c, STMT_RESTORE_ODD, "has a name that is not noted as used");
    return r < 0 ? r : no_row(c, STMT_RESTORE_TWICE, "shares a name, or is a user with two");
}

static bool time_is_valid(int64_t s)
{
    return s >= 0 && s <= TIME_MAX_S;
}

static bool email_is_ours(const char *email)
{
    char lower[EMAIL_SIZE];

    return !*email || (email_normalize(email, lower) == 0 && strcmp(lower, email) == 0);
}

static int key_look(void *arg, uint32_t owner_uid, const char *external_id)
{
    const struct user *user = arg;

    (void)owner_uid;
    return external_id_is_valid(external_id) && user->uid != 0 ? 0 : -EBADMSG;
}

static int user_look(void *arg, const struct user *user)
{
    struct check *c = arg;
    struct user u = *user;
    bool is_too_many = false;
    const char *what = NULL;
    int r;

    if (!email_is_ours(u.email))
        what = "e-mail address";
    else if (!comment_is_valid(u.comment))
        what = "comment";
    else if (!shell_is_valid(u.shell))
        what = "shell";
    else if (!time_is_valid(u.created_s) || !time_is_valid(u.expires_s))
        what = "time";
    if (what)
        return registry_fail(c->in, -EBADMSG, "user %s has a %s that is none", u.name, what);
    r = group_limit_check(c->in, u.uid, &is_too_many);
    if (r == 0 && is_too_many)
        r = registry_fail(c->in, -EBADMSG, "user %s is in more than %u groups", u.name,
                          USER_GROUPS_MAX);
    if (r < 0)
        return r;
    r = user_external_id_list(c->in, u.uid, key_look, &u);
    return r == -EBADMSG
               ? registry_fail(c->in, r, "user %s has an external id that is none", u.name)
               : r;
}

static int group_look(void *arg, const struct group *group)
{
    (void)arg;
    (void)group;
    return 0;
}

static int caller_look(void *arg, const struct caller *caller)
{
    (void)arg;
    (void)caller;
    return 0;
}

static int link_look(void *arg, const struct link *link)
{
    (void)arg;
    (void)link;
    return 0;
}

static int session_look(void *arg, const struct session_row *row)
{
    (void)arg;
    (void)row;
    return 0;
}

/* What is only shown, or asked for by number: it has to be readable. */
static int others_check(struct check *c)
{
    int r = group_list(c->in, group_look, NULL);

    if (r == 0)
        r = caller_list(c->in, caller_look, NULL);
    if (r == 0)
        r = link_list(c->in, link_look, NULL);
    return r < 0 ? r : session_list_open(c->in, session_look, NULL);
}

/* What NSS is to say can be said. */
static int index_check(struct check *c)
{
    cleanup_index_image struct index_image image = {0};
    struct index_rows rows = {0};
    int r = index_rows_read(c->in, &rows, 0, UINT32_MAX);

    if (r == 0) {
        r = index_image_build(&rows, 1, &image);
        if (r < 0)
            (void)registry_fail(c->in, r, "make the index");
    }
    index_rows_forget(&rows);
    return r;
}

static int counters_check(struct check *c)
{
    int64_t generation = 0;
    int r = db_number(c->in, "SELECT generation FROM meta", &generation);

    if (r == 0 && (generation < 1 || generation > GENERATION_MAX))
        r = registry_fail(c->in, -EBADMSG, "the generation is %lld", (long long)generation);
    return r;
}

int rows_check(struct registry *in, bool is_checked, bool ret_used[ID_ALLOC_MAX - ID_ALLOC_MIN + 1])
{
    struct check c = {.in = in, .used = ret_used};
    int r;

    if (is_checked)
        return used_list(in, used_look, &c);
    r = counters_check(&c);
    if (r == 0)
        r = used_check(&c);
    if (r == 0)
        r = user_list(in, user_look, &c);
    if (r == 0)
        r = others_check(&c);
    if (r == 0)
        r = index_check(&c);
    /* Of too many groups, or of a text that is too long: it is the file all the same. */
    return r == -E2BIG ? -EBADMSG : r;
}

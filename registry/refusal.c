/* SPDX-License-Identifier: ISC */
/*
 * refusal.c - why a user or a name would be refused, for those who have to say it.
 *
 * Nothing here decides anything: user_create() and group_create() do, and they ask again.
 */
#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "registry/email.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/name.h"
#include "registry/registry_internal.h"
#include "registry/user_text.h"

#include "common/banned.h"

void registry_id_range(const struct registry *reg, uint32_t *ret_min, uint32_t *ret_max)
{
    *ret_min = reg->id_min;
    *ret_max = reg->id_max;
}

/* Who has it now, of the two searches; or whether it is in the list of what was given out. */
static int used_by(struct stmt *used, int is_user, int is_group, enum used_by *ret_by)
{
    int r;

    if (is_user < 0 && is_user != -ENOENT)
        return is_user;
    if (is_group < 0 && is_group != -ENOENT)
        return is_group;
    r = stmt_step(used, "look for what was given out");
    if (r < 0)
        return r;
    if (is_user == 0)
        *ret_by = USED_BY_USER;
    else if (is_group == 0)
        *ret_by = USED_BY_GROUP;
    else
        *ret_by = r > 0 ? USED_ONCE : USED_BY_NOBODY;
    return 0;
}

int name_used_by(struct registry *reg, const char *name, enum used_by *ret_by)
{
    struct user user;
    struct group group;
    int is_user = user_by_name(reg, name, &user), is_group = group_by_name(reg, name, &group);
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_NAME);

    stmt_text(&st, 1, name);
    return used_by(&st, is_user, is_group, ret_by);
}

int id_used_by(struct registry *reg, uint32_t id, enum used_by *ret_by)
{
    struct user user;
    struct group group;
    int is_user = user_by_uid(reg, id, &user), is_group = group_by_gid(reg, id, &group);
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_ID);

    stmt_int(&st, 1, id);
    return used_by(&st, is_user, is_group, ret_by);
}

int group_first_missing(struct registry *reg, const char *const *names, size_t n,
                        const char **ret_name)
{
    for (size_t i = 0; i < n; i++) {
        struct group g;
        int r = group_by_name(reg, names[i], &g);

        if (r == -ENOENT) {
            *ret_name = names[i];
            return 0;
        }
        if (r < 0)
            return r;
    }
    *ret_name = NULL;
    return 0;
}

/* --- one row, looked at ---------------------------------------------------------------------- */

static int name_look(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                     enum user_verdict *ret_verdict)
{
    bool is_taken = false;
    int r = 0;

    if (!name_is_valid(name)) {
        *ret_verdict = USER_NAME_INVALID;
    } else if (name_is_reserved(name)) {
        *ret_verdict = USER_NAME_RESERVED;
    } else {
        r = name_is_taken(reg, name, taken, arg, &is_taken);
        if (r == 0 && is_taken)
            *ret_verdict = USER_NAME_TAKEN;
    }
    return r;
}

/* The number of groups that @names has more than @have, which has @n. */
static size_t groups_more(const struct user_spec *spec, const struct group *have, size_t n)
{
    size_t more = 0;

    for (size_t i = 0; i < spec->group_count; i++) {
        bool is_there = strcmp(spec->groups[i], GROUP_ALL_USERS) == 0;

        for (size_t k = 0; !is_there && k < n; k++)
            is_there = strcmp(spec->groups[i], have[k].name) == 0;
        for (size_t k = 0; !is_there && k < i; k++)
            is_there = strcmp(spec->groups[i], spec->groups[k]) == 0;
        more += !is_there;
    }
    return more;
}

/* @uid: of who exists, or 0. */
static int groups_look(struct registry *reg, const struct user_spec *spec, uint32_t uid,
                       enum user_verdict *ret_verdict)
{
    struct group have[USER_GROUPS_MAX + 1];
    const char *missing = NULL;
    size_t n = 1; /* GROUP_ALL_USERS */
    int r = group_first_missing(reg, spec->groups, spec->group_count, &missing);

    if (r < 0)
        return r;
    if (missing) {
        *ret_verdict = USER_NO_GROUP;
        return 0;
    }
    if (uid != 0)
        r = group_of_user(reg, uid, have, USER_GROUPS_MAX + 1, &n);
    if (r == 0 && n + groups_more(spec, have, uid != 0 ? n : 0) > USER_GROUPS_MAX + 1)
        *ret_verdict = USER_TOO_MANY_GROUPS;
    return r;
}

/* Who would be new. */
static int new_look(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
                    void *arg, enum user_verdict *ret_verdict)
{
    if (!comment_is_valid(spec->comment ? spec->comment : "")) {
        *ret_verdict = USER_COMMENT_INVALID;
        return 0;
    }
    if (!shell_is_valid(spec->shell ? spec->shell : "")) {
        *ret_verdict = USER_SHELL_INVALID;
        return 0;
    }
    return spec->name ? name_look(reg, spec->name, taken, arg, ret_verdict) : 0;
}

int user_check(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
               void *arg, enum user_verdict *ret_verdict)
{
    enum user_verdict verdict = USER_CREATED;
    char email[EMAIL_SIZE];
    struct user user = {0};
    int r;

    if (spec->external_id && !external_id_is_valid(spec->external_id)) {
        *ret_verdict = USER_EXTERNAL_ID_INVALID;
        return 0;
    }
    if (spec->email && email_normalize(spec->email, email) < 0) {
        *ret_verdict = USER_EMAIL_INVALID;
        return 0;
    }
    r = user_exists_already(reg, spec, &user, &verdict);
    if (r == 0 && verdict == USER_UNBOUND)
        verdict = USER_EXISTED;
    if (r == 0 && verdict == USER_CREATED)
        r = new_look(reg, spec, taken, arg, &verdict);
    if (r == 0 && (verdict == USER_CREATED || verdict == USER_EXISTED))
        r = groups_look(reg, spec, user.uid, &verdict);
    if (r == 0)
        *ret_verdict = verdict;
    return r;
}

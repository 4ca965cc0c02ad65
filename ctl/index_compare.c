/* SPDX-License-Identifier: ISC */
/*
 * index_compare.c - what NSS says about each user and group, beside what the registry says.
 *
 * Both sides become one line of text, as in passwd(5) and group(5), and the lines are compared:
 * what is shown is what was compared. An answer that could not be had is a line, too.
 */
#include "ctl/index_compare.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/say.h"

#include "common/banned.h"

#define NOBODY         "nobody"
#define BUFFER_SIZE    65536u
#define GROUPS_MAX     65536
#define STRANGERS_STEP 101u

/* --- the truth ----------------------------------------------------------------------------- */

static int user_read(json_t *json, struct truth_user *ret)
{
    json_t *gids, *gid;
    json_int_t uid;
    size_t i;

    if (json_unpack(json, "{s:s, s:I, s:o}", "name", &ret->name, "uid", &uid, "gids", &gids) < 0 ||
        !json_is_array(gids) || uid < 0 || uid > UINT32_MAX)
        return -EINVAL;
    ret->uid = (uint32_t)uid;
    ret->gid_count = json_array_size(gids);
    ret->gids = calloc(ret->gid_count + 1, sizeof(*ret->gids));
    if (!ret->gids)
        say_no_memory();
    json_array_foreach(gids, i, gid)
    {
        if (!json_is_integer(gid) || json_integer_value(gid) < 0 ||
            json_integer_value(gid) > UINT32_MAX) {
            free(ret->gids);
            return -EINVAL;
        }
        ret->gids[i] = (uint32_t)json_integer_value(gid);
    }
    return 0;
}

static int users_add(struct truth *t, const json_t *users)
{
    size_t n = json_array_size(users);

    t->users = reallocarray(t->users, t->user_count + n + 1, sizeof(*t->users));
    if (!t->users)
        say_no_memory();
    for (size_t i = 0; i < n; i++) {
        struct truth_user *u = &t->users[t->user_count];
        int r = user_read(json_array_get(users, i), u);

        if (r < 0)
            return r;
        t->user_count++;
        if (t->user_count > 1 && u->uid <= u[-1].uid)
            return -EINVAL;
    }
    return 0;
}

static int groups_add(struct truth *t, const json_t *groups)
{
    size_t n = json_array_size(groups);

    t->groups = reallocarray(t->groups, t->group_count + n + 1, sizeof(*t->groups));
    if (!t->groups)
        say_no_memory();
    for (size_t i = 0; i < n; i++) {
        struct truth_group *g = &t->groups[t->group_count];
        json_int_t gid;

        if (json_unpack(json_array_get(groups, i), "{s:s, s:I}", "name", &g->name, "gid", &gid) <
                0 ||
            gid < 0 || gid > UINT32_MAX)
            return -EINVAL;
        g->gid = (uint32_t)gid;
        t->group_count++;
    }
    return 0;
}

static int group_order(const void *a, const void *b)
{
    const struct truth_group *x = a, *y = b;

    return (x->gid > y->gid) - (x->gid < y->gid);
}

int truth_add_page(struct truth *t, json_t *page)
{
    json_t *users, *groups;
    json_int_t generation;
    int r;

    if (json_unpack(page, "{s:I, s:o, s:o}", "generation", &generation, "users", &users, "groups",
                    &groups) < 0 ||
        !json_is_array(users) || !json_is_array(groups))
        return -EINVAL;
    if (t->pages && generation != t->generation)
        return -ESTALE;
    if (!t->pages)
        t->pages = json_array();
    if (!t->pages || json_array_append(t->pages, page) < 0)
        say_no_memory();
    t->generation = generation;
    r = users_add(t, users);
    if (r == 0)
        r = groups_add(t, groups);
    if (t->group_count > 0)
        qsort(t->groups, t->group_count, sizeof(*t->groups), group_order);
    return r;
}

void truth_done(struct truth *t)
{
    for (size_t i = 0; i < t->user_count; i++)
        free(t->users[i].gids);
    free(t->users);
    free(t->groups);
    json_decref(t->pages);
    *t = (struct truth){0};
}

static int user_order(const void *key, const void *element)
{
    const uint32_t *uid = key;
    const struct truth_user *u = element;

    return (*uid > u->uid) - (*uid < u->uid);
}

static const struct truth_user *user_find(const struct truth *t, uint32_t uid)
{
    return bsearch(&uid, t->users, t->user_count, sizeof(*t->users), user_order);
}

static const struct truth_group *group_find(const struct truth *t, uint32_t gid)
{
    const struct truth_group key = {.gid = gid};

    return bsearch(&key, t->groups, t->group_count, sizeof(*t->groups), group_order);
}

/* --- lines --------------------------------------------------------------------------------- */

/* Of a lookup that found nothing (@error 0) or failed. */
static char *no_line(int error)
{
    /* glibc returns some of these for "not there"; source: getpwnam(3). */
    return error == 0 || error == ENOENT || error == ESRCH
               ? text_format("%s", NOBODY)
               : text_format("error: %s", strerror(error));
}

static char *passwd_line(const struct passwd *pw)
{
    return text_format("%s:%s:%u:%u:%s:%s:%s", pw->pw_name, pw->pw_passwd, pw->pw_uid, pw->pw_gid,
                       pw->pw_gecos, pw->pw_dir, pw->pw_shell);
}

static char *user_line(const struct truth_user *u)
{
    return text_format("%s:*:%u:%u::%s/%s:%s/shell", u->name, u->uid, u->uid, ATELIER_HOMES_DIR,
                       u->name, ATELIER_PROGRAMS_DIR);
}

static char *group_line(const struct group *gr)
{
    char *text = text_format("%s:%s:%u:", gr->gr_name, gr->gr_passwd, gr->gr_gid);

    for (char **member = gr->gr_mem; *member; member++) {
        char *longer = text_format("%s%s%s", text, member == gr->gr_mem ? "" : ",", *member);

        free(text);
        text = longer;
    }
    return text;
}

/* Groups have no list of members: membership is answered by initgroups. */
static char *truth_group_line(const char *name, uint32_t gid)
{
    return text_format("%s:*:%u:", name, gid);
}

static int gid_order(const void *a, const void *b)
{
    const gid_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static char *gids_line(gid_t *gids, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        say_no_memory();
    qsort(gids, n, sizeof(*gids), gid_order);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%u", i > 0 ? "," : "", gids[i]);
    if (fclose(out) != 0 || !text)
        say_no_memory();
    return text;
}

/* --- questions ----------------------------------------------------------------------------- */

struct asking {
    const struct truth *t;
    const struct differences *d;
    char *buffer;
    gid_t *gids;
    uint32_t highest; /* id of ours that the registry or a listing has */
};

static void highest_raise(struct asking *a, uint32_t id)
{
    if (id_is_outer(id) && id > a->highest)
        a->highest = id;
}

static void asking_init(struct asking *a, const struct truth *t, const struct differences *d)
{
    *a = (struct asking){
        .t = t, .d = d, .buffer = malloc(BUFFER_SIZE), .gids = calloc(GROUPS_MAX, sizeof(gid_t))};
    if (!a->buffer || !a->gids)
        say_no_memory();
}

static void asking_done(struct asking *a)
{
    free(a->buffer);
    free(a->gids);
}

/* Takes both lines. */
__attribute__((format(printf, 4, 5))) static void judge(const struct asking *a, char *registry,
                                                        char *nss, const char *format, ...)
{
    cleanup_free char *left = registry, *right = nss, *question = NULL;
    va_list args;

    if (strcmp(left, right) == 0)
        return;
    va_start(args, format);
    question = text_vformat(format, args);
    va_end(args);
    a->d->one(a->d->arg, question, left, right);
}

static char *passwd_by_name(const struct asking *a, const char *name)
{
    struct passwd entry, *found = NULL;
    int error = getpwnam_r(name, &entry, a->buffer, BUFFER_SIZE, &found);

    return found ? passwd_line(found) : no_line(error);
}

static char *passwd_by_uid(const struct asking *a, uint32_t uid)
{
    struct passwd entry, *found = NULL;
    int error = getpwuid_r(uid, &entry, a->buffer, BUFFER_SIZE, &found);

    return found ? passwd_line(found) : no_line(error);
}

static char *group_by_name(const struct asking *a, const char *name)
{
    struct group entry, *found = NULL;
    int error = getgrnam_r(name, &entry, a->buffer, BUFFER_SIZE, &found);

    return found ? group_line(found) : no_line(error);
}

static char *group_by_gid(const struct asking *a, uint32_t gid)
{
    struct group entry, *found = NULL;
    int error = getgrgid_r(gid, &entry, a->buffer, BUFFER_SIZE, &found);

    return found ? group_line(found) : no_line(error);
}

static char *groups_asked(const struct asking *a, const struct truth_user *u)
{
    int n = GROUPS_MAX;

    if (getgrouplist(u->name, u->uid, a->gids, &n) < 0)
        return text_format("more than %d groups", GROUPS_MAX);
    return gids_line(a->gids, (size_t)n);
}

static char *groups_wanted(const struct asking *a, const struct truth_user *u)
{
    size_t n = 0;

    a->gids[n++] = u->uid;
    for (size_t i = 0; i < u->gid_count && n < GROUPS_MAX; i++)
        a->gids[n++] = u->gids[i];
    return gids_line(a->gids, n);
}

static void user_ask(const struct asking *a, const struct truth_user *u)
{
    char *wanted_groups = groups_wanted(a, u); /* shares a->gids with what is asked */

    judge(a, user_line(u), passwd_by_name(a, u->name), "passwd %s", u->name);
    judge(a, user_line(u), passwd_by_uid(a, u->uid), "passwd %u", u->uid);
    judge(a, truth_group_line(u->name, u->uid), group_by_name(a, u->name), "group %s", u->name);
    judge(a, truth_group_line(u->name, u->uid), group_by_gid(a, u->uid), "group %u", u->uid);
    judge(a, wanted_groups, groups_asked(a, u), "groups of %s", u->name);
}

static void group_ask(const struct asking *a, const struct truth_group *g)
{
    judge(a, truth_group_line(g->name, g->gid), group_by_name(a, g->name), "group %s", g->name);
    judge(a, truth_group_line(g->name, g->gid), group_by_gid(a, g->gid), "group %u", g->gid);
    judge(a, text_format("%s", NOBODY), passwd_by_name(a, g->name), "passwd %s", g->name);
}

/*
 * Everybody is known by now to be answered as they should; who else is? Every id up to the highest
 * that is known, and some of the others: they come from a counter, and 100,000 questions take
 * seconds.
 */
static void strangers_ask(const struct asking *a)
{
    for (uint32_t id = ID_OUTER_MIN; id <= ID_OUTER_MAX;
         id += id <= a->highest ? 1 : STRANGERS_STEP) {
        const struct truth_user *u = user_find(a->t, id);

        if (!u)
            judge(a, text_format("%s", NOBODY), passwd_by_uid(a, id), "passwd %u", id);
        if (!u && !group_find(a->t, id))
            judge(a, text_format("%s", NOBODY), group_by_gid(a, id), "group %u", id);
    }
}

/* Each entry of a listing has to be the next one that the registry has. */
static void users_list_ask(struct asking *a)
{
    bool *seen = calloc(a->t->user_count + 1, sizeof(*seen));
    struct passwd entry, *found;

    if (!seen)
        say_no_memory();
    setpwent();
    while (getpwent_r(&entry, a->buffer, BUFFER_SIZE, &found) == 0) {
        const struct truth_user *u = user_find(a->t, entry.pw_uid);
        size_t i = u ? (size_t)(u - a->t->users) : 0;

        highest_raise(a, entry.pw_uid);
        if (!u || seen[i])
            judge(a, text_format("%s", u ? "once" : NOBODY), passwd_line(&entry),
                  "listing of passwd");
        else
            judge(a, user_line(u), passwd_line(&entry), "listing of passwd");
        if (u)
            seen[i] = true;
    }
    endpwent();
    for (size_t i = 0; i < a->t->user_count; i++) {
        if (!seen[i])
            judge(a, user_line(&a->t->users[i]), text_format("%s", NOBODY), "listing of passwd");
    }
    free(seen);
}

static void groups_list_ask(struct asking *a)
{
    bool *seen = calloc(ID_OUTER_MAX - ID_OUTER_MIN + 1, sizeof(*seen));
    struct group entry, *found;

    if (!seen)
        say_no_memory();
    setgrent();
    while (getgrent_r(&entry, a->buffer, BUFFER_SIZE, &found) == 0) {
        const struct truth_user *u = user_find(a->t, entry.gr_gid);
        const struct truth_group *g = group_find(a->t, entry.gr_gid);
        bool is_twice = id_is_outer(entry.gr_gid) && seen[entry.gr_gid - ID_OUTER_MIN];
        char *wanted = text_format("%s", is_twice ? "once" : NOBODY);

        if ((u || g) && !is_twice) {
            free(wanted);
            wanted = truth_group_line(u ? u->name : g->name, entry.gr_gid);
        }
        judge(a, wanted, group_line(&entry), "listing of group");
        highest_raise(a, entry.gr_gid);
        if (id_is_outer(entry.gr_gid))
            seen[entry.gr_gid - ID_OUTER_MIN] = true;
    }
    endgrent();
    for (uint32_t id = ID_OUTER_MIN; id <= ID_OUTER_MAX; id++) {
        const struct truth_user *u = user_find(a->t, id);
        const struct truth_group *g = group_find(a->t, id);

        if ((u || g) && !seen[id - ID_OUTER_MIN])
            judge(a, truth_group_line(u ? u->name : g->name, id), text_format("%s", NOBODY),
                  "listing of group");
    }
    free(seen);
}

void compare_module(const struct truth *t, const struct differences *d)
{
    struct asking a;

    asking_init(&a, t, d);
    for (size_t i = 0; i < t->user_count; i++)
        user_ask(&a, &t->users[i]);
    for (size_t i = 0; i < t->group_count; i++)
        group_ask(&a, &t->groups[i]);
    users_list_ask(&a);
    groups_list_ask(&a);
    for (size_t i = 0; i < t->user_count; i++)
        highest_raise(&a, t->users[i].uid);
    for (size_t i = 0; i < t->group_count; i++)
        highest_raise(&a, t->groups[i].gid);
    strangers_ask(&a);
    asking_done(&a);
}

/* Local sources may put somebody into more groups, but not take one away. */
static void host_groups_ask(const struct asking *a, const struct truth_user *u)
{
    int n = GROUPS_MAX;

    if (getgrouplist(u->name, u->uid, a->gids, &n) < 0)
        n = 0;
    qsort(a->gids, (size_t)n, sizeof(gid_t), gid_order);
    for (size_t i = 0; i < u->gid_count; i++) {
        const gid_t gid = u->gids[i];

        if (!bsearch(&gid, a->gids, (size_t)n, sizeof(gid_t), gid_order))
            judge(a, text_format("in group %u", gid), text_format("not in it"),
                  "host: groups of %s", u->name);
    }
}

void compare_host(const struct truth *t, const struct differences *d)
{
    struct asking a;

    asking_init(&a, t, d);
    for (size_t i = 0; i < t->user_count; i++) {
        const struct truth_user *u = &t->users[i];

        judge(&a, user_line(u), passwd_by_name(&a, u->name), "host: passwd %s", u->name);
        judge(&a, user_line(u), passwd_by_uid(&a, u->uid), "host: passwd %u", u->uid);
        judge(&a, truth_group_line(u->name, u->uid), group_by_name(&a, u->name), "host: group %s",
              u->name);
        judge(&a, truth_group_line(u->name, u->uid), group_by_gid(&a, u->uid), "host: group %u",
              u->uid);
        host_groups_ask(&a, u);
    }
    for (size_t i = 0; i < t->group_count; i++) {
        const struct truth_group *g = &t->groups[i];

        judge(&a, truth_group_line(g->name, g->gid), group_by_name(&a, g->name), "host: group %s",
              g->name);
        judge(&a, truth_group_line(g->name, g->gid), group_by_gid(&a, g->gid), "host: group %u",
              g->gid);
    }
    asking_done(&a);
}

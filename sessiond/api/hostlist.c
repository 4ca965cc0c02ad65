/* SPDX-License-Identifier: ISC */
/* hostlist.c - is a name or id taken by anybody on this host, asked for thousands of them. */
#include "sessiond/api/hostlist.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/nsswitch.h"

#include "common/banned.h"

/* The longest line that is read (hostcheck.c has the same). */
#define BUFFER_SIZE ((size_t)4 << 20)

/* A name, or an id: the key of both trees. */
struct question {
    char name[NAME_SIZE]; /* "": it is the id */
    uint32_t id;
    bool is_answered, is_taken;
    struct question *next; /* in the order of the questions */
};

struct hostlist {
    struct hostcheck check;
    void *files;     /* tree: all names and ids of passwd and group that could be ours */
    void *questions; /* tree: what was asked */
    struct question *first_open; /* list of those that NSS has not answered */
    struct question **last_open;
    bool has_news;
};

static int question_compare(const void *a, const void *b)
{
    const struct question *x = a, *y = b;
    int r = strcmp(x->name, y->name);

    if (r != 0)
        return r;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct question key_of(const char *name, uint32_t id)
{
    struct question key = {.id = name ? 0 : id};

    if (name)
        (void)str_copy(key.name, sizeof(key.name), name);
    return key;
}

static struct question *question_find(void *const *tree, const struct question *key)
{
    void *node = tfind(key, tree, question_compare);

    return node ? *(struct question **)node : NULL;
}

/* Find or insert. Return: NULL without memory. */
static struct question *question_add(void **tree, const struct question *key)
{
    struct question *new = question_find(tree, key);

    if (new)
        return new;
    new = malloc(sizeof(*new));
    if (!new)
        return NULL;
    *new = *key;
    if (tsearch(new, tree, question_compare))
        return new;
    free(new);
    return NULL;
}

/* --- files --- */

/* What cannot be a name or id of ours is never asked for. */
static int files_add(struct hostlist *l, const char *name, uint32_t id)
{
    const struct question by_name = key_of(name, 0), by_id = key_of(NULL, id);

    if (name_is_valid(name) && !question_add(&l->files, &by_name))
        return -ENOMEM;
    return id_is_allocatable(id) && !question_add(&l->files, &by_id) ? -ENOMEM : 0;
}

static int passwd_read(struct hostlist *l, FILE *f, char *buf)
{
    struct passwd pw, *entry;
    int error, r = 0;

    while (r == 0 && (error = fgetpwent_r(f, &pw, buf, BUFFER_SIZE, &entry)) == 0)
        r = files_add(l, pw.pw_name, pw.pw_uid);
    if (r < 0)
        return r;
    return error == ENOENT ? 0 : -error; /* ENOENT: end of file (getpwent_r(3)) */
}

static int group_read(struct hostlist *l, FILE *f, char *buf)
{
    struct group gr, *entry;
    int error, r = 0;

    while (r == 0 && (error = fgetgrent_r(f, &gr, buf, BUFFER_SIZE, &entry)) == 0)
        r = files_add(l, gr.gr_name, gr.gr_gid);
    if (r < 0)
        return r;
    return error == ENOENT ? 0 : -error;
}

static int files_load(struct hostlist *l)
{
    static const struct {
        const char *path;
        int (*read)(struct hostlist *l, FILE *f, char *buf);
    } files[] = {{"/etc/passwd", passwd_read}, {"/etc/group", group_read}};
    cleanup_free char *buf = malloc(BUFFER_SIZE);
    int r = buf ? 0 : -ENOMEM;

    tdestroy(l->files, free);
    l->files = NULL;
    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
        FILE *f = fopen(files[i].path, "re");

        if (!f)
            return -errno;
        r = files[i].read(l, f, buf);
        (void)fclose(f);
    }
    return r;
}

/* --- questions --- */

int hostlist_note(void *arg, const char *name, uint32_t id)
{
    struct hostlist *l = arg;
    const struct question key = key_of(name, id);
    struct question *e;

    if (!name && id == 0)
        return 0;
    if (question_find(&l->files, &key))
        return 1;
    e = question_find(&l->questions, &key);
    if (e)
        return e->is_answered && e->is_taken;
    e = question_add(&l->questions, &key);
    if (!e)
        return -ENOMEM;
    *l->last_open = e;
    l->last_open = &e->next;
    return 0;
}

static int ask_nss(const struct hostlist *l, const struct question *e)
{
    return hostcheck_nss(&l->check, e->name[0] ? e->name : NULL, e->id);
}

int hostlist_ask(struct hostlist *l, int64_t until_ms)
{
    while (l->first_open) {
        struct question *e = l->first_open;
        int r = ask_nss(l, e);

        if (r < 0)
            return r;
        e->is_answered = true;
        e->is_taken = r > 0;
        l->has_news = l->has_news || e->is_taken;
        l->first_open = e->next;
        if (!l->first_open)
            l->last_open = &l->first_open;
        if (clock_mono_ms() >= until_ms)
            break;
    }
    return l->first_open != NULL;
}

bool hostlist_has_news(struct hostlist *l)
{
    bool has = l->has_news;

    l->has_news = false;
    return has;
}

int hostlist_lock(struct hostlist *l, int64_t deadline_ms)
{
    l->check.deadline_ms = deadline_ms;
    return files_load(l);
}

int hostlist_taken(void *arg, const char *name, uint32_t id)
{
    const struct hostlist *l = arg;
    const struct question key = key_of(name, id);
    const struct question *e;
    int r = 0;

    if (name || id != 0) {
        if (question_find(&l->files, &key))
            return 1;
        e = question_find(&l->questions, &key);
        r = e && e->is_answered ? e->is_taken : ask_nss(l, &key);
    }
    if (r != 0)
        return r;
    return clock_mono_ms() > l->check.deadline_ms ? -ETIMEDOUT : 0;
}

int hostlist_new(struct hostlist **ret_list)
{
    struct hostlist *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return -ENOMEM;
    l->last_open = &l->first_open;
    r = nsswitch_direct(NSSWITCH_FILE);
    if (r == 0)
        r = files_load(l);
    if (r < 0) {
        hostlist_free(l);
        return r;
    }
    *ret_list = l;
    return 0;
}

void hostlist_free(struct hostlist *l)
{
    if (!l)
        return;
    tdestroy(l->files, free);
    tdestroy(l->questions, free);
    free(l);
}

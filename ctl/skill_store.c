/* SPDX-License-Identifier: ISC */
/* skill_store.c - the skills of this host, in a directory of root. */
#include "ctl/skill_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"

#include "common/banned.h"

#define LOCK     ".lock"
#define NEW      ".new"
#define NEW_LINK ".new-link"
#define OLD      ".old"

static enum ctl_exit say_errno(const char *what, int error)
{
    say_error("%s: %s", what, strerror(error));
    if (error == EACCES || error == EPERM)
        return CTL_NOPERM;
    return error == ENOENT || error == ENOTDIR ? CTL_NO : CTL_INTERNAL;
}

/* Half of something, of an `add` or a `del` that was stopped. */
static int leftovers_remove(int dir)
{
    static const char *const names[] = {NEW, OLD};

    if (unlinkat(dir, NEW_LINK, 0) < 0 && errno != ENOENT)
        return -errno;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int r = skill_tree_remove(dir, names[i]);

        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

static enum ctl_exit edit_begin(const char *path, struct skill_store *store)
{
    int r;

    store->lock = openat(store->dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (store->lock < 0)
        return say_errno(path, errno);
    if (flock(store->lock, LOCK_EX | LOCK_NB) < 0) {
        say_error("%s: another atelier skill is at work: %s", path, strerror(errno));
        return errno == EWOULDBLOCK ? CTL_BUSY : CTL_INTERNAL;
    }
    r = leftovers_remove(store->dir);
    return r < 0 ? say_errno(path, -r) : CTL_OK;
}

enum ctl_exit skill_store_open(const char *path, bool is_edit, struct skill_store *ret_store)
{
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};
    enum ctl_exit code = CTL_OK;
    struct stat st;

    if (is_edit && mkdir(path, 0755) < 0 && errno != EEXIST)
        return say_errno(path, errno);
    store.dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store.dir < 0 && (is_edit || errno != ENOENT))
        return say_errno(path, errno);
    if (store.dir >= 0) {
        if (fstat(store.dir, &st) < 0)
            return say_errno(path, errno);
        if (st.st_uid != geteuid() && st.st_uid != 0) {
            say_error("%s: it belongs to somebody else", path);
            return CTL_NO;
        }
        if ((st.st_mode & 022) != 0) {
            say_error("%s: group or others may write to it", path);
            return CTL_NO;
        }
    }
    if (is_edit)
        code = edit_begin(path, &store);
    if (code != CTL_OK)
        return code;
    *ret_store = store;
    store = (struct skill_store){.dir = -1, .lock = -1};
    return CTL_OK;
}

void skill_store_close(struct skill_store *store)
{
    cleanup_close_p(&store->dir);
    cleanup_close_p(&store->lock);
}

/* --- add ----------------------------------------------------------------------------------- */

/* The copy gets its name, or goes if there is such a version. Return: 0 or a negative errno. */
static int version_settle(int dir, const char *pinned, bool *ret_is_new)
{
    *ret_is_new = renameat2(dir, NEW, dir, pinned, RENAME_NOREPLACE) == 0;
    if (*ret_is_new)
        return fsync(dir) < 0 ? -errno : 0;
    if (errno != EEXIST)
        return -errno;
    return skill_tree_remove(dir, NEW);
}

/* From now on NAME is this one. Return: 0 or a negative errno. */
static int newest_set(int dir, const char *name, const char *pinned)
{
    if (symlinkat(pinned, dir, NEW_LINK) < 0 || renameat(dir, NEW_LINK, dir, name) < 0 ||
        fsync(dir) < 0)
        return -errno;
    return 0;
}

enum ctl_exit skill_store_add(struct skill_store *store, const char *name, int from,
                              const char *title, char ret_pinned[SKILL_SIZE],
                              struct skill_tree *ret_tree, bool *ret_is_new)
{
    cleanup_close int to = -1;
    struct skill_tree tree;
    int r;

    if (mkdirat(store->dir, NEW, 0700) < 0)
        return say_errno(NEW, errno);
    to = openat(store->dir, NEW, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return say_errno(NEW, errno);
    r = skill_tree_take(from, to, title, &tree);
    if (r < 0) {
        (void)skill_tree_remove(store->dir, NEW);
        return r == -EINVAL ? CTL_NO : CTL_INTERNAL;
    }
    (void)snprintf(ret_pinned, SKILL_SIZE, "%s@%s", name, tree.hash);
    r = version_settle(store->dir, ret_pinned, ret_is_new);
    if (r == 0)
        r = newest_set(store->dir, name, ret_pinned);
    if (r < 0)
        return say_errno(ret_pinned, -r);
    *ret_tree = tree;
    return CTL_OK;
}

/* --- look ---------------------------------------------------------------------------------- */

void skill_store_newest(const struct skill_store *store, const char *name,
                        char ret_pinned[SKILL_SIZE])
{
    char text[SKILL_SIZE + 1];
    ssize_t n = store->dir < 0 ? -1 : readlinkat(store->dir, name, text, sizeof(text) - 1);

    ret_pinned[0] = '\0';
    if (n < 0)
        return;
    text[n] = '\0';
    if (strlen(text) == (size_t)n && skill_is_pinned(text) && skill_name_is_same(text, name))
        (void)str_copy(ret_pinned, SKILL_SIZE, text);
}

static int is_version(const struct dirent *e)
{
    return skill_is_pinned(e->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_meant(const char *text, const char *pinned)
{
    if (!text)
        return true;
    return skill_is_pinned(text) ? strcmp(text, pinned) == 0 : skill_name_is_same(text, pinned);
}

static enum ctl_exit visit(const struct skill_store *store, const char *pinned,
                           enum ctl_exit (*fn)(void *arg, const char *pinned, int dir), void *arg)
{
    cleanup_close int dir =
        openat(store->dir, pinned, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return dir < 0 ? say_errno(pinned, errno) : fn(arg, pinned, dir);
}

enum ctl_exit skill_store_each(const struct skill_store *store, const char *text,
                               enum ctl_exit (*fn)(void *arg, const char *pinned, int dir),
                               void *arg)
{
    struct dirent **names = NULL;
    int n = store->dir < 0 ? 0 : scandirat(store->dir, ".", &names, is_version, by_name);
    enum ctl_exit code = CTL_OK;
    bool is_found = false;

    if (n < 0)
        return say_errno("skills", errno);
    for (int i = 0; i < n; i++) {
        if (code == CTL_OK && is_meant(text, names[i]->d_name)) {
            is_found = true;
            code = visit(store, names[i]->d_name, fn, arg);
        }
        free(names[i]);
    }
    free(names);
    if (text && !is_found) {
        say_error("there is no skill %s", text);
        return CTL_NO;
    }
    return code;
}

/* --- by the first digits ------------------------------------------------------------------- */

bool skill_store_names(const char *text)
{
    const char *at = strchr(text, '@');
    char name[NAME_SIZE];
    size_t n;

    if (!at || (size_t)(at - text) >= sizeof(name))
        return skill_is_valid(text);
    skill_name(text, name);
    n = strlen(at + 1);
    return skill_is_valid(name) && n >= SKILL_DIGITS_LEAST && n <= SKILL_HASH_HEX &&
           strspn(at + 1, "0123456789abcdef") == n;
}

struct finding {
    const char *text;
    char found[SKILL_SIZE];
    unsigned count;
};

static enum ctl_exit begins_note(void *arg, const char *pinned, int dir)
{
    struct finding *f = arg;

    (void)dir;
    if (strncmp(pinned, f->text, strlen(f->text)) != 0)
        return CTL_OK;
    (void)str_copy(f->found, sizeof(f->found), pinned);
    f->count++;
    return CTL_OK;
}

enum ctl_exit skill_store_find(const struct skill_store *store, const char *text,
                               char ret_found[SKILL_SIZE])
{
    struct finding f = {.text = text};
    enum ctl_exit code;

    if (skill_is_valid(text)) {
        (void)str_copy(ret_found, SKILL_SIZE, text);
        return CTL_OK;
    }
    code = skill_store_each(store, NULL, begins_note, &f);
    if (code != CTL_OK)
        return code;
    if (f.count != 1) {
        say_error(f.count == 0 ? "there is no skill %s" : "there is more than one skill %s...",
                  text);
        return CTL_NO;
    }
    (void)str_copy(ret_found, SKILL_SIZE, f.found);
    return CTL_OK;
}

/* --- del ----------------------------------------------------------------------------------- */

struct others {
    const char *pinned;
    bool has_any;
};

static enum ctl_exit other_note(void *arg, const char *pinned, int dir)
{
    struct others *o = arg;

    (void)dir;
    if (strcmp(pinned, o->pinned) != 0)
        o->has_any = true;
    return CTL_OK;
}

/* NAME stands for it: it may go as the last one, and the link goes first. */
static enum ctl_exit newest_drop(struct skill_store *store, const char *name, const char *pinned)
{
    struct others others = {.pinned = pinned};
    enum ctl_exit code = skill_store_each(store, name, other_note, &others);

    if (code != CTL_OK)
        return code;
    if (others.has_any) {
        say_error("%s is what %s stands for: add what is to take its place, or remove the others "
                  "first",
                  pinned, name);
        return CTL_NO;
    }
    if (unlinkat(store->dir, name, 0) < 0)
        return say_errno(name, errno);
    return CTL_OK;
}

enum ctl_exit skill_store_del(struct skill_store *store, const char *pinned)
{
    char name[NAME_SIZE], newest[SKILL_SIZE];
    int r;

    skill_name(pinned, name);
    skill_store_newest(store, name, newest);
    if (strcmp(newest, pinned) == 0) {
        enum ctl_exit code = newest_drop(store, name, pinned);

        if (code != CTL_OK)
            return code;
    }
    /* At once gone from the sight of who looks for it, whole or not. */
    if (renameat(store->dir, pinned, store->dir, OLD) < 0)
        return say_errno(pinned, errno);
    r = skill_tree_remove(store->dir, OLD);
    if (r == 0 && fsync(store->dir) < 0)
        r = -errno;
    return r < 0 ? say_errno(pinned, -r) : CTL_OK;
}

/* SPDX-License-Identifier: ISC */
/* ctl_place.c - a new directory with a home in it, for tests of what root does with trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/tree.h"
#include "tests/unit/ctl_place.h"

#include "common/banned.h"

int place_setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    (void)snprintf(p->top, sizeof(p->top), "/tmp/atelier-test-XXXXXX");
    assert_non_null(mkdtemp(p->top));
    (void)snprintf(p->homes, sizeof(p->homes), "%s/homes", p->top);
    (void)snprintf(p->home, sizeof(p->home), "%s/homes/ada", p->top);
    assert_int_equal(mkdir(p->homes, 0700), 0);
    assert_int_equal(mkdir(p->home, 0700), 0);
    p->fd = open(p->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(p->fd >= 0);
    *state = p;
    return 0;
}

static int remove_entry(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    (void)arg;
    if (visit == TREE_FILE)
        (void)unlinkat(e->dir_fd, e->name, 0);
    if (visit == TREE_LEAVE)
        (void)unlinkat(e->dir_fd, e->name, AT_REMOVEDIR);
    return 0;
}

int place_teardown(void **state)
{
    struct place *p = *state;

    assert_int_equal(tree_walk(p->fd, p->top, remove_entry, NULL), 0);
    (void)close(p->fd);
    assert_int_equal(rmdir(p->top), 0);
    free(p);
    return 0;
}

void file_make(const struct place *p, const char *name, uid_t uid)
{
    int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    if (uid != geteuid())
        assert_int_equal(fchown(fd, uid, uid), 0);
    (void)close(fd);
}

uid_t owner(const struct place *p, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_uid;
}

bool is_there(const struct place *p, const char *name)
{
    struct stat st;

    return fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void need_root(void)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
}

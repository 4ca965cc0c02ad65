/* SPDX-License-Identifier: ISC */
/* test_ctl_tree.c - trees that somebody else filled: walked, archived, removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/home_archive.h"
#include "ctl/tree.h"
#include "tests/unit/ctl_place.h"

#include "common/banned.h"

/* --- the walk ------------------------------------------------------------------------------ */

struct visits {
    char text[4096];
    size_t files, enters, leaves, longest;
};

static int note(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    static const char letters[] = "FEL";
    struct visits *v = arg;
    char *path = tree_path(e);
    size_t used = strlen(v->text);

    if (strlen(path) > v->longest)
        v->longest = strlen(path);
    if (visit == TREE_FILE)
        v->files++;
    if (visit == TREE_ENTER)
        v->enters++;
    if (visit == TREE_LEAVE)
        v->leaves++;
    if (used + strlen(path) + 4 < sizeof(v->text) && visit <= TREE_LEAVE)
        (void)snprintf(v->text + used, sizeof(v->text) - used, "%c%s\n", letters[visit], path);
    free(path);
    return visit == TREE_ENTER && strcmp(e->name, "left-out") == 0 ? TREE_SKIP : 0;
}

static void links_are_entries_and_no_ways(void **state)
{
    struct place *p = *state;
    struct visits v = {0};
    char wanted[512];

    assert_int_equal(mkdirat(p->fd, "homes/ada/left-out", 0700), 0);
    file_make(p, "homes/ada/left-out/x", geteuid());
    assert_int_equal(symlinkat("/", p->fd, "homes/ada/root"), 0);
    assert_int_equal(tree_walk(p->fd, p->top, note, &v), 0);
    (void)snprintf(wanted, sizeof(wanted),
                   "E%s/homes\nE%s/homes/ada\nF%s/homes/ada/root\nE%s/homes/ada/left-out\n"
                   "L%s/homes/ada\nL%s/homes\n",
                   p->top, p->top, p->top, p->top, p->top, p->top);
    assert_string_equal(v.text, wanted);
}

#define DEPTH 3000u

static void deep_make(const struct place *p)
{
    int fd = openat(p->fd, "homes/ada", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < DEPTH; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "deep", 0700), 0);
        next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
}

/* Deeper than there are descriptors, and than PATH_MAX. */
static void depth_is_no_obstacle(void **state)
{
    const size_t depth = DEPTH;
    struct place *p = *state;
    struct visits v = {0};
    char *why = NULL;

    deep_make(p);
    assert_int_equal(tree_walk(p->fd, p->top, note, &v), 0);
    assert_int_equal(v.enters, depth + 2);
    assert_int_equal(v.leaves, depth + 2);
    assert_true(v.longest >= PATH_MAX && v.longest < PATH_MAX + NAME_MAX + 8);
    assert_int_equal(home_remove(p->homes, "ada", geteuid(), &why), 0);
    assert_false(is_there(p, "homes/ada"));
}

static int move_away(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    struct place *p = arg;

    if (visit == TREE_FILE && strcmp(e->name, "inside") == 0)
        assert_int_equal(renameat(p->fd, "homes/ada/a", p->fd, "homes/b"), 0);
    return 0;
}

/* The directory that is walked is moved: ".." would lead to another one. */
static void a_directory_that_is_moved_ends_the_walk(void **state)
{
    struct place *p = *state;

    assert_int_equal(mkdirat(p->fd, "homes/ada/a", 0700), 0);
    file_make(p, "homes/ada/a/inside", geteuid());
    assert_int_equal(tree_walk(p->fd, p->top, move_away, p), -ESTALE);
}

static void a_way_through_a_link_is_refused(void **state)
{
    struct place *p = *state;
    char path[128];
    int fd;

    assert_int_equal(symlinkat("homes", p->fd, "link"), 0);
    (void)snprintf(path, sizeof(path), "%s/link/ada", p->top);
    assert_int_equal(tree_open_absolute(path), -ELOOP);
    fd = tree_open_absolute(p->home);
    assert_true(fd >= 0);
    (void)close(fd);
}

/* --- homes --------------------------------------------------------------------------------- */

static void a_home_is_archived_whole_and_never_over_another_file(void **state)
{
    struct place *p = *state;
    char file[128], *why = NULL;

    (void)snprintf(file, sizeof(file), "%s/x.tar.gz", p->top);
    file_make(p, "homes/ada/a file", geteuid());
    assert_int_equal(symlinkat("/etc/passwd", p->fd, "homes/ada/link"), 0);
    assert_int_equal(home_archive(p->homes, "ada", geteuid(), file, &why), 0);
    assert_null(why);
    assert_int_equal(home_archive(p->homes, "ada", geteuid(), file, &why), -EEXIST);
    assert_non_null(strstr(why, "x.tar.gz: File exists"));
    free(why);
    assert_true(is_there(p, "x.tar.gz"));

    assert_int_equal(home_archive(p->homes, "ada", geteuid() + 1, "/nowhere/x", &why), -EPERM);
    assert_non_null(strstr(why, "belongs to UID"));
    free(why);
    assert_int_equal(home_archive(p->homes, "ben", geteuid(), "/nowhere/x", &why), -ENOENT);
    free(why);
}

/* A participant chooses how deep tar has to go. The limit of the test is small, so that a small
 * tree is too deep; @is_hard: it cannot be raised. */
static int deep_archived(const struct place *p, bool is_hard)
{
    struct rlimit own = {.rlim_cur = 256 << 10, .rlim_max = RLIM_INFINITY};
    char file[128], *why = NULL;
    struct rlimit after;

    if (is_hard)
        own.rlim_max = own.rlim_cur;
    else if (getrlimit(RLIMIT_STACK, &after) == 0)
        own.rlim_max = after.rlim_max;
    (void)snprintf(file, sizeof(file), "%s/deep.tar.gz", p->top);
    if (setrlimit(RLIMIT_STACK, &own) < 0)
        return 77;
    if (home_archive(p->homes, "ada", geteuid(), file, &why) < 0) {
        (void)fprintf(stderr, "%s\n", why);
        return strstr(why, "killed by signal 11 (Segmentation fault)") &&
                       strstr(why, "nested too deep for tar")
                   ? 11
                   : 1;
    }
    /* Ours is as it was. */
    return getrlimit(RLIMIT_STACK, &after) == 0 && after.rlim_cur == own.rlim_cur ? 0 : 2;
}

static int deep_archived_in_child(const struct place *p, bool is_hard)
{
    int status;
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(deep_archived(p, is_hard));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_deep_home_is_archived_or_it_is_said_why_not(void **state)
{
    const struct place *p = *state;

    deep_make(p);
    assert_int_equal(deep_archived_in_child(p, true), 11);
    assert_false(is_there(p, "deep.tar.gz"));
    assert_int_equal(deep_archived_in_child(p, false), 0);
    assert_true(is_there(p, "deep.tar.gz"));
}

static void only_the_owners_home_is_removed_and_no_link_is_followed(void **state)
{
    struct place *p = *state;
    char *why = NULL;

    file_make(p, "kept", geteuid());
    assert_int_equal(mkdirat(p->fd, "dir", 0700), 0);
    file_make(p, "dir/kept", geteuid());
    assert_int_equal(symlinkat("../../kept", p->fd, "homes/ada/file"), 0);
    assert_int_equal(symlinkat("../../dir", p->fd, "homes/ada/dir"), 0);
    assert_int_equal(home_remove(p->homes, "ada", geteuid() + 1, &why), -EPERM);
    free(why);
    assert_true(is_there(p, "homes/ada/file"));
    assert_int_equal(symlinkat("../dir", p->fd, "homes/ben"), 0);
    assert_int_equal(home_remove(p->homes, "ben", geteuid(), &why), -ENOTDIR);
    free(why);
    assert_int_equal(home_remove(p->homes, "ada", geteuid(), &why), 0);
    assert_false(is_there(p, "homes/ada"));
    assert_true(is_there(p, "kept"));
    assert_true(is_there(p, "dir/kept"));
}

/* In a child with mounts of its own. */
static int mounted(struct place *p)
{
    char path[128], *why = NULL;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    (void)snprintf(path, sizeof(path), "%s/mnt", p->home);
    if (mkdir(path, 0700) < 0 || mkdirat(p->fd, "dir", 0700) < 0)
        return 1;
    file_make(p, "dir/kept", 0);
    (void)snprintf(path, sizeof(path), "%s/dir", p->top);
    {
        char mnt[128];

        (void)snprintf(mnt, sizeof(mnt), "%s/mnt", p->home);
        if (mount(path, mnt, NULL, MS_BIND, NULL) < 0)
            return 2;
    }
    /* The same file system: its device number gives nothing away. */
    if (home_remove(p->homes, "ada", 0, &why) != -EBUSY || !strstr(why, "/homes/ada/mnt"))
        return 3;
    return is_there(p, "dir/kept") ? 0 : 4;
}

static void a_bind_mount_in_a_home_is_not_emptied(void **state)
{
    struct place *p = *state;
    int status;
    pid_t pid;

    need_root();
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(mounted(p));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: no mount namespace can be made here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(links_are_entries_and_no_ways),
        TEST(depth_is_no_obstacle),
        TEST(a_directory_that_is_moved_ends_the_walk),
        TEST(a_way_through_a_link_is_refused),
        TEST(a_home_is_archived_whole_and_never_over_another_file),
        TEST(a_deep_home_is_archived_or_it_is_said_why_not),
        TEST(only_the_owners_home_is_removed_and_no_link_is_followed),
        TEST(a_bind_mount_in_a_home_is_not_emptied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

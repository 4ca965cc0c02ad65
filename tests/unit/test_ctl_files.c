/* SPDX-License-Identifier: ISC */
/* test_ctl_files.c - files of a UID are looked for; copies to and from the registry's directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/backup_file.h"
#include "ctl/files_elsewhere.h"
#include "tests/unit/ctl_place.h"

#include "common/banned.h"

/* --- file systems -------------------------------------------------------------------------- */

static void each_file_system_is_looked_at_once(void **state)
{
    static const char mountinfo[] =
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "23 22 0:21 / /proc rw - proc proc rw\n"
        "24 22 0:22 / /sys rw - sysfs sysfs rw\n"
        "25 22 8:2 /@home /home rw - btrfs /dev/sda2 rw\n"
        "26 22 8:1 /srv/a /mnt/bind rw - ext4 /dev/sda1 rw\n"
        "27 22 0:40 / /mnt/my\\040disk rw - nfs4 host:/x rw\n"
        "28 22 0:41 / /mnt/f rw - fuse.sshfs host:/x rw\n"
        "29 22 8:3 / /mnt/over rw - xfs /dev/sda3 rw\n"
        "30 29 8:4 / /mnt/over rw - xfs /dev/sda4 rw\n"
        "31 22 8:5 / /data rw master:1 propagate_from:2 - ext4 /dev/sdb rw\n"
        "32 22 8:5 / /also rw - ext4 /dev/sdb rw\n"
        "33 22 0:50 / /run rw - tmpfs tmpfs rw\n";
    FILE *in = fmemopen((void *)(uintptr_t)mountinfo, strlen(mountinfo), "r");
    char text[512] = "";
    struct mounts mounts;

    (void)state;
    assert_int_equal(mounts_read(in, &mounts), 0);
    (void)fclose(in);
    for (size_t i = 0; i < mounts.used; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s\n",
                       mounts.all[i].point, mounts.all[i].type);
    assert_string_equal(text, "/ ext4\n/home btrfs\n/mnt/my disk nfs4\n/mnt/f fuse.sshfs\n"
                              "/mnt/over xfs\n/data ext4\n/run tmpfs\n");
    mounts_done(&mounts);
    in = fmemopen((void *)(uintptr_t) "22 1 8:1 / /\n", 13, "r");
    assert_int_equal(mounts_read(in, &mounts), -EINVAL);
    (void)fclose(in);
}

struct found {
    char text[2048];
};

static void on_found(void *arg, size_t i, const char *path)
{
    struct found *found = arg;
    size_t used = strlen(found->text);

    if (path)
        (void)snprintf(found->text + used, sizeof(found->text) - used, "%zu %s\n", i, path);
}

static void on_unseen(void *arg, const char *path, const char *why)
{
    (void)arg;
    (void)path;
    (void)why;
}

/* Everything that the test's process can see is searched: this is the whole machine. */
static void files_are_found_by_owner_and_homes_left_out(void **state)
{
    struct place *p = *state;
    const uid_t uids[] = {OLD, OTHER};
    const char *const skips[] = {p->home, NULL};
    struct found found = {0};
    struct elsewhere w = {.uids = uids,
                          .uid_count = 2,
                          .skips = skips,
                          .paths_max = 100,
                          .found = on_found,
                          .unseen = on_unseen,
                          .arg = &found};
    char wanted[256];

    need_root();
    file_make(p, "old", OLD);
    file_make(p, "other", OTHER);
    file_make(p, "none", NEW);
    file_make(p, "homes/ada/inside", OLD);
    assert_int_equal(files_elsewhere(&w), 0);
    (void)snprintf(wanted, sizeof(wanted), "0 %s/old\n", p->top);
    assert_non_null(strstr(found.text, wanted));
    (void)snprintf(wanted, sizeof(wanted), "1 %s/other\n", p->top);
    assert_non_null(strstr(found.text, wanted));
    assert_null(strstr(found.text, "none"));
    assert_null(strstr(found.text, "inside"));
}

#define DEPTH 20000u /* of directories that a participant makes in a second */
#define PATHS 7u

struct counted {
    size_t found, paths, longest;
};

static void on_counted(void *arg, size_t i, const char *path)
{
    struct counted *c = arg;

    (void)i;
    c->found++;
    if (!path)
        return;
    c->paths++;
    if (strlen(path) > c->longest)
        c->longest = strlen(path);
}

static int deep_make(uid_t uid)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < DEPTH; i++) {
        static const char name[] = "a-name-of-some-length";
        int next;

        if (mkdirat(fd, name, 0755) < 0 || fchownat(fd, name, uid, uid, 0) < 0)
            return 2;
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (next < 0)
            return 2;
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    return 0;
}

/* CPU seconds for a search of files of @uid; *@c is added to. */
static double searched_s(uid_t uid, struct counted *c)
{
    const char *const skips[] = {"/home", NULL};
    const struct elsewhere w = {.uids = &uid,
                                .uid_count = 1,
                                .skips = skips,
                                .paths_max = PATHS,
                                .found = on_counted,
                                .unseen = on_unseen,
                                .arg = c};
    clock_t before = clock();

    return files_elsewhere(&w) < 0 ? 1e9 : (double)(clock() - before) / CLOCKS_PER_SEC;
}

/* In a child whose root is a small file system. */
static int deep(struct place *p)
{
    struct counted others = {0}, own = {0};
    int r;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", p->top, "tmpfs", 0, NULL) < 0 || chroot(p->top) < 0 || chdir("/") < 0 ||
        mkdir("/proc", 0755) < 0 || mount("proc", "/proc", "proc", 0, NULL) < 0)
        return 77;
    r = deep_make(OTHER);
    if (r != 0)
        return r;
    /* Making one path for each directory takes ten seconds and more. */
    if (searched_s(OLD, &others) > 2)
        return 3;
    if (others.found != 0)
        return 4;
    if (searched_s(OTHER, &own) > 2)
        return 5;
    if (own.found != DEPTH || own.paths != PATHS)
        return 6;
    return own.longest > 0 && own.longest < 4200 ? 0 : 7;
}

static void the_depth_of_a_tree_costs_nobody_a_path(void **state)
{
    int status;
    pid_t pid;

    need_root();
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(deep(*state));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: no mount namespace can be made here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- the registry's directory -------------------------------------------------------------- */

static void a_backup_is_taken_from_a_plain_file_of_the_owner_alone(void **state)
{
    struct place *p = *state;
    int target = openat(p->fd, "target", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char text[8] = "";

    need_root();
    assert_true(target >= 0);
    assert_int_equal(fchown(p->fd, OLD, OLD), 0);
    file_make(p, "good", OLD);
    file_make(p, "roots", 0);
    file_make(p, "linked", OLD);
    assert_int_equal(linkat(p->fd, "linked", p->fd, "linked2", 0), 0);
    assert_int_equal(symlinkat("good", p->fd, "link"), 0);
    assert_int_equal(mkfifoat(p->fd, "fifo", 0600), 0);
    assert_int_equal(backup_take(p->fd, "link", 4, target), -EPERM);
    assert_int_equal(backup_take(p->fd, "roots", 4, target), -EPERM);
    assert_int_equal(backup_take(p->fd, "linked", 4, target), -EPERM);
    assert_int_equal(backup_take(p->fd, "fifo", 4, target), -EPERM);
    assert_int_equal(backup_take(p->fd, "none", 4, target), -ENOENT);
    assert_int_equal(backup_take(p->fd, "good", 5, target), -EIO);
    assert_int_equal(lseek(target, 0, SEEK_END), 0);
    assert_int_equal(backup_take(p->fd, "good", 4, target), 0);
    assert_int_equal(pread(target, text, sizeof(text) - 1, 0), 4);
    assert_string_equal(text, "text");
    (void)close(target);
    assert_int_equal(fchown(p->fd, 0, 0), 0);
}

/* The size is what its owner says; what is read must not be theirs to choose. */
static void a_backup_that_grows_or_is_a_hole_is_not_copied(void **state)
{
    struct place *p = *state;
    int target = openat(p->fd, "target", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat st;
    int fd;

    need_root();
    assert_true(target >= 0);
    assert_int_equal(fchown(p->fd, OLD, OLD), 0);
    file_make(p, "hole", OLD);
    fd = openat(p->fd, "hole", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    assert_int_equal(backup_take(p->fd, "hole", (uint64_t)1 << 40, target), -EPERM);
    (void)close(fd);
    /* What is there beyond @bytes is not read, whoever says what st_size is: as of proc(5). */
    fd = openat(p->fd, "source", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "longer than that", 16), 16);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(bytes_copy(fd, target, 4), -EIO);
    assert_int_equal(fstat(target, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(bytes_copy(fd, target, 17), -EIO);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(bytes_copy(fd, target, 16), 0);
    (void)close(fd);
    (void)close(target);
    assert_int_equal(fchown(p->fd, 0, 0), 0);
}

static void a_restore_is_put_into_a_new_file_of_the_owner(void **state)
{
    struct place *p = *state;
    struct stat st;
    int source;

    need_root();
    assert_int_equal(fchown(p->fd, OLD, OLD), 0);
    file_make(p, "source", 0);
    file_make(p, "kept", 0);
    assert_int_equal(symlinkat("kept", p->fd, "restore.db"), 0);
    source = openat(p->fd, "source", O_RDONLY | O_CLOEXEC);
    assert_int_equal(backup_put(p->fd, "restore.db", source), 0);
    (void)close(source);
    assert_int_equal(fstatat(p->fd, "restore.db", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_uid, OLD);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(owner(p, "kept"), 0);
    assert_int_equal(fchown(p->fd, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_system_is_looked_at_once),
        TEST(files_are_found_by_owner_and_homes_left_out),
        TEST(the_depth_of_a_tree_costs_nobody_a_path),
        TEST(a_backup_is_taken_from_a_plain_file_of_the_owner_alone),
        TEST(a_backup_that_grows_or_is_a_hole_is_not_copied),
        TEST(a_restore_is_put_into_a_new_file_of_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

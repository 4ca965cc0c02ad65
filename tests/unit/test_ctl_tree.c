/* SPDX-License-Identifier: ISC */
/* test_ctl_tree.c - trees that somebody else filled: walked, archived, removed, given away. */
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
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/adopt_home.h"
#include "ctl/backup_file.h"
#include "ctl/files_elsewhere.h"
#include "ctl/home_archive.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define OLD   54321u /* UIDs that nobody on the machine has */
#define NEW   54322u
#define OTHER 54323u

/* A directory of the test's own; its home is homes/ada. */
struct place {
    char top[64];
    char homes[80], home[96];
    int fd; /* of the top */
};

static int setup(void **state)
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

static int teardown(void **state)
{
    struct place *p = *state;

    assert_int_equal(tree_walk(p->fd, p->top, remove_entry, NULL), 0);
    (void)close(p->fd);
    assert_int_equal(rmdir(p->top), 0);
    free(p);
    return 0;
}

static void file_make(const struct place *p, const char *name, uid_t uid)
{
    int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    if (uid != geteuid())
        assert_int_equal(fchown(fd, uid, uid), 0);
    (void)close(fd);
}

static uid_t owner(const struct place *p, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_uid;
}

static bool is_there(const struct place *p, const char *name)
{
    struct stat st;

    return fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
}

/* --- the walk ------------------------------------------------------------------------------ */

struct visits {
    char text[4096];
    size_t files, enters, leaves;
};

static int note(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    static const char letters[] = "FEL";
    struct visits *v = arg;
    char *path = tree_path(e);
    size_t used = strlen(v->text);

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

/* Deeper than there are descriptors, and than PATH_MAX. */
static void depth_is_no_obstacle(void **state)
{
    const size_t depth = 3000;
    struct place *p = *state;
    struct visits v = {0};
    int fd = openat(p->fd, "homes/ada", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *why = NULL;

    for (size_t i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "deep", 0700), 0);
        next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    assert_int_equal(tree_walk(p->fd, p->top, note, &v), 0);
    assert_int_equal(v.enters, depth + 2);
    assert_int_equal(v.leaves, depth + 2);
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

/* --- adoption ------------------------------------------------------------------------------ */

struct left {
    char text[4096];
};

static void on_left(void *arg, const char *path, const char *why)
{
    struct left *left = arg;
    size_t used = strlen(left->text);

    (void)snprintf(left->text + used, sizeof(left->text) - used, "%s: %s\n", strrchr(path, '/') + 1,
                   why);
}

static const struct adopt_ids ids = {.old_uid = OLD, .old_gid = OLD, .uid = NEW};

static void what_the_account_did_not_own_does_not_change_hands(void **state)
{
    struct place *p = *state;
    struct left left = {0};
    const struct adopt_report report = {.left = on_left, .arg = &left};
    struct stat st;

    need_root();
    file_make(p, "homes/ada/own", OLD);
    file_make(p, "homes/ada/twice", OLD);
    assert_int_equal(linkat(p->fd, "homes/ada/twice", p->fd, "homes/ada/twice2", 0), 0);
    file_make(p, "homes/ada/roots", 0);
    file_make(p, "secret", OTHER);
    assert_int_equal(linkat(p->fd, "secret", p->fd, "homes/ada/stolen", 0), 0);
    assert_int_equal(symlinkat("../../secret", p->fd, "homes/ada/link"), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/link", OLD, OLD, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(mknodat(p->fd, "homes/ada/device", S_IFCHR | 0600, makedev(1, 3)), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/device", OLD, OLD, AT_SYMLINK_NOFOLLOW), 0);
    file_make(p, "homes/ada/suid", OLD);
    assert_int_equal(fchmodat(p->fd, "homes/ada/suid", 06755, 0), 0);
    file_make(p, "homes/ada/group", OLD);
    assert_int_equal(fchownat(p->fd, "homes/ada/group", OLD, OTHER, 0), 0);
    assert_int_equal(mkdirat(p->fd, "homes/ada/dir", 0700), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/dir", OLD, OLD, 0), 0);
    file_make(p, "homes/ada/dir/inner", OLD);

    /* A home of somebody else is not touched at all. */
    assert_int_equal(adopt_home_own(p->home, &ids, &report), -EPERM);
    assert_int_equal(owner(p, "homes/ada/own"), OLD);
    assert_int_equal(fchownat(p->fd, "homes/ada", OLD, OLD, 0), 0);
    for (int round = 0; round < 2; round++) { /* and once more, as after a crash */
        left.text[0] = '\0';
        assert_int_equal(adopt_home_own(p->home, &ids, &report), 0);
        assert_non_null(strstr(left.text, "roots: belongs to UID 0\n"));
        assert_non_null(strstr(left.text, "stolen: belongs to UID 54323, with other links\n"));
        assert_non_null(strstr(left.text, "device: a device\n"));
        assert_null(strstr(left.text, "twice"));
    }
    assert_int_equal(owner(p, "homes/ada"), NEW);
    assert_int_equal(owner(p, "homes/ada/own"), NEW);
    assert_int_equal(owner(p, "homes/ada/twice2"), NEW);
    assert_int_equal(owner(p, "homes/ada/link"), NEW);
    assert_int_equal(owner(p, "homes/ada/dir/inner"), NEW);
    assert_int_equal(owner(p, "homes/ada/work"), NEW);
    assert_int_equal(owner(p, "homes/ada/roots"), 0);
    assert_int_equal(owner(p, "homes/ada/device"), OLD);
    assert_int_equal(owner(p, "secret"), OTHER);
    assert_int_equal(fstatat(p->fd, "homes/ada/suid", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(st.st_gid, NEW);
    assert_int_equal(fstatat(p->fd, "homes/ada/group", &st, 0), 0);
    assert_int_equal(st.st_uid, NEW);
    assert_int_equal(st.st_gid, OTHER);
}

static void a_home_moves_when_it_is_the_accounts_and_nothing_is_in_the_way(void **state)
{
    struct place *p = *state;
    char from[96], linked[96], *why = NULL;

    need_root();
    assert_int_equal(rmdir(p->home), 0);
    assert_int_equal(fchmod(p->fd, 0755), 0);
    assert_int_equal(mkdirat(p->fd, "old", 0755), 0);
    assert_int_equal(mkdirat(p->fd, "old/ada", 0755), 0);
    (void)snprintf(from, sizeof(from), "%s/old/ada", p->top);

    /* Of somebody else; in a directory that others can write; through a link. */
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &why), -EPERM);
    assert_non_null(strstr(why, "belongs to UID 0"));
    free(why);
    assert_int_equal(fchownat(p->fd, "old/ada", OLD, OLD, 0), 0);
    assert_int_equal(fchmodat(p->fd, "old", 0777, 0), 0);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &why), -EPERM);
    assert_non_null(strstr(why, "is not root's alone"));
    free(why);
    assert_int_equal(fchmodat(p->fd, "old", 0755, 0), 0);
    assert_int_equal(symlinkat("old", p->fd, "way"), 0);
    (void)snprintf(linked, sizeof(linked), "%s/way/ada", p->top);
    assert_int_equal(adopt_home_move(linked, p->homes, "ada", &ids, &why), -ENOTDIR);
    free(why);
    assert_int_equal(symlinkat("ada", p->fd, "old/link"), 0);
    (void)snprintf(linked, sizeof(linked), "%s/old/link", p->top);
    assert_int_equal(adopt_home_move(linked, p->homes, "ada", &ids, &why), -ENOTDIR);
    free(why);

    /* There already. */
    assert_int_equal(mkdirat(p->fd, "homes/ada", 0700), 0);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &why), -EEXIST);
    assert_non_null(strstr(why, "there is a"));
    free(why);
    assert_int_equal(rmdir(p->home), 0);

    why = NULL;
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &why), 0);
    assert_null(why);
    assert_int_equal(owner(p, "homes/ada"), OLD);
    assert_false(is_there(p, "old/ada"));
    /* Again, and a home that is where it belongs. */
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &why), -ENOENT);
    assert_int_equal(adopt_home_move(p->home, p->homes, "ada", &ids, &why), 0);
    assert_int_equal(adopt_home_move("/nonexistent", p->homes, "ada", &ids, &why), -ENOENT);
    assert_int_equal(adopt_home_move("/", p->homes, "ada", &ids, &why), -ENOENT);
    assert_null(why);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(links_are_entries_and_no_ways),
        TEST(depth_is_no_obstacle),
        TEST(a_directory_that_is_moved_ends_the_walk),
        TEST(a_way_through_a_link_is_refused),
        TEST(a_home_is_archived_whole_and_never_over_another_file),
        TEST(only_the_owners_home_is_removed_and_no_link_is_followed),
        TEST(a_bind_mount_in_a_home_is_not_emptied),
        TEST(what_the_account_did_not_own_does_not_change_hands),
        TEST(a_home_moves_when_it_is_the_accounts_and_nothing_is_in_the_way),
        cmocka_unit_test(each_file_system_is_looked_at_once),
        TEST(files_are_found_by_owner_and_homes_left_out),
        TEST(a_backup_is_taken_from_a_plain_file_of_the_owner_alone),
        TEST(a_restore_is_put_into_a_new_file_of_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

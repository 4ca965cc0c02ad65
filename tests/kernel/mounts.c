/* SPDX-License-Identifier: ISC */
/* mounts.c - the mount API, tmpfs, devpts, and what a path or a descriptor leads to. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

static int open_tree_of(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path,
                        OPEN_TREE_CLONE | (unsigned)OPEN_TREE_CLOEXEC | flags);
}

static int attributes_set(int dir, const char *path, unsigned flags, uint64_t set)
{
    struct mount_attr attr = {.attr_set = set};

    return (int)syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof(attr));
}

static int attach(int tree, const char *target)
{
    return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
}

static int open_how(int dir, const char *path, uint64_t resolve)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = resolve};

    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static void tmpfs_at(const char *path, const char *options)
{
    SETUP(mkdir(path, 0755) == 0 || errno == EEXIST);
    SETUP(mount("tmpfs", path, "tmpfs", 0, options) == 0);
}

/* --- trees ---------------------------------------------------------------------------------- */

static void recursive_read_only_covers_mounts_below(void)
{
    int tree;

    tmpfs_at("top", NULL);
    tmpfs_at("top/below", NULL);
    SETUP(mkdir("old", 0755) == 0 && mkdir("new", 0755) == 0);
    SETUP(mount("top", "old", NULL, MS_BIND | MS_REC, NULL) == 0);
    SETUP(mount(NULL, "old", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
    CONTROL(file_write("old/file", "x") == EROFS && file_write("old/below/file", "x") == 0);
    tree = open_tree_of(AT_FDCWD, "top", AT_RECURSIVE);
    SETUP(tree >= 0);
    SETUP(attributes_set(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, MOUNT_ATTR_RDONLY) == 0);
    SETUP(attach(tree, "new") == 0);
    MUST(file_write("new/file", "x") == EROFS && file_write("new/below/file", "x") == EROFS);
    CONTROL(file_write("top/below/file", "x") == 0); /* of the original nothing has changed */
}

/* What lies on the covered directory would show. */
static void tree_that_is_not_recursive_uncovers(void)
{
    struct stat st;
    int shallow, deep;

    SETUP(mkdir("top", 0755) == 0 && mkdir("top/below", 0755) == 0);
    SETUP(file_write("top/below/covered", "x") == 0);
    tmpfs_at("top/below", NULL);
    shallow = open_tree_of(AT_FDCWD, "top", 0);
    deep = open_tree_of(AT_FDCWD, "top", AT_RECURSIVE);
    SETUP(shallow >= 0 && deep >= 0);
    MUST(fstatat(shallow, "below/covered", &st, 0) == 0);
    CONTROL(fstatat(deep, "below/covered", &st, 0) < 0 && errno == ENOENT);
}

static void open_tree_keeps_the_directory_when_the_path_is_swapped(void)
{
    char text[8];
    int dir, tree;

    SETUP(mkdir("home", 0755) == 0 && mkdir("evil", 0755) == 0 && mkdir("seen", 0755) == 0);
    SETUP(file_write("home/whose", "ours") == 0 && file_write("evil/whose", "evil") == 0);
    dir = open("home", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    SETUP(dir >= 0 && rename("home", "away") == 0 && symlink("evil", "home") == 0);
    tree = open_tree_of(dir, "", AT_EMPTY_PATH);
    SETUP(tree >= 0 && attach(tree, "seen") == 0);
    MUST(file_read("seen/whose", text, sizeof(text)) && strcmp(text, "ours") == 0);
    SETUP(umount2("seen", MNT_DETACH) == 0);
    tree = open_tree_of(AT_FDCWD, "home", 0); /* by path, the link is followed */
    SETUP(tree >= 0 && attach(tree, "seen") == 0);
    CONTROL(file_read("seen/whose", text, sizeof(text)) && strcmp(text, "evil") == 0);
}

static void a_mounted_directory_is_kept_when_the_path_is_swapped(void)
{
    char text[8];
    int tree;

    SETUP(mkdir("skill", 0755) == 0 && mkdir("seen", 0755) == 0);
    SETUP(file_write("skill/version", "1") == 0);
    tree = open_tree_of(AT_FDCWD, "skill", 0);
    SETUP(tree >= 0 && attach(tree, "seen") == 0);
    SETUP(rename("skill", "away") == 0 && mkdir("skill", 0755) == 0);
    SETUP(file_write("skill/version", "2") == 0);
    CONTROL(file_read("skill/version", text, sizeof(text)) && strcmp(text, "2") == 0);
    MUST(file_read("seen/version", text, sizeof(text)) && strcmp(text, "1") == 0);
}

static void a_mounted_file_hides_its_successor(void)
{
    char text[8];

    SETUP(mkdir("dir", 0755) == 0 && mkdir("dir-seen", 0755) == 0);
    SETUP(file_write("dir/index", "1") == 0 && file_write("file-seen", "") == 0);
    SETUP(mount("dir", "dir-seen", NULL, MS_BIND, NULL) == 0);
    SETUP(mount("dir/index", "file-seen", NULL, MS_BIND, NULL) == 0);
    SETUP(file_write("dir/next", "2") == 0 && rename("dir/next", "dir/index") == 0);
    CONTROL(file_read("dir-seen/index", text, sizeof(text)) && strcmp(text, "2") == 0);
    MUST(file_read("file-seen", text, sizeof(text)) && strcmp(text, "1") == 0);
}

static int came[2], go[2];

static void unshare_and_look(void *is_private)
{
    struct stat st;
    char byte;

    SETUP(unshare(CLONE_NEWNS) == 0);
    if (is_private)
        SETUP(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    SETUP(write(came[1], "", 1) == 1 && read(go[0], &byte, 1) == 1);
    _exit(stat("/tmp/late/file", &st) == 0 ? 10 : 0);
}

static int late_mount(bool is_private)
{
    char byte;
    pid_t pid = child_start(unshare_and_look, is_private ? came : NULL);
    int code;

    SETUP(read(came[0], &byte, 1) == 1);
    tmpfs_at("late", NULL);
    SETUP(file_write("late/file", "x") == 0);
    SETUP(write(go[1], "", 1) == 1);
    code = child_end(pid);
    SETUP(umount2("late", MNT_DETACH) == 0);
    return code;
}

static void later_mounts_do_not_come_to_a_private_namespace(void)
{
    SETUP(pipe2(came, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
    SETUP(mount(NULL, "/tmp", NULL, MS_SHARED, NULL) == 0);
    CONTROL(late_mount(false) == 10);
    MUST(late_mount(true) == 0);
}

static void open_tree_is_for_mounts_of_the_own_namespace(void)
{
    int before = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

    SETUP(before >= 0);
    CONTROL(open_tree_of(before, "", AT_EMPTY_PATH) >= 0);
    SETUP(unshare(CLONE_NEWNS) == 0); /* /tmp is another mount now, and this the old one */
    MUST(open_tree_of(before, "", AT_EMPTY_PATH) < 0 && errno == EINVAL);
}

/* --- the way out ---------------------------------------------------------------------------- */

static void root_change(const char *root)
{
    SETUP(mount(root, root, NULL, MS_BIND, NULL) == 0 && chdir(root) == 0);
    SETUP(syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0);
    SETUP(chdir("/") == 0);
}

static void an_open_directory_leads_out_of_a_new_root(void)
{
    struct stat st;
    int dir;

    SETUP(mkdir("root", 0755) == 0 && mkdir("beside", 0755) == 0);
    SETUP(file_write("secret", "x") == 0);
    dir = open("beside", O_PATH | O_DIRECTORY | O_CLOEXEC);
    SETUP(dir >= 0);
    root_change("root");
    CONTROL(stat("/secret", &st) < 0 && errno == ENOENT);
    CONTROL(stat("/../secret", &st) < 0 && errno == ENOENT);
    MUST(fstatat(dir, "../secret", &st, 0) == 0);
}

static void openat2_refuses_links_parents_and_mounts(void)
{
    const uint64_t all = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
    int home;

    SETUP(mkdir("home", 0755) == 0 && mkdir("home/work", 0755) == 0);
    SETUP(mkdir("other", 0755) == 0 && symlink("../other", "home/out") == 0);
    SETUP(symlink("work", "home/in") == 0);
    tmpfs_at("home/mounted", NULL);
    home = open("home", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CONTROL(open_how(home, "out", 0) >= 0 && open_how(home, "../other", 0) >= 0);
    CONTROL(open_how(home, "mounted", 0) >= 0 && open_how(home, "in", 0) >= 0);
    CONTROL(open_how(home, "work", all) >= 0);
    MUST(open_how(home, "out", all) < 0 && errno == ELOOP);
    MUST(open_how(home, "in", all) < 0 && errno == ELOOP);
    MUST(open_how(home, "out", RESOLVE_BENEATH) < 0 && errno == EXDEV);
    MUST(open_how(home, "../other", all) < 0 && errno == EXDEV);
    MUST(open_how(home, "/tmp/other", all) < 0 && errno == EXDEV);
    MUST(open_how(home, "mounted", all) < 0 && errno == EXDEV);
}

static void openat2_refuses_magic_links(void)
{
    const uint64_t none = RESOLVE_NO_MAGICLINKS;

    CONTROL(open_how(AT_FDCWD, "/proc/self/root", 0) >= 0);
    MUST(open_how(AT_FDCWD, "/proc/self/root", none) < 0 && errno == ELOOP);
    SETUP(symlink("/tmp", "link") == 0);
    CONTROL(open_how(AT_FDCWD, "link", none) >= 0); /* an ordinary one is followed */
}

static void noreplace_does_not_replace(void)
{
    char text[8];

    SETUP(file_write("new", "new") == 0 && file_write("old", "old") == 0);
    MUST(renameat2(AT_FDCWD, "new", AT_FDCWD, "old", RENAME_NOREPLACE) < 0 && errno == EEXIST);
    MUST(file_read("old", text, sizeof(text)) && strcmp(text, "old") == 0);
    SETUP(symlink("nowhere", "link") == 0);
    MUST(renameat2(AT_FDCWD, "new", AT_FDCWD, "link", RENAME_NOREPLACE) < 0 && errno == EEXIST);
    CONTROL(renameat2(AT_FDCWD, "new", AT_FDCWD, "old", 0) == 0);
    CONTROL(file_read("old", text, sizeof(text)) && strcmp(text, "new") == 0);
}

/* --- sizes ---------------------------------------------------------------------------------- */

static void tmpfs_stops_at_its_size(void)
{
    static char page[64 << 10];
    int fd, n = 0;

    tmpfs_at("small", "size=1m");
    fd = open("small/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    SETUP(fd >= 0);
    while (n < 64 && write(fd, page, sizeof(page)) == sizeof(page))
        n++;
    MUST(n == 16 && errno == ENOSPC);
    tmpfs_at("large", "size=8m");
    fd = open("large/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (n = 0; n < 64 && write(fd, page, sizeof(page)) == sizeof(page);)
        n++;
    CONTROL(n == 64);
}

static int files_made(const char *dir, int wanted)
{
    int n = 0;

    while (n < wanted) {
        char path[64];

        (void)snprintf(path, sizeof(path), "%s/%d", dir, n);
        if (file_write(path, "") != 0)
            return n;
        n++;
    }
    return n;
}

static void tmpfs_stops_at_its_number_of_inodes(void)
{
    tmpfs_at("few", "nr_inodes=20");
    tmpfs_at("many", "nr_inodes=100");
    MUST(files_made("few", 50) < 20);
    CONTROL(files_made("many", 50) == 50);
}

/* Blocks and inodes that are left. */
static bool has_room(const char *dir)
{
    struct statfs fs;

    SETUP(statfs(dir, &fs) == 0);
    return fs.f_bfree > 0 && fs.f_ffree > 0;
}

static void a_full_tmpfs_says_so(void)
{
    static char page[64 << 10];
    int fd;

    tmpfs_at("bytes", "size=1m");
    fd = open("bytes/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    SETUP(fd >= 0);
    for (int i = 0; i < 15; i++)
        SETUP(write(fd, page, sizeof(page)) == sizeof(page));
    SETUP(write(fd, page, sizeof(page) - 4096) == sizeof(page) - 4096);
    CONTROL(has_room("bytes"));
    SETUP(write(fd, page, sizeof(page)) == 4096); /* what there is room for */
    MUST(!has_room("bytes"));
    tmpfs_at("files", "nr_inodes=20");
    CONTROL(has_room("files"));
    SETUP(files_made("files", 50) < 20);
    MUST(!has_room("files"));
}

/* --- terminals ------------------------------------------------------------------------------ */

static int terminals_opened(const char *ptmx, int wanted)
{
    int n = 0;

    while (n < wanted && open(ptmx, O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
        n++;
    return n;
}

static void devpts_stops_at_its_number_and_is_an_instance_of_its_own(void)
{
    struct stat st;

    SETUP(mkdir("pts-a", 0755) == 0 && mkdir("pts-b", 0755) == 0);
    SETUP(mount("devpts", "pts-a", "devpts", 0, "newinstance,max=3,ptmxmode=0666") == 0);
    SETUP(mount("devpts", "pts-b", "devpts", 0, "newinstance,max=16,ptmxmode=0666") == 0);
    MUST(terminals_opened("pts-a/ptmx", 10) == 3 && errno == ENOSPC);
    MUST(stat("pts-b/0", &st) < 0 && errno == ENOENT);
    CONTROL(terminals_opened("pts-b/ptmx", 10) == 10);
    CONTROL(stat("pts-b/9", &st) == 0);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(recursive_read_only_covers_mounts_below),
    BEHAVIOUR(tree_that_is_not_recursive_uncovers),
    BEHAVIOUR(open_tree_keeps_the_directory_when_the_path_is_swapped),
    BEHAVIOUR(a_mounted_directory_is_kept_when_the_path_is_swapped),
    BEHAVIOUR(a_mounted_file_hides_its_successor),
    BEHAVIOUR(later_mounts_do_not_come_to_a_private_namespace),
    BEHAVIOUR(open_tree_is_for_mounts_of_the_own_namespace),
    BEHAVIOUR(an_open_directory_leads_out_of_a_new_root),
    BEHAVIOUR(openat2_refuses_links_parents_and_mounts),
    BEHAVIOUR(openat2_refuses_magic_links),
    BEHAVIOUR(noreplace_does_not_replace),
    BEHAVIOUR(tmpfs_stops_at_its_size),
    BEHAVIOUR(tmpfs_stops_at_its_number_of_inodes),
    BEHAVIOUR(a_full_tmpfs_says_so),
    BEHAVIOUR(devpts_stops_at_its_number_and_is_an_instance_of_its_own),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "mounts", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}

/* SPDX-License-Identifier: ISC */
/* files.c - attacks by files, and by what was left open. */
#include "attack/attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "common/banned.h"

#define LINE_ROOM  4096
#define FILES_MAX  3      /* as many of a kind are run */
#define BEGUN_NS   100000 /* between looks at a program that was started */
#define BEGUN_MAX  20000  /* looks */
#define CAPS_XATTR "security.capability"

extern char **environ;

int attack_read(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char text[65] = "";
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (n < 0)
            say_refused(name, argv[i], errno, "%s", "");
        else
            say_reached(name, argv[i], "%s", text);
        if (fd >= 0)
            (void)close(fd);
    }
    return 0;
}

int attack_write(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        int fd = open(argv[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        say(name, argv[i], fd < 0 ? -errno : 0);
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(argv[i]);
        }
    }
    return 0;
}

int attack_see(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        struct stat st;

        say(name, argv[i], lstat(argv[i], &st) < 0 ? -errno : 0);
    }
    return 0;
}

int attack_leave(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        int fd = open(argv[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        say(name, argv[i], fd < 0 ? -errno : 0);
        if (fd >= 0)
            (void)close(fd);
    }
    return 0;
}

/* --- programs that raise rights -------------------------------------------------------------- */

/* The rest of "KEY:\t..." in /proc/PID/status. Return: false if it cannot be read. */
static bool status_value(pid_t pid, const char *key, char *ret_value, size_t size)
{
    char path[32], line[LINE_ROOM];
    size_t len = strlen(key);
    bool found = false;
    FILE *status;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    status = fopen(path, "re");
    if (!status)
        return false;
    while (!found && fgets(line, sizeof(line), status)) {
        if (strncmp(line, key, len) != 0 || line[len] != ':')
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (char *p = line; *p; p++)
            *p = *p == '\t' ? ' ' : *p;
        (void)snprintf(ret_value, size, "%s", line + len + 1 + strspn(line + len + 1, "\t "));
        found = true;
    }
    (void)fclose(status);
    return found;
}

/*
 * Until it has the ids that it got. Its descriptors are closed before that, and its arguments are
 * there only afterwards; one that has ended has none, and keeps its ids until it is waited for.
 * Source: fs/exec.c, begin_new_exec(); fs/binfmt_elf.c, create_elf_tables().
 */
static void begun_await(pid_t pid)
{
    char path[32], byte;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    for (int i = 0; i < BEGUN_MAX; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool is_there = fd < 0 || read(fd, &byte, 1) != 0;
        siginfo_t info = {0};

        if (fd >= 0)
            (void)close(fd);
        if (is_there || (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                         info.si_pid == pid))
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = BEGUN_NS}, NULL);
    }
}

/*
 * Run "PATH --help" with nothing on its standard input and output, and see what it is once it is
 * that program. It stays for us as long as nobody has waited for it, whether it has ended or not;
 * if it cannot be seen, it is no longer ours, and that is an answer, too.
 */
static pid_t started(const char *path)
{
    int ready[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char word;
    pid_t pid;

    if (null < 0 || pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        char *argv[] = {(char *)(unsigned long)path, (char[]){"--help"}, NULL};

        for (int i = 0; i < 3; i++)
            (void)dup2(null, i);
        (void)execv(path, argv);
        _exit(write(ready[1], "x", 1) == 1 ? 127 : 126);
    }
    (void)close(ready[1]);
    (void)close(null);
    if (pid > 0 && read(ready[0], &word, 1) == 1) {
        (void)waitpid(pid, NULL, 0);
        pid = -1;
    }
    (void)close(ready[0]);
    if (pid > 0)
        begun_await(pid);
    return pid;
}

static void raised_say(const char *name, const char *path, const char *key, const char *own)
{
    char value[128] = "";
    pid_t pid = started(path);

    if (pid < 0) {
        say_refused(name, path, EACCES, "does not start");
        return;
    }
    if (!status_value(pid, key, value, sizeof(value)))
        say_reached(name, path, "%s: out of sight", key);
    else if (strcmp(value, own) != 0)
        say_reached(name, path, "%s: %s", key, value);
    else
        say_refused(name, path, 0, "%s: as its caller", key);
    (void)waitpid(pid, NULL, 0);
}

/* Set-uid, of root's: what such a program does shows most. */
static bool is_set_uid(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_ISUID) != 0 &&
           st.st_uid == 0 && access(path, X_OK) == 0;
}

static bool is_set_gid(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_ISGID) != 0 &&
           access(path, X_OK) == 0;
}

static bool has_capabilities(const char *path)
{
    char value[64];

    return getxattr(path, CAPS_XATTR, value, sizeof(value)) > 0 && access(path, X_OK) == 0;
}

/* Those of @argv; or those that take --help without a word in the host's log; or what there is. */
static void raised_find(const char *name, bool (*is)(const char *path), const char *key, int argc,
                        char *argv[])
{
    static const char *const quiet[] = {"/usr/bin/mount", "/usr/bin/umount", "/usr/bin/su",
                                        "/usr/bin/chage", "/usr/bin/ping",   "/usr/bin/expiry"};
    static const char *const dirs[] = {"/usr/bin", "/usr/sbin", "/usr/local/bin"};
    char own[128] = "", path[512];
    int count = 0;

    (void)status_value(getpid(), key, own, sizeof(own));
    for (int i = 0; i < argc; i++)
        raised_say(name, argv[i], key, own);
    for (size_t i = 0; argc == 0 && i < sizeof(quiet) / sizeof(quiet[0]); i++) {
        if (!is(quiet[i]))
            continue;
        raised_say(name, quiet[i], key, own);
        count = FILES_MAX;
    }
    for (size_t i = 0; argc == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        DIR *dir = opendir(dirs[i]);

        for (struct dirent *e; dir && count < FILES_MAX && (e = readdir(dir));) {
            (void)snprintf(path, sizeof(path), "%s/%s", dirs[i], e->d_name);
            if (!is(path))
                continue;
            count++;
            raised_say(name, path, key, own);
        }
        if (dir)
            (void)closedir(dir);
    }
    if (argc == 0 && count == 0)
        say_refused(name, key, ENOENT, "there is none");
}

int attack_setids(const char *name, int argc, char *argv[])
{
    raised_find(name, is_set_uid, "Uid", argc, argv);
    if (argc == 0)
        raised_find(name, is_set_gid, "Gid", 0, NULL);
    return 0;
}

int attack_filecaps(const char *name, int argc, char *argv[])
{
    /* Not CapEff: some take themselves those that they do not need yet. */
    raised_find(name, has_capabilities, "CapPrm", argc, argv);
    return 0;
}

/* --- mounts ----------------------------------------------------------------------------------- */

static bool has_option(const char *options, const char *option)
{
    size_t len = strlen(option);

    for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        if (strncmp(p, option, len) == 0 && (p[len] == ',' || p[len] == '\0' || p[len] == ' '))
            return true;
    }
    return false;
}

/* proc_pid_mountinfo(5): ID PARENT DEV ROOT MOUNTPOINT OPTIONS ... /dev is ours and read-only. */
int attack_mounts(const char *name, int argc, char *argv[])
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[LINE_ROOM], suid[256] = "", dev[256] = "";
    int count = 0;

    (void)argc;
    (void)argv;
    if (!mounts)
        return -errno;
    while (fgets(line, sizeof(line), mounts)) {
        char *save = NULL, *fields[6] = {0};

        for (int i = 0; i < 6; i++)
            fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (!fields[5])
            continue;
        count++;
        if (!has_option(fields[5], "nosuid"))
            (void)snprintf(suid, sizeof(suid), "%s", fields[4]);
        if (!has_option(fields[5], "nodev") && !has_option(fields[5], "ro") &&
            strcmp(fields[4], "/dev/pts") != 0)
            (void)snprintf(dev, sizeof(dev), "%s", fields[4]);
    }
    (void)fclose(mounts);
    if (suid[0])
        say_reached(name, "set-uid", "%s", suid);
    else
        say_refused(name, "set-uid", 0, "%d mounts, all nosuid", count);
    if (dev[0])
        say_reached(name, "devices", "%s", dev);
    else
        say_refused(name, "devices", 0, "%d mounts, nodev or read-only", count);
    return 0;
}

/* --- what is inherited -------------------------------------------------------------------------
 */

/* A socket made by somebody else is beyond the owner rules, a directory beyond the tree. */
int attack_descriptors(const char *name, int argc, char *argv[])
{
    DIR *dir = opendir("/proc/self/fd");
    char others[256] = "";

    (void)argc;
    (void)argv;
    if (!dir)
        return -errno;
    for (struct dirent *e; (e = readdir(dir));) {
        long fd = number(e->d_name, 1 << 20, -1);
        struct stat st;

        if (fd < 0 || fd == dirfd(dir) || fstat((int)fd, &st) < 0)
            continue;
        if (fd > 2 || S_ISSOCK(st.st_mode) || S_ISDIR(st.st_mode))
            (void)snprintf(others + strlen(others), sizeof(others) - strlen(others), " %ld", fd);
    }
    (void)closedir(dir);
    if (others[0])
        say_reached(name, "others", "%s", others + 1);
    else
        say_refused(name, "others", 0, "0, 1 and 2, and none is a socket or directory");
    return 0;
}

int attack_environment(const char *name, int argc, char *argv[])
{
    static const char *const known[] = {"HOME",  "USER", "LOGNAME", "PATH", "LANG",
                                        "SHELL", "TERM", "PWD",     "MAIL", "ATELIER_SESSION"};
    char others[256] = "";
    int count = 0;

    (void)argc;
    (void)argv;
    for (char **e = environ; *e; e++) {
        size_t len = strcspn(*e, "=");
        bool is_known = false;

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            is_known = is_known || (strlen(known[i]) == len && strncmp(known[i], *e, len) == 0);
        count++;
        if (!is_known)
            (void)snprintf(others + strlen(others), sizeof(others) - strlen(others), " %.*s",
                           (int)len, *e);
    }
    if (others[0])
        say_reached(name, "others", "%s", others + 1);
    else
        say_refused(name, "others", 0, "%d names, all a user's own", count);
    return 0;
}

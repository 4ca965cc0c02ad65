/* SPDX-License-Identifier: ISC */
/*
 * step_accounts.c - user and groups of the daemons, and their directories.
 *
 * systemd-sysusers(8) and systemd-tmpfiles(8) make them from our files. The account files and their
 * backups ("-") are recorded before and after: while nobody else changed them they are brought back
 * whole, under shadow's lock. Otherwise userdel(8) and groupdel(8) take ours out.
 *
 * The registry outlives the account. Its files go to root before the account goes, or whoever gets
 * the uid next would own every secret in it; setup gives them back. The directory changes hands
 * first on the way to root and last on the way back, so that at no time the unprivileged owner can
 * put something into it that we then hand over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <shadow.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define STEP      "accounts"
#define SYSUSERS  "/usr/lib/sysusers.d/atelier.conf"
#define TMPFILES  "/usr/lib/tmpfiles.d/atelier.conf"
#define OWNER     "atelier"
#define TIMEOUT_S 60

static const char *const tracked[] = {
    "/etc/passwd",  "/etc/passwd-",  "/etc/group",  "/etc/group-",  "/etc/shadow", "/etc/shadow-",
    "/etc/gshadow", "/etc/gshadow-", "/etc/subuid", "/etc/subuid-", "/etc/subgid", "/etc/subgid-",
    NULL,
};

/* The names in them that are ours. */
static const char *const names[] = {OWNER, "atelier-api", NULL};

/* What sysusers makes. */
static const struct {
    const char *database, *name, *mark, *remover;
} ours[] = {
    {"/etc/passwd", OWNER, "user atelier", "/usr/sbin/userdel"},
    {"/etc/group", OWNER, "group atelier", "/usr/sbin/groupdel"},
    {"/etc/group", "atelier-api", "group atelier-api", "/usr/sbin/groupdel"},
};
#define OURS_COUNT (sizeof(ours) / sizeof(ours[0]))

/* What the daemons keep; data of theirs alone is below. */
static const char *const data[] = {ATELIER_STATE_DIR "/registry", ATELIER_STATE_DIR "/ledger",
                                   ATELIER_STATE_DIR "/nss"};
#define DATA_COUNT (sizeof(data) / sizeof(data[0]))

static bool has_account(size_t i)
{
    cleanup_file struct file f = {0};
    uint32_t id;

    return file_read(ours[i].database, &f) == 0 &&
           account_find(&f.text, ours[i].name, &id, NULL) == 0;
}

/* The ids of the daemon's account. Return: 0 or -ENOENT. */
static int owner_find(uid_t *ret_uid, gid_t *ret_gid)
{
    cleanup_file struct file passwd = {0};
    cleanup_file struct file group = {0};
    uint32_t uid, gid;

    if (file_read("/etc/passwd", &passwd) < 0 || file_read("/etc/group", &group) < 0 ||
        account_find(&passwd.text, OWNER, &uid, NULL) < 0 ||
        account_find(&group.text, OWNER, &gid, NULL) < 0)
        return -ENOENT;
    *ret_uid = uid;
    *ret_gid = gid;
    return 0;
}

static int data_open(size_t i, struct stat *ret)
{
    int fd = open(data[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, ret) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* To root: the directory first. Return: 0 or a negative errno. */
static int data_take(size_t i)
{
    struct stat st;
    int fd = data_open(i, &st), r = 0;
    struct dirent *d;
    DIR *dir;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    dir = fdopendir(fd);
    if (!dir || fchown(fd, 0, 0) < 0)
        r = -errno;
    while (r == 0 && (d = readdir(dir))) {
        if (!is_dots(d->d_name) && fchownat(fd, d->d_name, 0, 0, AT_SYMLINK_NOFOLLOW) < 0)
            r = -errno;
    }
    if (dir)
        (void)closedir(dir);
    else
        (void)close(fd);
    return r;
}

/* A file that root owns to the daemon's account; links of both kinds stay root's. */
static int file_give(int directory, const char *name, uid_t uid, gid_t gid)
{
    cleanup_close int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != 0)
        return 0;
    return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Back to the account: the directory last. A directory that is not root's was never taken. */
static int data_give(size_t i, uid_t uid, gid_t gid)
{
    struct stat st;
    int fd = data_open(i, &st), r = 0;
    struct dirent *d;
    DIR *dir;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    dir = st.st_uid == 0 ? fdopendir(fd) : NULL;
    while (dir && r == 0 && (d = readdir(dir))) {
        if (!is_dots(d->d_name))
            r = file_give(fd, d->d_name, uid, gid);
    }
    if (dir && r == 0 && fchown(fd, uid, gid) < 0)
        r = -errno;
    if (dir)
        (void)closedir(dir);
    else
        (void)close(fd);
    return r;
}

static bool data_is_taken(size_t i)
{
    struct stat st;

    return lstat(data[i], &st) == 0 && st.st_uid == 0;
}

static bool directories_are_there(void)
{
    static const char *const paths[] = {ATELIER_STATE_DIR "/registry", ATELIER_STATE_DIR "/ledger",
                                        ATELIER_STATE_DIR "/nss", ATELIER_HOMES_DIR,
                                        ATELIER_RUN_DIR};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (access(paths[i], F_OK) < 0)
            return false;
    }
    return true;
}

static void accounts_plan(struct setup *s)
{
    bool is_missing = false, is_taken = false;

    for (size_t i = 0; i < OURS_COUNT; i++)
        is_missing = is_missing || !has_account(i);
    for (size_t i = 0; i < DATA_COUNT; i++)
        is_taken = is_taken || data_is_taken(i);
    if (is_missing) {
        plan_say(s, "systemd-sysusers " SYSUSERS ": user atelier, groups atelier and atelier-api");
        for (size_t i = 0; tracked[i]; i++) {
            const char *obstacle = file_obstacle(tracked[i]);

            if (obstacle)
                refuse(s, "%s %s", tracked[i], obstacle);
        }
    }
    if (is_taken)
        plan_say(s, "%s, %s, %s: given back to the user atelier", data[0], data[1], data[2]);
    if (!directories_are_there())
        plan_say(s, "systemd-tmpfiles --create " TMPFILES ": " ATELIER_STATE_DIR
                    ", " ATELIER_HOMES_DIR ", " ATELIER_RUN_DIR);
}

/*
 * Somebody else may have made an account in the very moment. Then the files are not known to be
 * ours, and are not brought back whole.
 */
static int strangers_check(struct setup *s)
{
    static const char *const lists[] = {"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"};
    static const struct text unknown = {0};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        cleanup_entry struct entry e = {0};
        int r = record_get(&s->record, ENTRY_FILE, lists[i], &e);

        if (r == 0 && !accounts_only_added(&e.before.text, &e.after, names))
            r = record_put_file(&s->record, STEP, lists[i], &e.before, &unknown);
        if (r < 0 && r != -ENOENT)
            return step_fail("cannot record %s: %s", lists[i], strerror(-r));
    }
    return 0;
}

static int sysusers_run(struct setup *s)
{
    for (size_t i = 0; i < OURS_COUNT; i++) {
        int r = has_account(i) ? 0 : record_put(&s->record, ENTRY_MARK, STEP, ours[i].mark);

        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    if (tracked_before(s, STEP, tracked) < 0)
        return -1;
    if (must_run(ARGV("/usr/bin/systemd-sysusers", SYSUSERS), TIMEOUT_S) < 0)
        return -1;
    return tracked_after(s, STEP, tracked) < 0 ? -1 : strangers_check(s);
}

static int accounts_apply(struct setup *s)
{
    bool is_missing = false;
    uid_t uid;
    gid_t gid;

    for (size_t i = 0; i < OURS_COUNT; i++)
        is_missing = is_missing || !has_account(i);
    if (is_missing && sysusers_run(s) < 0)
        return -1;
    if (owner_find(&uid, &gid) < 0)
        return step_fail("systemd-sysusers did not make the user atelier of " SYSUSERS);
    for (size_t i = 0; i < DATA_COUNT; i++) {
        int r = data_is_taken(i) ? data_give(i, uid, gid) : 0;

        if (r < 0)
            return step_fail("cannot give %s back to atelier: %s", data[i], strerror(-r));
    }
    return must_run(ARGV("/usr/bin/systemd-tmpfiles", "--create", TMPFILES), TIMEOUT_S);
}

/**
 * is_explained() - Whether a file is as sysusers leaves it, although a crash came before we saw
 * that
 * @path: An account file, or its backup, which is then a copy of what the file was
 */
static bool is_explained(struct setup *s, const char *path, const struct entry *e)
{
    cleanup_free char *main_path = strdup(path);
    cleanup_entry struct entry original = {0};
    cleanup_file struct file now = {0};
    size_t size = strlen(path);

    if (!main_path)
        say_no_memory();
    if (file_read(path, &now) < 0)
        return false;
    if (text_is_same(&now.text, &e->before.text))
        return true;
    if (e->after.bytes)
        return text_is_same(&now.text, &e->after);
    if (path[size - 1] != '-')
        return now.text.bytes && accounts_only_added(&e->before.text, &now.text, names);
    main_path[size - 1] = '\0';
    return record_get(&s->record, ENTRY_FILE, main_path, &original) == 0 &&
           text_is_same(&now.text, &original.before.text);
}

/* After a crash between sysusers and our look at what it did: look now. */
static int interrupted_adopt(struct setup *s)
{
    for (size_t i = 0; tracked[i]; i++) {
        cleanup_entry struct entry e = {0};
        int r = record_get(&s->record, ENTRY_FILE, tracked[i], &e);

        if (r == -ENOENT)
            continue;
        if (r < 0)
            return step_fail("the record of %s cannot be read: %s", tracked[i], strerror(-r));
        if (!is_explained(s, tracked[i], &e))
            return 0;
    }
    return tracked_after(s, STEP, tracked);
}

/* Bring the files back as they were. Return: 1 done, 0 not only ours, -1 and it was said. */
static int files_restore(struct setup *s)
{
    int r;

    if (lckpwdf() < 0)
        return step_fail(
            "the account files are locked (/etc/.pwd.lock): is useradd or passwd running?");
    r = interrupted_adopt(s);
    if (r == 0)
        r = tracked_are_ours(s, tracked);
    if (r > 0 && tracked_restore(s, tracked) < 0)
        r = -1;
    (void)ulckpwdf();
    return r;
}

/* Others changed the files: ours go by the tools that know how. */
static int accounts_remove(struct setup *s)
{
    note_say(s, "accounts were changed since: userdel and groupdel take out ours");
    for (size_t i = 0; i < OURS_COUNT; i++) {
        if (!record_has(&s->record, ENTRY_MARK, ours[i].mark) || !has_account(i))
            continue;
        if (must_run(ARGV(ours[i].remover, ours[i].name), TIMEOUT_S) < 0)
            return -1;
    }
    /* What is left of them: backups that are still as the program left them. */
    return tracked_restore(s, tracked);
}

static int accounts_undo(struct setup *s)
{
    struct entry e;
    int r;

    if (record_at(&s->record, STEP, 0, &e) == -ENOENT)
        return 0;
    entry_done(&e);
    for (size_t i = 0; record_has(&s->record, ENTRY_MARK, ours[0].mark) && i < DATA_COUNT; i++) {
        r = data_take(i);
        if (r < 0)
            return step_fail("cannot take %s from atelier: %s", data[i], strerror(-r));
    }
    r = files_restore(s);
    if (r == 0)
        r = accounts_remove(s);
    for (size_t i = 0; r >= 0 && i < OURS_COUNT; i++) {
        if (record_drop(&s->record, ENTRY_MARK, ours[i].mark) < 0)
            r = step_fail("cannot write " SETUP_DIR);
    }
    /* Homes stay; a parent without any goes. */
    if (r >= 0)
        (void)rmdir(ATELIER_HOMES_DIR);
    return r < 0 ? -1 : 0;
}

const struct step step_accounts = {STEP, accounts_plan, accounts_apply, accounts_undo};

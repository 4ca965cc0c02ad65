/* SPDX-License-Identifier: ISC */
/* registry_fixture.c - a registry in a directory of its own, and eyes that are not the registry's.
 */
#include "tests/unit/registry_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/index_read.h"

#include "common/banned.h"

int state_dirs_make(const char *dir)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/registry", dir);
    if (mkdir(path, 0700) < 0)
        return -errno;
    (void)snprintf(path, sizeof(path), "%s/ledger", dir);
    if (mkdir(path, 0700) < 0)
        return -errno;
    (void)snprintf(path, sizeof(path), "%s/nss", dir);
    return mkdir(path, 0755) < 0 || chmod(path, 0755) < 0 ? -errno : 0;
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (!f)
        return -1;
    (void)snprintf(f->dir, sizeof(f->dir), "registry-test.XXXXXX");
    if (!mkdtemp(f->dir) || state_dirs_make(f->dir) < 0)
        return -1;
    if (registry_open(f->dir, NULL, &f->reg) < 0) {
        (void)fprintf(stderr, "%s\n", registry_error(NULL));
        return -1;
    }
    *state = f;
    return 0;
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    registry_close(f->reg);
    if (nftw(f->dir, entry_remove, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return -1;
    free(f);
    return 0;
}

void fixture_close(struct fixture *f)
{
    registry_close(f->reg);
    f->reg = NULL;
}

void fixture_open(struct fixture *f)
{
    int r = registry_open(f->dir, NULL, &f->reg);

    if (r < 0)
        fail_msg("registry_open: %s", registry_error(NULL));
}

const char *path_of(const struct fixture *f, const char *name)
{
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", f->dir, name);
    return path;
}

static int value_take(void *arg, int n, char **values, char **names)
{
    int64_t *value = arg;

    (void)names;
    if (n > 0 && values[0])
        *value = strtoll(values[0], NULL, 10);
    return 0;
}

int sql_run(const struct fixture *f, const char *sql, int64_t *ret_value)
{
    sqlite3 *db = NULL;
    int rc;

    assert_null(f->reg);
    rc = sqlite3_open_v2(path_of(f, "registry/registry.db"), &db, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, value_take, ret_value, NULL);
    (void)sqlite3_close(db);
    return rc;
}

int64_t sql_value(const struct fixture *f, const char *sql)
{
    int64_t value = -1;
    int rc = sql_run(f, sql, &value);

    if (rc != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errstr(rc));
    return value;
}

char *file_text(const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    text = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    return text;
}

void file_copy(const char *from, const char *to)
{
    cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
    cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat st;

    assert_true(in >= 0 && out >= 0);
    assert_int_equal(fstat(in, &st), 0);
    assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
}

void backup_take(struct fixture *f)
{
    struct registry_backup backup;
    int r = registry_backup(f->reg, &backup);

    if (r < 0)
        fail_msg("registry_backup: %s", registry_error(f->reg));
    assert_int_equal(rename(path_of(f, "registry/" REGISTRY_BACKUP_NAME), path_of(f, "kept.db")),
                     0);
}

int64_t copy_sql(const char *path, const char *sql)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;
    int64_t value = -1;
    int rc;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    for (; sql && *sql; (void)sqlite3_finalize(s)) {
        rc = sqlite3_prepare_v2(db, sql, -1, &s, &sql);
        if (rc == SQLITE_OK && !s)
            break;
        if (rc == SQLITE_OK)
            rc = sqlite3_step(s);
        if (rc == SQLITE_ROW)
            value = sqlite3_column_int64(s, 0);
        else if (rc != SQLITE_DONE)
            fail_msg("%s", sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

int kept_remove(const char *dir)
{
    char path[160];
    struct dirent *d;
    DIR *registry;
    int r = 0;

    (void)snprintf(path, sizeof(path), "%s/registry", dir);
    registry = opendir(path);
    if (!registry)
        return -errno;
    while ((d = readdir(registry))) {
        if (strncmp(d->d_name, "before-restore-", 15) == 0 &&
            unlinkat(dirfd(registry), d->d_name, 0) < 0)
            r = -errno;
    }
    (void)closedir(registry);
    return r;
}

/* --- what fails --- */

void child_succeeds(pid_t pid)
{
    int status = -1;

    assert_true(pid >= 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("child ended with status 0x%x", (unsigned)status);
}

int limit_set(rlim_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return -errno;
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_FSIZE, &limit) < 0 ? -errno : 0;
}

int filler_make(const char *dir, off_t spare_bytes)
{
    static const char zeros[4096];
    char path[128];
    cleanup_close int fd = -1;
    off_t size = 0;

    (void)snprintf(path, sizeof(path), "%s/filler", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    while (write(fd, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros))
        size += (off_t)sizeof(zeros);
    return ftruncate(fd, size > spare_bytes ? size - spare_bytes : 0) < 0 ? -errno : 0;
}

int filler_remove(const char *dir)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/filler", dir);
    return unlink(path) < 0 ? -errno : 0;
}

#define EXIT_SKIP 77

void on_small_disk(struct fixture *f, int (*child)(const char *dir))
{
    int status = -1;
    pid_t pid;

    fixture_close(f);
    assert_int_equal(mkdir(path_of(f, "small"), 0755), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *small = path_of(f, "small");

        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", small, "tmpfs", 0, "size=1m,mode=0755") < 0)
            _exit(EXIT_SKIP);
        _exit(child(small));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
        print_message("skip: a sized tmpfs needs root\n");
        skip();
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("child ended with status 0x%x", (unsigned)status);
}

unsigned random_below(unsigned n)
{
    unsigned v = 0;

    assert_int_equal(getrandom(&v, sizeof(v), 0), sizeof(v));
    return v % n;
}

/* --- users, links, index --- */

int taken_none(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 0;
}

bool counts_equal(const struct registry_counts *a, const struct registry_counts *b)
{
    return a->generation == b->generation && a->users == b->users && a->groups == b->groups &&
           a->ids_free == b->ids_free;
}

enum user_verdict user_try(struct fixture *f, const struct user_spec *spec, struct user *ret_user)
{
    enum user_verdict verdict = USER_CONFLICT;
    int r = user_create(f->reg, spec, taken_none, NULL, ret_user, &verdict);

    if (r < 0)
        fail_msg("user_create: %s", registry_error(f->reg));
    return verdict;
}

struct user user_new(struct fixture *f, const char *email)
{
    struct user_spec spec = {.email = email};
    enum user_verdict verdict = USER_CONFLICT;
    struct user user = {0};
    int r = user_create(f->reg, &spec, taken_none, NULL, &user, &verdict);

    if (r < 0)
        fail_msg("user_create: %s", registry_error(f->reg));
    assert_int_equal(verdict, USER_CREATED);
    return user;
}

void hash_make(unsigned n, char form, uint8_t ret_hash[LINK_HASH_SIZE])
{
    char text[LINK_HASH_SIZE + 1];

    (void)snprintf(text, sizeof(text), "hash-of-a-secret-%c-%013u", form, n);
    memcpy(ret_hash, text, LINK_HASH_SIZE);
}

int link_store(struct registry *reg, unsigned n, uint32_t uid, enum link_purpose purpose)
{
    struct link link = {.uid = uid,
                        .caller_uid = 33,
                        .purpose = purpose,
                        .created_s = LINK_MADE_S,
                        .expires_s = LINK_OVER_S};
    uint8_t token[LINK_HASH_SIZE], code[LINK_HASH_SIZE];

    (void)snprintf(link.link_id, sizeof(link.link_id), "%016x", n);
    hash_make(n, 't', token);
    hash_make(n, 'c', code);
    return link_add(reg, &link, token, code);
}

struct link link_of(struct registry *reg, unsigned n)
{
    char link_id[LINK_ID_SIZE];
    struct link link = {0};
    int r;

    (void)snprintf(link_id, sizeof(link_id), "%016x", n);
    r = link_get(reg, link_id, &link);
    if (r < 0 && r != -ENOENT)
        (void)fprintf(stderr, "link %u: %s\n", n, registry_error(reg));
    return link;
}

int link_try(struct registry *reg, unsigned n, char form, const char *name, int64_t now_s)
{
    enum link_verdict verdict = (enum link_verdict)77;
    uint8_t hash[LINK_HASH_SIZE];
    struct link link;
    int r;

    hash_make(n, form, hash);
    r = link_consume(reg, hash, name, LINK_PURPOSE_SSH, now_s, &link, &verdict);
    return r < 0 ? r : (int)verdict;
}

/* --- the index, opened once for many questions --- */

static bool view_open(const char *dir, struct index *ix)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/" INDEX_DIR_NAME, dir);
    return index_open(path, ix) == 0;
}

static bool view_has_group(const struct index *ix, uint32_t gid, const char *name)
{
    struct index_group by_gid, by_name;

    return index_group_by_gid(ix, gid, &by_gid) == 0 && strcmp(by_gid.name, name) == 0 &&
           index_group_by_name(ix, name, &by_name) == 0 && by_name.gid == gid;
}

static bool view_has_user(const struct index *ix, uint32_t uid, const char *name)
{
    struct index_user by_uid, by_name;

    return index_user_by_uid(ix, uid, &by_uid) == 0 && strcmp(by_uid.name, name) == 0 &&
           by_uid.gid == uid && index_user_by_name(ix, name, &by_name) == 0 && by_name.uid == uid &&
           view_has_group(ix, uid, name);
}

static bool view_has_gids(const struct index *ix, const char *name, const uint32_t *gids, size_t n)
{
    uint32_t there[INDEX_GROUPS_MAX];
    size_t n_there = 0;

    return index_groups_of(ix, name, there, &n_there) == 0 && n_there == n &&
           (n == 0 || memcmp(there, gids, n * sizeof(*gids)) == 0);
}

bool index_has_user(const char *dir, uint32_t uid, const char *name)
{
    struct index ix;
    bool has;

    if (!view_open(dir, &ix))
        return false;
    has = view_has_user(&ix, uid, name);
    index_close(&ix);
    return has;
}

bool index_has_group(const char *dir, uint32_t gid, const char *name)
{
    struct index ix;
    bool has;

    if (!view_open(dir, &ix))
        return false;
    has = view_has_group(&ix, gid, name);
    index_close(&ix);
    return has;
}

bool index_has_gids(const char *dir, const char *name, const uint32_t *gids, size_t n)
{
    struct index ix;
    bool has;

    if (!view_open(dir, &ix))
        return false;
    has = view_has_gids(&ix, name, gids, n);
    index_close(&ix);
    return has;
}

struct agree {
    struct registry *reg;
    struct index ix;
    bool is_good;
};

static int user_agrees(void *arg, const struct user *user)
{
    struct group groups[INDEX_GROUPS_MAX];
    uint32_t gids[INDEX_GROUPS_MAX];
    struct agree *a = arg;
    size_t n = 0;

    if (group_of_user(a->reg, user->uid, groups, INDEX_GROUPS_MAX, &n) < 0)
        return -EIO;
    for (size_t i = 0; i < n; i++)
        gids[i] = groups[i].gid;
    if (!view_has_user(&a->ix, user->uid, user->name) ||
        !view_has_gids(&a->ix, user->name, gids, n)) {
        (void)fprintf(stderr, "not in the index: %u %s\n", user->uid, user->name);
        a->is_good = false;
    }
    return 0;
}

static int group_agrees(void *arg, const struct group *group)
{
    struct agree *a = arg;

    if (!view_has_group(&a->ix, group->gid, group->name)) {
        (void)fprintf(stderr, "not in the index: group %u %s\n", group->gid, group->name);
        a->is_good = false;
    }
    return 0;
}

/* All that are in the registry were found, so as many are the same ones. */
static bool view_has_as_many(const struct index *ix, const struct registry_counts *counts)
{
    uint32_t after, users = 0, groups = 0;
    struct index_group group;
    struct index_user user;
    int r;

    for (after = 0; (r = index_user_next(ix, after, &user)) == 0; after = user.uid)
        users++;
    if (r != -ENOENT)
        return false;
    for (after = 0; (r = index_group_next(ix, after, &group)) == 0; after = group.gid)
        groups++;
    if (r == -ENOENT && users == counts->users && groups == counts->users + counts->groups)
        return true;
    (void)fprintf(stderr, "index: %u users, %u groups; registry: %u, %u\n", users, groups,
                  counts->users, counts->users + counts->groups);
    return false;
}

bool index_agrees(const char *dir, struct registry *reg)
{
    struct agree a = {.reg = reg, .is_good = true};
    struct registry_counts counts;
    int r;

    if (registry_count(reg, &counts) < 0 || !view_open(dir, &a.ix)) {
        (void)fprintf(stderr, "no index or no counts\n");
        return false;
    }
    if (a.ix.generation != counts.generation) {
        (void)fprintf(stderr, "index generation %llu, registry %llu\n",
                      (unsigned long long)a.ix.generation, (unsigned long long)counts.generation);
        a.is_good = false;
    }
    a.is_good = a.is_good && view_has_as_many(&a.ix, &counts);
    r = user_list(reg, user_agrees, &a);
    if (r == 0)
        r = group_list(reg, group_agrees, &a);
    index_close(&a.ix);
    return r == 0 && a.is_good;
}

/* --- restore -----------------------------------------------------------------------------------
 */

int restore_kept(struct fixture *f, bool is_rehearsal, struct registry_restored *ret)
{
    const struct restore_how how = {.taken = taken_none, .is_rehearsal = is_rehearsal};

    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    return registry_restore(f->reg, &how, ret);
}

struct registry_restored restored_kept(struct fixture *f)
{
    struct registry_restored back = {0};
    int r = restore_kept(f, false, &back);

    if (r < 0)
        fail_msg("registry_restore: %s", registry_error(f->reg));
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(access(path_of(f, RESTORE_PATH), F_OK), -1);
    return back;
}

uint64_t generation_of(struct fixture *f)
{
    struct registry_counts counts;

    assert_int_equal(registry_count(f->reg, &counts), 0);
    return counts.generation;
}

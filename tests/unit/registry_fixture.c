/* SPDX-License-Identifier: ISC */
/* registry_fixture.c - a registry in a directory of its own, and eyes that are not the registry's.
 */
#include "tests/unit/registry_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <cdb.h>
#include <endian.h>
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

/* The index as TinyCDB's reader sees it; opened once for many keys. */
static bool view_open(const char *dir, struct cdb *cdb)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/" INDEX_DIR_NAME "/" INDEX_FILE_NAME, dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (cdb_init(cdb, fd) == 0)
        return true;
    (void)close(fd);
    return false;
}

static void view_close(struct cdb *cdb)
{
    int fd = cdb_fileno(cdb);

    cdb_free(cdb);
    (void)close(fd);
}

static bool view_get(struct cdb *cdb, const void *key, unsigned key_size, void *ret_data,
                     unsigned size, unsigned *ret_size)
{
    if (cdb_find(cdb, key, key_size) <= 0 || cdb_datalen(cdb) > size ||
        cdb_read(cdb, ret_data, cdb_datalen(cdb), cdb_datapos(cdb)) != 0)
        return false;
    *ret_size = cdb_datalen(cdb);
    return true;
}

bool index_get(const char *dir, const void *key, unsigned key_size, void *ret_data, unsigned size,
               unsigned *ret_size)
{
    struct cdb cdb;
    bool found;

    if (!view_open(dir, &cdb))
        return false;
    found = view_get(&cdb, key, key_size, ret_data, size, ret_size);
    view_close(&cdb);
    return found;
}

bool index_get_meta(const char *dir, struct index_meta *ret_meta)
{
    unsigned n = 0;

    return index_get(dir, "@", 1, ret_meta, sizeof(*ret_meta), &n) && n == sizeof(*ret_meta);
}

static bool view_has_user(struct cdb *cdb, uint32_t uid, const char *name)
{
    struct index_user by_name, by_uid;
    struct index_group group, by_gid;
    unsigned char id_key[5] = {'u'};
    char name_key[1 + NAME_SIZE] = {'n'};
    unsigned name_len = 1 + (unsigned)strlen(name), n[4] = {0};
    uint32_t le = htole32(uid);

    memcpy(id_key + 1, &le, sizeof(le));
    memcpy(name_key + 1, name, strlen(name) + 1);
    if (!view_get(cdb, id_key, 5, &by_uid, sizeof(by_uid), &n[0]) ||
        !view_get(cdb, name_key, name_len, &by_name, sizeof(by_name), &n[1]))
        return false;
    id_key[0] = 'g';
    name_key[0] = 'G';
    if (!view_get(cdb, id_key, 5, &by_gid, sizeof(by_gid), &n[2]) ||
        !view_get(cdb, name_key, name_len, &group, sizeof(group), &n[3]))
        return false;
    return n[0] == sizeof(by_uid) && n[1] == n[0] && n[2] == sizeof(group) && n[3] == n[2] &&
           memcmp(&by_uid, &by_name, sizeof(by_uid)) == 0 &&
           memcmp(&by_gid, &group, sizeof(group)) == 0 && le32toh(by_uid.uid) == uid &&
           le32toh(by_uid.gid) == uid && strcmp(by_uid.name, name) == 0 &&
           le32toh(group.gid) == uid && strcmp(group.name, name) == 0;
}

bool index_has_user(const char *dir, uint32_t uid, const char *name)
{
    struct cdb cdb;
    bool has;

    if (!view_open(dir, &cdb))
        return false;
    has = view_has_user(&cdb, uid, name);
    view_close(&cdb);
    return has;
}

struct agree {
    struct cdb cdb;
    bool is_good;
};

static int user_agrees(void *arg, const struct user *user)
{
    struct agree *a = arg;

    if (!view_has_user(&a->cdb, user->uid, user->name)) {
        (void)fprintf(stderr, "not in the index: %u %s\n", user->uid, user->name);
        a->is_good = false;
    }
    return 0;
}

bool index_agrees(const char *dir, struct registry *reg)
{
    struct agree a = {.is_good = true};
    struct registry_counts counts;
    struct index_meta meta;
    int r;

    if (registry_count(reg, &counts) < 0 || !index_get_meta(dir, &meta)) {
        (void)fprintf(stderr, "no index or no counts\n");
        return false;
    }
    if (le64toh(meta.generation) != counts.generation || le32toh(meta.user_count) != counts.users ||
        le32toh(meta.group_count) != counts.users + counts.groups) {
        (void)fprintf(stderr, "index generation %llu users %u groups %u, registry %llu %u %u\n",
                      (unsigned long long)le64toh(meta.generation), le32toh(meta.user_count),
                      le32toh(meta.group_count), (unsigned long long)counts.generation,
                      counts.users, counts.users + counts.groups);
        return false;
    }
    if (!view_open(dir, &a.cdb))
        return false;
    r = user_list(reg, user_agrees, &a);
    view_close(&a.cdb);
    return r == 0 && a.is_good;
}

/* SPDX-License-Identifier: ISC */
/* test_index_write.c - the index file, byte by byte and key by key, read by TinyCDB itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <cdb.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ids.h"
#include "registry/index_write.h"

#include "common/banned.h"

#define USERS 1000u

struct place {
    char dir[32];
    int fd;
    struct index_rows rows; /* USERS users with private groups, two groups, memberships */
};

static void user_fill(struct index_user *u, uint32_t uid)
{
    u->uid = u->gid = uid;
    (void)snprintf(u->name, sizeof(u->name), "p%u", uid);
}

/* Two groups first: 10000 for all, 10001 for every second one. */
static int rows_make(struct index_rows *rows)
{
    rows->generation = 77;
    rows->users = calloc(USERS, sizeof(*rows->users));
    rows->groups = calloc(USERS + 2, sizeof(*rows->groups));
    rows->members = calloc((size_t)USERS * 2, sizeof(*rows->members));
    if (!rows->users || !rows->groups || !rows->members)
        return -1;
    for (uint32_t g = 0; g < 2; g++) {
        rows->groups[g].gid = ID_ALLOC_MIN + g;
        (void)snprintf(rows->groups[g].name, NAME_SIZE, "course-%u", g);
    }
    for (uint32_t i = 0; i < USERS; i++) {
        uint32_t uid = ID_ALLOC_MIN + 2 + i;

        user_fill(&rows->users[i], uid);
        rows->groups[2 + i].gid = uid;
        memcpy(rows->groups[2 + i].name, rows->users[i].name, NAME_SIZE);
        rows->members[rows->member_count++] = (struct index_member){uid, ID_ALLOC_MIN};
        if (i % 2 == 0)
            rows->members[rows->member_count++] = (struct index_member){uid, ID_ALLOC_MIN + 1};
    }
    rows->user_count = USERS;
    rows->group_count = USERS + 2;
    return 0;
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    (void)snprintf(p->dir, sizeof(p->dir), "index-test.XXXXXX");
    if (!mkdtemp(p->dir) || rows_make(&p->rows) < 0)
        return -1;
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = p;
    return p->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    (void)unlinkat(p->fd, INDEX_TMP_NAME, 0);
    (void)unlinkat(p->fd, INDEX_FILE_NAME, 0);
    (void)close(p->fd);
    free(p->rows.users);
    free(p->rows.groups);
    free(p->rows.members);
    if (rmdir(p->dir) < 0) /* fails if anything else was left */
        return -1;
    free(p);
    return 0;
}

static bool exists(const struct place *p, const char *name)
{
    return faccessat(p->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void publish(struct place *p)
{
    assert_int_equal(index_write(p->fd, &p->rows), 0);
    assert_int_equal(index_rename(p->fd), 0);
}

static void cdb_open(struct place *p, struct cdb *cdb)
{
    int fd = openat(p->fd, INDEX_FILE_NAME, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(cdb_init(cdb, fd), 0);
}

static void cdb_close(struct cdb *cdb)
{
    int fd = cdb_fileno(cdb);

    cdb_free(cdb);
    (void)close(fd);
}

static void get_id(struct cdb *cdb, char kind, uint32_t id, void *data, unsigned size)
{
    unsigned char key[5] = {(unsigned char)kind};
    uint32_t le = htole32(id);

    memcpy(key + 1, &le, 4);
    assert_int_equal(cdb_find(cdb, key, sizeof(key)), 1);
    assert_int_equal(cdb_datalen(cdb), size);
    assert_int_equal(cdb_readdata(cdb, data), 0);
}

static void get_name(struct cdb *cdb, char kind, const char *name, void *data, unsigned size)
{
    char key[1 + NAME_SIZE] = {kind};

    memcpy(key + 1, name, strlen(name));
    assert_int_equal(cdb_find(cdb, key, 1 + (unsigned)strlen(name)), 1);
    assert_int_equal(cdb_datalen(cdb), size);
    assert_int_equal(cdb_readdata(cdb, data), 0);
}

static void every_key_reads_back(void **state)
{
    struct place *p = *state;
    struct cdb cdb;

    publish(p);
    cdb_open(p, &cdb);
    for (uint32_t i = 0; i < USERS; i++) {
        const struct index_user *u = &p->rows.users[i];
        struct index_user by_id, by_name;
        uint32_t gids[2];

        get_id(&cdb, 'u', u->uid, &by_id, sizeof(by_id));
        get_name(&cdb, 'n', u->name, &by_name, sizeof(by_name));
        assert_memory_equal(&by_id, &by_name, sizeof(by_id));
        assert_int_equal(le32toh(by_id.uid), u->uid);
        assert_int_equal(le32toh(by_id.gid), u->uid);
        assert_memory_equal(by_id.name, u->name, NAME_SIZE);
        get_name(&cdb, 'm', u->name, gids, i % 2 == 0 ? 8 : 4);
        assert_int_equal(le32toh(gids[0]), ID_ALLOC_MIN);
        if (i % 2 == 0)
            assert_int_equal(le32toh(gids[1]), ID_ALLOC_MIN + 1);
    }
    for (uint32_t i = 0; i < USERS + 2; i++) {
        const struct index_group *g = &p->rows.groups[i];
        struct index_group by_id, by_name;

        get_id(&cdb, 'g', g->gid, &by_id, sizeof(by_id));
        get_name(&cdb, 'G', g->name, &by_name, sizeof(by_name));
        assert_memory_equal(&by_id, &by_name, sizeof(by_id));
        assert_int_equal(le32toh(by_id.gid), g->gid);
        assert_memory_equal(by_id.name, g->name, NAME_SIZE);
    }
    assert_int_equal(cdb_find(&cdb, "nnobody-here", 12), 0);
    cdb_close(&cdb);
}

static void meta_is_first_then_users_then_groups(void **state)
{
    struct place *p = *state;
    struct index_meta meta;
    unsigned pos, records = 0;
    struct stat st;
    struct cdb cdb;

    publish(p);
    assert_int_equal(fstatat(p->fd, INDEX_FILE_NAME, &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    cdb_open(p, &cdb);
    cdb_seqinit(&pos, &cdb);
    while (cdb_seqnext(&pos, &cdb) > 0) {
        char key[1 + NAME_SIZE];

        assert_true(cdb_keylen(&cdb) <= sizeof(key));
        assert_int_equal(cdb_readkey(&cdb, key), 0);
        if (records == 0) {
            assert_int_equal(cdb_keypos(&cdb), INDEX_META_OFFSET + 8);
            assert_int_equal(key[0], '@');
            assert_int_equal(cdb_datalen(&cdb), sizeof(meta));
            assert_int_equal(cdb_readdata(&cdb, &meta), 0);
        } else if (records <= USERS) {
            uint32_t le;

            assert_int_equal(key[0], 'u');
            memcpy(&le, key + 1, 4);
            assert_int_equal(le32toh(le), ID_ALLOC_MIN + 1 + records);
        } else if (records <= 2 * USERS + 2) {
            uint32_t le;

            assert_int_equal(key[0], 'g');
            memcpy(&le, key + 1, 4);
            assert_int_equal(le32toh(le), ID_ALLOC_MIN + records - USERS - 1);
        } else {
            assert_true(key[0] == 'n' || key[0] == 'G' || key[0] == 'm');
        }
        records++;
    }
    cdb_close(&cdb);
    assert_int_equal(records, 1 + 3 * USERS + 2 * (USERS + 2));
    assert_memory_equal(meta.magic, INDEX_MAGIC, 8);
    assert_int_equal(le32toh(meta.version), INDEX_VERSION);
    assert_int_equal(le32toh(meta.size_bytes), st.st_size);
    assert_int_equal(le64toh(meta.generation), 77);
    assert_int_equal(le32toh(meta.user_count), USERS);
    assert_int_equal(le32toh(meta.group_count), USERS + 2);
}

static void empty_index_is_an_index(void **state)
{
    struct place *p = *state;
    struct index_rows none = {.generation = 5};

    assert_int_equal(index_write(p->fd, &none), 0);
    assert_int_equal(index_rename(p->fd), 0);
    assert_true(index_is_current(p->fd, 5));
    assert_false(index_is_current(p->fd, 6));
}

static void rows_are_refused(struct place *p, int expected)
{
    assert_int_equal(index_write(p->fd, &p->rows), expected);
    assert_false(exists(p, INDEX_TMP_NAME));
}

static void damaged_rows_are_refused(void **state)
{
    struct place *p = *state;
    struct index_user *u = &p->rows.users[3], user = *u;
    struct index_group *g = &p->rows.groups[3], group = *g;
    struct index_member *m = &p->rows.members[3], member = *m;

    u->uid = u->gid = 0;
    rows_are_refused(p, -EBADMSG);
    u->uid = u->gid = p->rows.users[2].uid;
    rows_are_refused(p, -EBADMSG);
    *u = user;
    u->gid = u->uid + 1;
    rows_are_refused(p, -EBADMSG);
    *u = user;
    u->name[0] = 'R';
    rows_are_refused(p, -EBADMSG);
    *u = user;
    memset(u->name, 'a', sizeof(u->name));
    rows_are_refused(p, -EBADMSG);
    *u = user;
    g->gid = 27;
    rows_are_refused(p, -EBADMSG);
    *g = group;
    g->name[0] = '\0';
    rows_are_refused(p, -EBADMSG);
    *g = group;
    m->uid = ID_ALLOC_MAX;
    rows_are_refused(p, -EBADMSG);
    *m = member;
    m->gid = 27;
    rows_are_refused(p, -EBADMSG);
    *m = member;
    assert_int_equal(index_write(p->fd, &p->rows), 0);
}

static void too_many_groups_are_refused(void **state)
{
    struct place *p = *state;
    uint32_t uid = p->rows.users[0].uid;

    for (uint32_t i = 0; i < INDEX_GROUPS_MAX; i++)
        p->rows.members[i] = (struct index_member){uid, ID_ALLOC_MIN + i};
    p->rows.member_count = INDEX_GROUPS_MAX;
    assert_int_equal(index_write(p->fd, &p->rows), 0);
    p->rows.members[INDEX_GROUPS_MAX] = (struct index_member){uid, ID_ALLOC_MAX};
    p->rows.member_count++;
    rows_are_refused(p, -E2BIG);
}

/* Sizes around every buffer and record: each write of the file fails once. */
static void full_disk_leaves_the_old_index_alone(void **state)
{
    struct place *p = *state;
    int status = -1;
    pid_t pid;

    publish(p);
    p->rows.generation = 78;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {.rlim_max = RLIM_INFINITY};
        struct stat st;

        (void)signal(SIGXFSZ, SIG_IGN);
        if (fstatat(p->fd, INDEX_FILE_NAME, &st, 0) < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(2);
        for (limit.rlim_cur = 0; limit.rlim_cur < (rlim_t)st.st_size; limit.rlim_cur += 1021) {
            if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
                _exit(3);
            if (index_write(p->fd, &p->rows) != -EFBIG || exists(p, INDEX_TMP_NAME))
                _exit(4);
            if (!index_is_current(p->fd, 77))
                _exit(5);
        }
        limit.rlim_cur = (rlim_t)st.st_size;
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || index_write(p->fd, &p->rows) != 0)
            _exit(6);
        _exit(index_rename(p->fd) == 0 ? 0 : 7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(index_is_current(p->fd, 78));
}

static void byte_set(struct place *p, off_t at, unsigned char byte)
{
    int fd = openat(p->fd, INDEX_FILE_NAME, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static void other_files_are_not_current(void **state)
{
    static const off_t offsets[] = {
        INDEX_META_OFFSET,     /* length of the key */
        INDEX_META_OFFSET + 4, /* length of the data */
        INDEX_META_OFFSET + 8, /* key */
        INDEX_META_OFFSET + 9, /* magic */
        INDEX_META_OFFSET + 9 + offsetof(struct index_meta, version),
        INDEX_META_OFFSET + 9 + offsetof(struct index_meta, size_bytes),
        INDEX_META_OFFSET + 9 + offsetof(struct index_meta, generation),
    };
    struct place *p = *state;
    int fd;

    assert_false(index_is_current(p->fd, 77));
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        publish(p);
        assert_true(index_is_current(p->fd, 77));
        byte_set(p, offsets[i], 0xee);
        assert_false(index_is_current(p->fd, 77));
    }
    publish(p);
    fd = openat(p->fd, INDEX_FILE_NAME, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0664), 0);
    assert_false(index_is_current(p->fd, 77));
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_true(index_is_current(p->fd, 77));
    assert_int_equal(linkat(p->fd, INDEX_FILE_NAME, p->fd, INDEX_TMP_NAME, 0), 0);
    assert_false(index_is_current(p->fd, 77));
    assert_int_equal(index_sweep(p->fd), 0);
    assert_true(index_is_current(p->fd, 77));
    assert_int_equal(ftruncate(fd, 3000), 0);
    assert_false(index_is_current(p->fd, 77));
    (void)close(fd);
}

static void temporary_file_of_a_crash_is_replaced(void **state)
{
    struct place *p = *state;

    assert_int_equal(symlinkat("elsewhere", p->fd, INDEX_TMP_NAME), 0);
    publish(p);
    assert_false(exists(p, "elsewhere"));
    assert_false(exists(p, INDEX_TMP_NAME));
    assert_true(index_is_current(p->fd, 77));
    assert_int_equal(index_sweep(p->fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_key_reads_back, setup, teardown),
        cmocka_unit_test_setup_teardown(meta_is_first_then_users_then_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_index_is_an_index, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_rows_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_groups_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(full_disk_leaves_the_old_index_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_are_not_current, setup, teardown),
        cmocka_unit_test_setup_teardown(temporary_file_of_a_crash_is_replaced, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

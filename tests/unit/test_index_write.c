/* SPDX-License-Identifier: ISC */
/* test_index_write.c - the index file from rows, byte by byte, and its way into place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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
#include "common/index_read.h"
#include "registry/index_write.h"
#include "tests/unit/index_build.h"

#include "common/banned.h"

#define USERS 1000u

struct place {
    char dir[32];
    int fd;
    struct index_rows rows; /* two groups, USERS users with memberships */
    struct index_image image;
};

static const uint32_t both[] = {ID_ALLOC_MIN, ID_ALLOC_MIN + 1};

static uint32_t uid_of(uint32_t i)
{
    return ID_ALLOC_MIN + 2 + i;
}

static void name_of(uint32_t i, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "p%u", i);
}

/* Two groups first: 10000 for all, 10001 for every second one. */
static int rows_make(struct index_rows *rows)
{
    char name[NAME_SIZE];
    int r = 0;

    for (uint32_t g = 0; g < 2; g++) {
        (void)snprintf(name, sizeof(name), "course-%u", g);
        r |= index_rows_set(rows, ID_ALLOC_MIN + g, INDEX_KIND_GROUP, 0, name, NULL, 0);
    }
    for (uint32_t i = 0; i < USERS; i++) {
        name_of(i, name);
        r |= index_rows_set(rows, uid_of(i), INDEX_KIND_USER, i % 3 == 0, name, both,
                            i % 2 == 0 ? 2 : 1);
    }
    return r;
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    (void)snprintf(p->dir, sizeof(p->dir), "index-test.XXXXXX");
    if (!mkdtemp(p->dir) || chmod(p->dir, 0755) < 0 || rows_make(&p->rows) < 0 ||
        index_image_build(&p->rows, 77, &p->image) < 0)
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
    index_rows_forget(&p->rows);
    index_image_done(&p->image);
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
    assert_int_equal(index_write(p->fd, &p->image), 0);
    assert_int_equal(index_rename(p->fd), 0);
}

/* --- bytes --------------------------------------------------------------------------------- */

static void every_key_reads_back(void **state)
{
    struct place *p = *state;
    struct index_group group;
    struct index_user user;
    struct index ix;

    publish(p);
    assert_int_equal(index_open(p->dir, &ix), 0);
    assert_true(ix.generation == 77);
    for (uint32_t i = 0; i < USERS; i++) {
        uint32_t gids[INDEX_GROUPS_MAX];
        char name[NAME_SIZE] = "";
        size_t n = 0;

        name_of(i, name);
        assert_int_equal(index_user_by_uid(&ix, uid_of(i), &user), 0);
        assert_string_equal(user.name, name);
        assert_int_equal(user.gid, uid_of(i));
        assert_int_equal(user.shell, i % 3 == 0 ? INDEX_SHELL_NOLOGIN : INDEX_SHELL_ATELIER);
        assert_int_equal(index_user_by_name(&ix, name, &user), 0);
        assert_int_equal(user.uid, uid_of(i));
        assert_int_equal(index_groups_of(&ix, name, gids, &n), 0);
        assert_int_equal(n, i % 2 == 0 ? 2 : 1);
        assert_memory_equal(gids, both, n * sizeof(*gids));
        assert_int_equal(index_group_by_gid(&ix, uid_of(i), &group), 0);
        assert_int_equal(index_group_by_name(&ix, name, &group), 0);
        assert_int_equal(group.gid, uid_of(i));
    }
    assert_int_equal(index_group_by_name(&ix, "course-1", &group), 0);
    assert_int_equal(group.gid, ID_ALLOC_MIN + 1);
    assert_int_equal(index_user_by_name(&ix, "course-1", &user), -ENOENT);
    assert_int_equal(index_user_by_name(&ix, "nobody-here", &user), -ENOENT);
    index_close(&ix);
}

/* The whole file of one group and one user, by hand. */
static void the_bytes_are_those_of_the_format(void **state)
{
    static const unsigned char entries[] =
        /* 10002: a group */
        "\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        /* 10003: nobody */
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        /* 10004: a user without a shell, whose list begins at 1 */
        "\1\1\0\0\1\0\0\0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /* magic, version 2, 260 bytes, generation 0x0807060504030201, from 10002 on, 3, 16, 3 */
    static const unsigned char header[64] = "ATELIDX2\2\0\0\0\4\1\0\0\1\2\3\4\5\6\7\10"
                                            "\22\x27\0\0\3\0\0\0\20\0\0\0\3\0\0\0";
    static const unsigned char gids[] = "\0\0\0\0\1\0\0\0\22\x27\0";
    const uint32_t gid = 10002;
    struct index_rows rows = {0};
    struct index_image image;
    uint32_t used = 0;

    (void)state;
    assert_int_equal(
        index_rows_set(&rows, 10004, INDEX_KIND_USER, INDEX_SHELL_NOLOGIN, "c", &gid, 1), 0);
    assert_int_equal(index_rows_set(&rows, 10002, INDEX_KIND_GROUP, 0, "ab", NULL, 0), 0);
    assert_int_equal(index_image_build(&rows, 0x0807060504030201ull, &image), 0);
    assert_int_equal(image.size, 64 + 3 * 40 + 16 * 4 + 3 * 4);
    assert_memory_equal(image.bytes, header, 64);
    assert_memory_equal(image.bytes + 64, entries, 120);
    for (size_t at = 184; at < 248; at += 4)
        used += header_get(image.bytes, at) != 0;
    assert_int_equal(used, 2);
    /* FNV-1a of "ab" is 0x4d2505ca, that of "c" 0xe60c2c52 (published vectors). */
    assert_int_equal(index_hash("ab"), 0x4d2505ca ^ 0x4d2505ca >> 15);
    assert_int_equal(header_get(image.bytes, 184 + (index_hash("ab") % 16) * 4), 0x4d250000 + 1);
    assert_int_equal(header_get(image.bytes, 184 + (index_hash("c") % 16) * 4), 0xe60d0000 + 3);
    assert_memory_equal(image.bytes + 248, gids, 12);
    index_image_done(&image);
    index_rows_forget(&rows);
}

/* By code that has nothing in common with the registry's but the format. */
static void another_builder_makes_the_same_bytes(void **state)
{
    struct index_user *users = calloc(USERS, sizeof(*users));
    struct index_members *members = calloc(USERS, sizeof(*members));
    const struct index_group groups[] = {{ID_ALLOC_MIN, "course-0"},
                                         {ID_ALLOC_MIN + 1, "course-1"}};
    const struct index_content content = {.users = users,
                                          .user_count = USERS,
                                          .groups = groups,
                                          .group_count = 2,
                                          .members = members,
                                          .member_count = USERS,
                                          .generation = 77};
    struct place *p = *state;
    unsigned char *file;
    char path[64];
    size_t size;

    assert_true(users && members);
    for (uint32_t i = 0; i < USERS; i++) {
        users[i] = (struct index_user){uid_of(i), uid_of(i), i % 3 == 0, ""};
        name_of(i, users[i].name);
        members[i] = (struct index_members){users[i].name, both, i % 2 == 0 ? 2 : 1};
    }
    (void)snprintf(path, sizeof(path), "%s/" INDEX_FILE_NAME, p->dir);
    assert_int_equal(index_build(path, &content), 0);
    file = file_load(path, &size);
    assert_non_null(file);
    assert_int_equal(size, p->image.size);
    assert_memory_equal(file, p->image.bytes, size);
    assert_true(index_is_current(p->fd, &p->image));
    free(file);
    free(members);
    free(users);
}

static void empty_index_is_an_index(void **state)
{
    struct index_rows none = {0};
    struct place *p = *state;
    struct index_user user;
    struct index ix;

    index_image_done(&p->image);
    assert_int_equal(index_image_build(&none, 5, &p->image), 0);
    assert_int_equal(p->image.size, 64 + 16 * 4 + 4);
    publish(p);
    assert_true(index_is_current(p->fd, &p->image));
    assert_int_equal(index_open(p->dir, &ix), 0);
    assert_int_equal(index_user_next(&ix, 0, &user), -ENOENT);
    index_close(&ix);
}

static void full_range_is_an_index_of_the_largest_size(void **state)
{
    uint32_t gids[INDEX_GROUPS_MAX];
    struct index_rows rows = {0};
    struct index_image image;

    (void)state;
    for (uint32_t i = 0; i < INDEX_ENTRIES_MAX; i++) {
        char name[NAME_SIZE];

        name_of(i, name);
        /* No two lists are equal. */
        for (uint32_t k = 0; k < INDEX_GROUPS_MAX; k++)
            gids[k] = ID_ALLOC_MIN + k;
        gids[INDEX_GROUPS_MAX - 2] += 1 + i / 200;
        gids[INDEX_GROUPS_MAX - 1] = 20000 + i % 200;
        assert_int_equal(index_rows_set(&rows, ID_ALLOC_MIN + i, INDEX_KIND_USER, 0, name, gids,
                                        INDEX_GROUPS_MAX),
                         0);
    }
    assert_int_equal(index_image_build(&rows, 1, &image), 0);
    assert_int_equal(image.size, INDEX_SIZE_MAX);
    index_image_done(&image);
    index_rows_forget(&rows);
}

/* --- what is refused ----------------------------------------------------------------------- */

static void damaged_rows_are_refused(void **state)
{
    static const struct {
        uint32_t id;
        const char *name;
    } bad[] = {
        {0, "maria"},     {9999, "maria"},  {59900, "maria"}, {65000, "maria"},
        {65001, "maria"}, {20000, "Maria"}, {20000, ""},      {20000, "a b"},
        {20000, "../x"},  {10002, "maria"}, {10000, "maria"}, {20000, "-maria"},
    };
    static const uint32_t bad_gids[][2] = {
        {10000, 27}, {10001, 10000}, {10000, 10000}, {0, 10000}, {10000, 59900}};
    struct index_rows rows = {0};
    struct place *p = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(
            index_rows_set(&p->rows, bad[i].id, INDEX_KIND_USER, 0, bad[i].name, NULL, 0),
            -EBADMSG);
    assert_int_equal(index_rows_set(&rows, 20000, INDEX_KIND_USER, 0,
                                    "a-name-of-thirty-two-letters-xxx", NULL, 0),
                     -EBADMSG);
    for (size_t i = 0; i < sizeof(bad_gids) / sizeof(bad_gids[0]); i++)
        assert_int_equal(
            index_rows_set(&rows, 20000 + (uint32_t)i, INDEX_KIND_USER, 0, "maria", bad_gids[i], 2),
            -EBADMSG);
    assert_int_equal(index_rows_set(&rows, 30000, INDEX_KIND_USER, 0, "maria", both, 2), 0);
    index_rows_forget(&rows);
}

static void name_that_is_there_twice_is_refused(void **state)
{
    struct index_image image = {0};
    struct place *p = *state;

    assert_int_equal(index_rows_set(&p->rows, 20000, INDEX_KIND_GROUP, 0, "p7", NULL, 0), 0);
    assert_int_equal(index_image_build(&p->rows, 1, &image), -EBADMSG);
    assert_null(image.bytes);
}

static void too_many_groups_are_refused(void **state)
{
    uint32_t gids[INDEX_GROUPS_MAX + 1];
    struct index_rows rows = {0};

    (void)state;
    for (uint32_t i = 0; i <= INDEX_GROUPS_MAX; i++)
        gids[i] = ID_ALLOC_MIN + i;
    assert_int_equal(
        index_rows_set(&rows, 20000, INDEX_KIND_USER, 0, "maria", gids, INDEX_GROUPS_MAX), 0);
    assert_int_equal(
        index_rows_set(&rows, 20001, INDEX_KIND_USER, 0, "jo", gids, INDEX_GROUPS_MAX + 1), -E2BIG);
    index_rows_forget(&rows);
}

/* A name that a reader would give up on before it comes to it must not be in a file. */
static void names_that_crowd_one_slot_are_refused(void **state)
{
    const uint32_t mask = 4096 - 1; /* slots of 1024 to 2048 names */
    struct index_rows rows = {0};
    struct index_image image = {0};
    uint32_t id = ID_ALLOC_MIN;

    (void)state;
    for (unsigned i = 0; id < ID_ALLOC_MIN + INDEX_PROBES_MAX + 1; i++) {
        char name[NAME_SIZE];

        (void)snprintf(name, sizeof(name), "n%u", i);
        if ((index_hash(name) & mask) != 5)
            continue;
        assert_int_equal(index_rows_set(&rows, id++, INDEX_KIND_USER, 0, name, NULL, 0), 0);
        if (id == ID_ALLOC_MIN + INDEX_PROBES_MAX) {
            assert_int_equal(index_image_build(&rows, 1, &image), 0);
            index_image_done(&image);
        }
    }
    assert_int_equal(index_image_build(&rows, 1, &image), -E2BIG);
    index_rows_forget(&rows);
}

/* --- into place ---------------------------------------------------------------------------- */

/* Sizes around every buffer and record: each write of the file fails once. */
static void full_disk_leaves_the_old_index_alone(void **state)
{
    struct place *p = *state;
    struct index_image next;
    int status = -1;
    pid_t pid;

    publish(p);
    assert_int_equal(index_image_build(&p->rows, 78, &next), 0);
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
            if (index_write(p->fd, &next) != -EFBIG || exists(p, INDEX_TMP_NAME))
                _exit(4);
            if (!index_is_current(p->fd, &p->image))
                _exit(5);
        }
        limit.rlim_cur = (rlim_t)st.st_size;
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || index_write(p->fd, &next) != 0)
            _exit(6);
        _exit(index_rename(p->fd) == 0 ? 0 : 7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(index_is_current(p->fd, &next));
    index_image_done(&next);
}

static void file_that_differs_in_anything_is_not_current(void **state)
{
    struct place *p = *state;
    struct stat st;
    int fd;

    assert_false(index_is_current(p->fd, &p->image));
    publish(p);
    assert_int_equal(fstatat(p->fd, INDEX_FILE_NAME, &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_true(index_is_current(p->fd, &p->image));
    fd = openat(p->fd, INDEX_FILE_NAME, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t at = 0; at < st.st_size; at += at < 64 ? 1 : 997) {
        unsigned char byte;

        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_false(index_is_current(p->fd, &p->image));
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_true(index_is_current(p->fd, &p->image));
    assert_int_equal(fchmod(fd, 0664), 0);
    assert_false(index_is_current(p->fd, &p->image));
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_true(index_is_current(p->fd, &p->image));
    assert_int_equal(linkat(p->fd, INDEX_FILE_NAME, p->fd, INDEX_TMP_NAME, 0), 0);
    assert_false(index_is_current(p->fd, &p->image));
    assert_int_equal(index_sweep(p->fd), 0);
    assert_true(index_is_current(p->fd, &p->image));
    assert_int_equal(ftruncate(fd, st.st_size + 1), 0);
    assert_false(index_is_current(p->fd, &p->image));
    assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
    assert_false(index_is_current(p->fd, &p->image));
    (void)close(fd);
}

static void temporary_file_of_a_crash_is_replaced(void **state)
{
    struct place *p = *state;

    assert_int_equal(symlinkat("elsewhere", p->fd, INDEX_TMP_NAME), 0);
    publish(p);
    assert_false(exists(p, "elsewhere"));
    assert_false(exists(p, INDEX_TMP_NAME));
    assert_true(index_is_current(p->fd, &p->image));
    assert_int_equal(index_sweep(p->fd), 0);
}

#define INDEX_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INDEX_TEST(every_key_reads_back),
        INDEX_TEST(the_bytes_are_those_of_the_format),
        INDEX_TEST(another_builder_makes_the_same_bytes),
        INDEX_TEST(empty_index_is_an_index),
        INDEX_TEST(full_range_is_an_index_of_the_largest_size),
        INDEX_TEST(damaged_rows_are_refused),
        INDEX_TEST(name_that_is_there_twice_is_refused),
        INDEX_TEST(too_many_groups_are_refused),
        INDEX_TEST(names_that_crowd_one_slot_are_refused),
        INDEX_TEST(full_disk_leaves_the_old_index_alone),
        INDEX_TEST(file_that_differs_in_anything_is_not_current),
        INDEX_TEST(temporary_file_of_a_crash_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

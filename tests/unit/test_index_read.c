/* SPDX-License-Identifier: ISC */
/* test_index_read.c - look-ups, listings, and files that nobody honest wrote. */
#include "common/index_read.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ids.h"
#include "tests/unit/index_build.h"

#include "common/banned.h"

#define DIR       "."
#define FILE_PATH INDEX_FILE_NAME

static const struct index_user users[] = {
    {10001, 10001, INDEX_SHELL_ATELIER, "maria"},
    {10002, 10002, INDEX_SHELL_NOLOGIN, "jo"},
    {10007, 10007, 77, "a-name-of-thirty-one-letters-xx"},
    {59899, 59899, INDEX_SHELL_ATELIER, "z9"},
};
static const struct index_group groups[] = {
    {10000, "atelier-users"},
    {10001, "maria"},
    {10002, "jo"},
    {10003, "course"},
    {10007, "a-name-of-thirty-one-letters-xx"},
    {59899, "z9"},
};
static const uint32_t gids_maria[] = {10000, 10003};
static const uint32_t gids_jo[] = {10000};
static const struct index_members members[] = {
    {"maria", gids_maria, 2},
    {"jo", gids_jo, 1},
};
static const struct index_content content = {
    .users = users,
    .user_count = 4,
    .groups = groups,
    .group_count = 6,
    .members = members,
    .member_count = 2,
    .generation = 0x123456789abcull,
};

static char start_dir[] = "/tmp/atelier-index-XXXXXX";

static int dir_setup(void **state)
{
    (void)state;
    if (!mkdtemp(start_dir) || chmod(start_dir, 0755) < 0 || chdir(start_dir) < 0)
        return -1;
    return 0;
}

static int dir_teardown(void **state)
{
    (void)state;
    (void)unlink(FILE_PATH);
    (void)unlink(FILE_PATH ".tmp");
    return chdir("/") < 0 || rmdir(start_dir) < 0 ? -1 : 0;
}

static int file_setup(void **state)
{
    (void)state;
    (void)chmod(start_dir, 0755);
    return index_build(FILE_PATH, &content);
}

/* --- honest files -------------------------------------------------------------------------- */

static void every_user_and_group_is_found_by_id_and_by_name(void **state)
{
    struct index ix;

    (void)state;
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_true(ix.generation == content.generation);
    for (size_t i = 0; i < content.user_count; i++) {
        struct index_user by_uid, by_name;

        assert_int_equal(index_user_by_uid(&ix, users[i].uid, &by_uid), 0);
        assert_int_equal(index_user_by_name(&ix, users[i].name, &by_name), 0);
        assert_memory_equal(&by_uid, &users[i], sizeof(by_uid));
        assert_memory_equal(&by_name, &users[i], sizeof(by_name));
    }
    for (size_t i = 0; i < content.group_count; i++) {
        struct index_group by_gid, by_name;

        assert_int_equal(index_group_by_gid(&ix, groups[i].gid, &by_gid), 0);
        assert_int_equal(index_group_by_name(&ix, groups[i].name, &by_name), 0);
        assert_memory_equal(&by_gid, &groups[i], sizeof(by_gid));
        assert_memory_equal(&by_name, &groups[i], sizeof(by_name));
    }
    index_close(&ix);
}

static void what_is_not_there_is_not_found_and_output_is_untouched(void **state)
{
    static const uint32_t no_uids[] = {0, 1, 9999, 10000, 10003, 59898, 65000, 65001, 65534, ~0u};
    static const char *const no_names[] = {"", "root", "mari", "mariaa", "Maria", "course", "../x"};
    struct index_user user, before;
    struct index ix;

    (void)state;
    memset(&user, 0x5a, sizeof(user));
    before = user;
    assert_int_equal(index_open(DIR, &ix), 0);
    for (size_t i = 0; i < sizeof(no_uids) / sizeof(*no_uids); i++)
        assert_int_equal(index_user_by_uid(&ix, no_uids[i], &user), -ENOENT);
    for (size_t i = 0; i < sizeof(no_names) / sizeof(*no_names); i++)
        assert_int_equal(index_user_by_name(&ix, no_names[i], &user), -ENOENT);
    assert_int_equal(index_user_by_name(&ix, NULL, &user), -ENOENT);
    assert_memory_equal(&user, &before, sizeof(user));
    index_close(&ix);
}

static void groups_of_a_user_are_listed_and_strangers_have_none(void **state)
{
    uint32_t gids[INDEX_GROUPS_MAX];
    struct index ix;
    size_t n;

    (void)state;
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_groups_of(&ix, "maria", gids, &n), 0);
    assert_int_equal(n, 2);
    assert_memory_equal(gids, gids_maria, sizeof(gids_maria));
    assert_int_equal(index_groups_of(&ix, "z9", gids, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(index_groups_of(&ix, "root", gids, &n), -ENOENT);
    assert_int_equal(index_groups_of(&ix, "course", gids, &n), -ENOENT);
    index_close(&ix);
}

static void listing_gives_each_once_in_order(void **state)
{
    struct index_group group;
    struct index_user user;
    uint32_t after = 0;
    struct index ix;

    (void)state;
    assert_int_equal(index_open(DIR, &ix), 0);
    for (size_t i = 0; i < content.user_count; i++) {
        assert_int_equal(index_user_next(&ix, after, &user), 0);
        assert_int_equal(user.uid, users[i].uid);
        /* From any id below it, as after the one before has been deleted. */
        assert_int_equal(index_user_next(&ix, users[i].uid - 1, &user), 0);
        assert_int_equal(user.uid, users[i].uid);
        after = user.uid;
    }
    assert_int_equal(index_user_next(&ix, after, &user), -ENOENT);
    assert_int_equal(index_user_next(&ix, ~0u, &user), -ENOENT);
    after = 0;
    for (size_t i = 0; i < content.group_count; i++) {
        assert_int_equal(index_group_next(&ix, after, &group), 0);
        assert_int_equal(group.gid, groups[i].gid);
        after = group.gid;
    }
    assert_int_equal(index_group_next(&ix, after, &group), -ENOENT);
    index_close(&ix);
}

static void empty_index_answers_not_found(void **state)
{
    const struct index_content empty = {.generation = 1};
    struct index_group group;
    struct index_user user;
    struct index ix;

    (void)state;
    assert_int_equal(index_build(FILE_PATH, &empty), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_user_by_uid(&ix, 10001, &user), -ENOENT);
    assert_int_equal(index_user_by_name(&ix, "maria", &user), -ENOENT);
    assert_int_equal(index_user_next(&ix, 0, &user), -ENOENT);
    assert_int_equal(index_group_next(&ix, 0, &group), -ENOENT);
    index_close(&ix);
}

static void thousands_of_users_are_found_through_long_chains(void **state)
{
    enum { COUNT = 5000 };
    struct index_user *many = calloc(COUNT, sizeof(*many)), user;
    const struct index_content big = {.users = many, .user_count = COUNT};
    struct index ix;

    (void)state;
    assert_non_null(many);
    for (uint32_t i = 0; i < COUNT; i++) {
        many[i] = (struct index_user){.uid = 10000 + i, .gid = 10000 + i};
        (void)snprintf(many[i].name, sizeof(many[i].name), "user%u", i);
    }
    assert_int_equal(index_build(FILE_PATH, &big), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(index_user_by_uid(&ix, many[i].uid, &user), 0);
        assert_string_equal(user.name, many[i].name);
        assert_int_equal(index_user_by_name(&ix, many[i].name, &user), 0);
        assert_int_equal(user.uid, many[i].uid);
    }
    index_close(&ix);
    free(many);
}

/* --- files that nobody honest wrote -------------------------------------------------------- */

/* Ask everything; whatever comes back must be of our ranges. Return: number of answers. */
static size_t everything_asked(void)
{
    uint32_t gids[INDEX_GROUPS_MAX], after = 0;
    struct index_group group;
    struct index_user user;
    size_t answers = 0, n;
    struct index ix;

    if (index_open(DIR, &ix) < 0)
        return 0;
    for (size_t i = 0; i < content.user_count; i++) {
        if (index_user_by_uid(&ix, users[i].uid, &user) == 0) {
            assert_int_equal(user.uid, users[i].uid);
            assert_true(id_is_outer(user.gid));
            assert_true(name_is_valid_n(user.name, sizeof(user.name)));
            answers++;
        }
        if (index_user_by_name(&ix, users[i].name, &user) == 0) {
            assert_string_equal(user.name, users[i].name);
            assert_true(id_is_outer(user.uid) && id_is_outer(user.gid));
            answers++;
        }
        if (index_groups_of(&ix, users[i].name, gids, &n) == 0) {
            assert_true(n <= INDEX_GROUPS_MAX);
            for (size_t k = 0; k < n; k++)
                assert_true(id_is_outer(gids[k]));
            answers++;
        }
    }
    for (size_t i = 0; i < content.group_count; i++) {
        if (index_group_by_gid(&ix, groups[i].gid, &group) == 0) {
            assert_int_equal(group.gid, groups[i].gid);
            assert_true(name_is_valid_n(group.name, sizeof(group.name)));
            answers++;
        }
        if (index_group_by_name(&ix, groups[i].name, &group) == 0) {
            assert_string_equal(group.name, groups[i].name);
            assert_true(id_is_outer(group.gid));
            answers++;
        }
    }
    while (index_user_next(&ix, after, &user) == 0) {
        assert_true(user.uid > after && id_is_outer(user.uid) && id_is_outer(user.gid));
        assert_true(name_is_valid_n(user.name, sizeof(user.name)));
        after = user.uid;
        answers++;
    }
    after = 0;
    while (index_group_next(&ix, after, &group) == 0) {
        assert_true(group.gid > after && id_is_outer(group.gid));
        assert_true(name_is_valid_n(group.name, sizeof(group.name)));
        after = group.gid;
        answers++;
    }
    index_close(&ix);
    return answers;
}

#define ANSWERS_ALL  (3 * 4 + 2 * 6 + 4 + 6)
#define ANSWERS_NEAR (3 * 3 + 2 * 5 + 3 + 5)

static void file_cut_at_any_length_is_refused_whole(void **state)
{
    size_t size;
    unsigned char *file = file_load(FILE_PATH, &size);
    struct index ix;

    (void)state;
    assert_non_null(file);
    assert_int_equal(everything_asked(), ANSWERS_ALL);
    /* Every length of the small parts; of the many empty entries between 10007 and 59899 some. */
    for (size_t n = 0; n < size; n += n < 600 || n + 300 > size ? 1 : 4099) {
        assert_int_equal(file_store(FILE_PATH, file, n), 0);
        assert_int_equal(index_open(DIR, &ix), -EBADMSG);
        if (n < sizeof(struct index_header))
            continue;
        /* A header that knows of the cut: the counts still say otherwise. */
        HEADER_SET(file, size_bytes, (uint32_t)n);
        assert_int_equal(file_store(FILE_PATH, file, n), 0);
        assert_int_equal(index_open(DIR, &ix), -EBADMSG);
        HEADER_SET(file, size_bytes, (uint32_t)size);
    }
    file[size] = 0; /* file_load() leaves room for one byte more */
    assert_int_equal(file_store(FILE_PATH, file, size + 1), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(everything_asked(), ANSWERS_ALL);
    free(file);
}

static void file_cut_in_place_while_open_is_an_error_and_not_a_miss(void **state)
{
    struct index_user user;
    struct index ix;

    (void)state;
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_user_by_uid(&ix, 10001, &user), 0);
    assert_int_equal(truncate(FILE_PATH, sizeof(struct index_header)), 0);
    assert_int_equal(index_user_by_uid(&ix, 10001, &user), -EBADMSG);
    assert_int_equal(index_user_by_name(&ix, "maria", &user), -EBADMSG);
    assert_int_equal(index_user_next(&ix, 0, &user), -EBADMSG);
    index_close(&ix);
}

/* xorshift32: the same bytes on every machine. */
static uint32_t noise(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* A byte of a slot that is not empty: number @random of those, counted round and round. */
static uint32_t some_slot(const unsigned char *file, uint32_t random)
{
    size_t at = slots_offset(file);

    for (random %= 64;; at = at + 4 < gids_offset(file) ? at + 4 : slots_offset(file)) {
        if (header_get(file, at) == 0)
            continue;
        if (random < 4)
            return (uint32_t)at + random;
        random -= 4;
    }
}

static void bytes_flipped_at_random_never_bring_out_a_foreign_id(void **state)
{
    static const struct index_content near = {.users = users,
                                              .user_count = 3,
                                              .groups = groups,
                                              .group_count = 5,
                                              .members = members,
                                              .member_count = 2};
    size_t size, whole = 0;
    unsigned char *file, *bad;
    uint32_t seed = 0x41544c52;

    (void)state;
    /* Without z9, who makes the file large. */
    assert_int_equal(index_build(FILE_PATH, &near), 0);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    bad = malloc(size);
    assert_true(file && bad);
    for (int round = 0; round < 6000; round++) {
        uint32_t flips = 1 + noise(&seed) % 12;

        memcpy(bad, file, size);
        while (flips-- > 0) {
            uint32_t at = noise(&seed) % (uint32_t)size;

            /* Every second one in the header or in a slot that is in use. */
            if (flips % 4 == 1)
                at = noise(&seed) % sizeof(struct index_header);
            else if (flips % 4 == 3)
                at = some_slot(file, noise(&seed));
            bad[at] = (unsigned char)noise(&seed);
        }
        memcpy(bad, file, 16); /* magic, version and size, or there is nothing to see */
        assert_int_equal(file_store(FILE_PATH, bad, size), 0);
        whole += everything_asked() == ANSWERS_NEAR;
    }
    assert_in_range(whole, 1, 5000);
    free(bad);
    free(file);
}

static void forged_names_and_kinds_do_not_come_out(void **state)
{
    static const struct index_entry forged[] = {
        {.kind = INDEX_KIND_USER, .name = "Ma"},
        {.kind = INDEX_KIND_USER, .name = "../../etc"},
        {.kind = INDEX_KIND_USER, .name = "a\0b"},
        {.kind = INDEX_KIND_USER, .name = ""},
        {.kind = INDEX_KIND_USER, .name = "this-name-fills-the-whole-field"},
        {.kind = 3, .name = "maria"},
        {.kind = 255, .name = "maria"},
    };
    const struct index_content c = {.users = users, .user_count = 1};
    struct index_group group;
    struct index_user user;
    struct index ix;

    (void)state;
    for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
        struct index_entry one = forged[i];
        unsigned char *file;
        size_t size;
        int by_name;

        if (strlen(one.name) == NAME_MAX_LEN)
            one.name[NAME_MAX_LEN] = 'x'; /* no NUL */
        assert_int_equal(index_build(FILE_PATH, &c), 0);
        file = file_load(FILE_PATH, &size);
        assert_non_null(file);
        memcpy(file + entry_offset(file, 10001), &one, sizeof(one));
        assert_int_equal(file_store(FILE_PATH, file, size), 0);
        free(file);

        by_name = one.kind == INDEX_KIND_USER ? -ENOENT : -EBADMSG;
        assert_int_equal(index_open(DIR, &ix), 0);
        assert_int_equal(index_user_by_uid(&ix, 10001, &user), -EBADMSG);
        assert_int_equal(index_group_by_gid(&ix, 10001, &group), -EBADMSG);
        assert_int_equal(index_user_by_name(&ix, "maria", &user), by_name);
        assert_int_equal(index_group_by_name(&ix, "maria", &group), by_name);
        assert_int_equal(index_user_next(&ix, 0, &user), -EBADMSG);
        assert_int_equal(index_group_next(&ix, 0, &group), -EBADMSG);
        index_close(&ix);
    }
}

static void slot_that_points_at_another_user_is_not_an_answer(void **state)
{
    const struct index_content c = {.users = users, .user_count = 2};
    uint32_t hash = index_hash("maria"), number;
    struct index_user user;
    unsigned char *file, *slot;
    struct index ix;
    size_t size;

    (void)state;
    assert_int_equal(index_build(FILE_PATH, &c), 0);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    slot = file + slots_offset(file) + (hash % HEADER_GET(file, slot_count)) * 4;
    assert_int_equal(header_get(slot, 0), (hash & 0xffff0000u) + 1);
    /* jo's entry, one that there is not, and none at all. */
    for (number = 0; number < 0x10000; number += number < 3 ? 1 : 0x3fff) {
        header_set(slot, 0, (hash & 0xffff0000u) + number);
        assert_int_equal(file_store(FILE_PATH, file, size), 0);
        assert_int_equal(index_open(DIR, &ix), 0);
        assert_int_equal(index_user_by_name(&ix, "maria", &user), number == 1   ? 0
                                                                  : number == 2 ? -ENOENT
                                                                                : -EBADMSG);
        assert_int_equal(index_user_by_uid(&ix, 10001, &user), 0);
        index_close(&ix);
    }
    free(file);
}

static void bad_gid_spoils_the_whole_list_of_groups(void **state)
{
    static const uint32_t bad[] = {0, 27, 9999, 59900, 65000, ~0u};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const uint32_t gids[] = {10000, bad[i]};
        const struct index_members m[] = {{"maria", gids, 2}};
        const struct index_content c = {
            .users = users, .user_count = 1, .members = m, .member_count = 1};
        uint32_t got[INDEX_GROUPS_MAX] = {0};
        struct index ix;
        size_t n = 99;

        assert_int_equal(index_build(FILE_PATH, &c), 0);
        assert_int_equal(index_open(DIR, &ix), 0);
        assert_int_equal(index_groups_of(&ix, "maria", got, &n), -EBADMSG);
        assert_int_equal(n, 99);
        assert_int_equal(got[0], 0);
        index_close(&ix);
    }
}

static void list_of_groups_that_leaves_the_file_is_refused(void **state)
{
    uint32_t many[INDEX_GROUPS_MAX + 1], got[INDEX_GROUPS_MAX];
    struct index_members m[] = {{"maria", many, INDEX_GROUPS_MAX}};
    const struct index_content c = {
        .users = users, .user_count = 1, .members = m, .member_count = 1};
    unsigned char *file;
    struct index ix;
    size_t size, n;

    (void)state;
    for (uint32_t i = 0; i <= INDEX_GROUPS_MAX; i++)
        many[i] = 10000 + i;
    assert_int_equal(index_build(FILE_PATH, &c), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_groups_of(&ix, "maria", got, &n), 0);
    assert_int_equal(n, INDEX_GROUPS_MAX);
    assert_memory_equal(got, many, sizeof(got));
    index_close(&ix);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    /* The list begins at the last gid, behind it, and far away. */
    for (uint32_t at = 1 + INDEX_GROUPS_MAX, i = 0; i < 3; at = i++ ? ~0u : at + 1) {
        header_set(file, entry_offset(file, 10001) + offsetof(struct index_entry, gids_at), at);
        assert_int_equal(file_store(FILE_PATH, file, size), 0);
        assert_int_equal(index_open(DIR, &ix), 0);
        assert_int_equal(index_groups_of(&ix, "maria", got, &n), -EBADMSG);
        index_close(&ix);
    }
    free(file);
    /* The count leaves it. */
    assert_int_equal(index_build(FILE_PATH, &c), 0);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    header_set(file, gids_offset(file) + 4, ~0u);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    free(file);
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_groups_of(&ix, "maria", got, &n), -EBADMSG);
    index_close(&ix);
    /* One more than a reader has room for. */
    m[0].gid_count++;
    assert_int_equal(index_build(FILE_PATH, &c), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    assert_int_equal(index_groups_of(&ix, "maria", got, &n), -EBADMSG);
    index_close(&ix);
}

/* A table without an empty slot, all slots with the hash that is asked and another one's entry. */
static void table_without_end_ends(void **state)
{
    const struct index_content c = {.users = users, .user_count = 1};
    uint32_t hash = index_hash("jo"), value = htole32((hash & 0xffff0000u) + 1);
    size_t size, rest;
    unsigned char *file, *more;
    struct index_user user;
    struct index ix;

    (void)state;
    assert_int_equal(index_build(FILE_PATH, &c), 0);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    rest = size - gids_offset(file);
    size = slots_offset(file);
    more = realloc(file, size + INDEX_SLOTS_MAX * 4 + rest);
    assert_non_null(more);
    file = more;
    for (uint32_t slots = INDEX_SLOTS_MIN; slots <= INDEX_SLOTS_MAX; slots *= 2) {
        for (uint32_t i = 0; i < slots; i++)
            memcpy(file + size + i * 4, &value, 4);
        memset(file + size + slots * 4, 0, rest);
        HEADER_SET(file, slot_count, slots);
        HEADER_SET(file, size_bytes, (uint32_t)(size + slots * 4 + rest));
        assert_int_equal(file_store(FILE_PATH, file, size + slots * 4 + rest), 0);
        assert_int_equal(index_open(DIR, &ix), 0);
        assert_int_equal(index_user_by_name(&ix, "jo", &user),
                         slots <= INDEX_PROBES_MAX ? -ENOENT : -EBADMSG);
        assert_int_equal(index_user_by_uid(&ix, 10001, &user), 0);
        index_close(&ix);
    }
    free(file);
}

static void counts_that_do_not_fit_the_file_are_refused(void **state)
{
    static const size_t fields[] = {
        offsetof(struct index_header, size_bytes),  offsetof(struct index_header, id_first),
        offsetof(struct index_header, entry_count), offsetof(struct index_header, slot_count),
        offsetof(struct index_header, gid_count),
    };
    static const uint32_t values[] = {0, 1, 17, 59899, 59900, 65535, 0x40000000u, 0x80000000u, ~0u};
    size_t size;
    unsigned char *file = file_load(FILE_PATH, &size);
    struct index ix;
    uint32_t gids, slots;

    (void)state;
    assert_non_null(file);
    for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
        uint32_t right = header_get(file, fields[f]);

        for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
            header_set(file, fields[f], values[i]);
            assert_int_equal(file_store(FILE_PATH, file, size), 0);
            assert_int_equal(index_open(DIR, &ix), -EBADMSG);
        }
        header_set(file, fields[f], right);
    }
    /* Right in their sum, and not each: no slots, too few, no list at all; ids up to 59900, a list
     * that is not there, odd slots. */
    HEADER_SET(file, id_first, 10001);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    HEADER_SET(file, id_first, 10000);
    gids = HEADER_GET(file, gid_count);
    slots = HEADER_GET(file, slot_count);
    for (uint32_t wrong = 0; wrong < slots; wrong += wrong < INDEX_SLOTS_MIN ? 1 : slots) {
        if (wrong == INDEX_SLOTS_MIN)
            continue;
        HEADER_SET(file, slot_count, wrong);
        HEADER_SET(file, gid_count, gids + slots - wrong);
        assert_int_equal(file_store(FILE_PATH, file, size), 0);
        assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    }
    HEADER_SET(file, slot_count, slots + gids - 1);
    HEADER_SET(file, gid_count, 1);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    HEADER_SET(file, slot_count, slots);
    HEADER_SET(file, gid_count, 0);
    HEADER_SET(file, size_bytes, (uint32_t)size - gids * 4);
    assert_int_equal(file_store(FILE_PATH, file, size - gids * 4), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    HEADER_SET(file, gid_count, gids);
    HEADER_SET(file, size_bytes, (uint32_t)size);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(everything_asked(), ANSWERS_ALL);
    free(file);
}

static void another_version_is_refused_by_its_own_errno(void **state)
{
    size_t size;
    unsigned char *file = file_load(FILE_PATH, &size);
    struct index ix;

    (void)state;
    assert_non_null(file);
    /* Whatever else is in it. */
    HEADER_SET(file, version, INDEX_VERSION + 1);
    HEADER_SET(file, size_bytes, 1);
    HEADER_SET(file, entry_count, ~0u);
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), -EPROTONOSUPPORT);
    /* By another magic it is not even that. */
    file[7] = '1';
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    free(file);
    assert_int_equal(index_build(FILE_PATH, &content), 0);
    file = file_load(FILE_PATH, &size);
    assert_non_null(file);
    file[7] = '1';
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), -EBADMSG);
    file[7] = '2';
    assert_int_equal(file_store(FILE_PATH, file, size), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_user_and_group_is_found_by_id_and_by_name, file_setup),
        cmocka_unit_test_setup(what_is_not_there_is_not_found_and_output_is_untouched, file_setup),
        cmocka_unit_test_setup(groups_of_a_user_are_listed_and_strangers_have_none, file_setup),
        cmocka_unit_test_setup(listing_gives_each_once_in_order, file_setup),
        cmocka_unit_test_setup(empty_index_answers_not_found, file_setup),
        cmocka_unit_test_setup(thousands_of_users_are_found_through_long_chains, file_setup),
        cmocka_unit_test_setup(file_cut_at_any_length_is_refused_whole, file_setup),
        cmocka_unit_test_setup(file_cut_in_place_while_open_is_an_error_and_not_a_miss, file_setup),
        cmocka_unit_test_setup(bytes_flipped_at_random_never_bring_out_a_foreign_id, file_setup),
        cmocka_unit_test_setup(forged_names_and_kinds_do_not_come_out, file_setup),
        cmocka_unit_test_setup(slot_that_points_at_another_user_is_not_an_answer, file_setup),
        cmocka_unit_test_setup(bad_gid_spoils_the_whole_list_of_groups, file_setup),
        cmocka_unit_test_setup(list_of_groups_that_leaves_the_file_is_refused, file_setup),
        cmocka_unit_test_setup(table_without_end_ends, file_setup),
        cmocka_unit_test_setup(counts_that_do_not_fit_the_file_are_refused, file_setup),
        cmocka_unit_test_setup(another_version_is_refused_by_its_own_errno, file_setup),
    };

    return cmocka_run_group_tests(tests, dir_setup, dir_teardown);
}

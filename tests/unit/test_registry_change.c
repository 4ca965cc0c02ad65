/* SPDX-License-Identifier: ISC */
/* test_registry_change.c - what the administrator says about people, and how they go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void group_new(struct fixture *f, const char *name)
{
    struct group g;

    assert_int_equal(group_create(f->reg, name, taken_none, NULL, &g), 0);
}

static uint64_t generation(struct fixture *f)
{
    struct registry_counts counts;

    assert_int_equal(registry_count(f->reg, &counts), 0);
    return counts.generation;
}

/* "a,b" in ascending gid, without GROUP_ALL_USERS, which everybody must be in. */
static void groups_are(struct fixture *f, uint32_t uid, const char *expected)
{
    struct group groups[USER_GROUPS_MAX + 1];
    char text[1024] = "";
    bool has_all = false;
    size_t n = 0, len = 0;

    assert_int_equal(group_of_user(f->reg, uid, groups, USER_GROUPS_MAX + 1, &n), 0);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(groups[i].name, GROUP_ALL_USERS) == 0)
            has_all = true;
        else
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len > 0 ? "," : "",
                                    groups[i].name);
    }
    assert_true(has_all);
    assert_string_equal(text, expected);
    assert_true(index_agrees(f->dir, f->reg));
}

static enum user_change_verdict change_try(struct fixture *f, uint32_t uid,
                                           const struct user_change *change)
{
    enum user_change_verdict verdict = (enum user_change_verdict)77;
    const char *what = NULL;
    int r = user_change(f->reg, uid, change, &what, &verdict);

    if (r < 0)
        fail_msg("user_change: %s", registry_error(f->reg));
    return verdict;
}

/* --- creation with everything ---------------------------------------------------------------- */

static void everything_of_a_new_user_is_stored(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.email = "ada@example.org",
                             .groups = NAMES("course-b", GROUP_ALL_USERS, "course-a", "course-b"),
                             .group_count = 4,
                             .comment = "Ada Lovelace, Zürich",
                             .shell = "/bin/zsh",
                             .expires_s = 4000000000,
                             .uid = 20000};
    struct user u, again;

    group_new(f, "course-a");
    group_new(f, "course-b");
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.uid, 20000);
    assert_string_equal(u.comment, "Ada Lovelace, Zürich");
    assert_string_equal(u.shell, "/bin/zsh");
    assert_int_equal(u.expires_s, 4000000000);
    groups_are(f, u.uid, "course-a,course-b");
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(user_by_uid(f->reg, 20000, &again), 0);
    assert_memory_equal(&u, &again, sizeof(u));
    /* A uid that was asked for does not move the counter, and is never given out by it. */
    assert_int_equal(user_new(f, "karl@example.org").uid, 10003);
    spec = (struct user_spec){
        .email = "ada@example.org", .comment = "Other", .expires_s = EXPIRY_KEEP};
    assert_int_equal(user_try(f, &spec, &again), USER_EXISTED);
    assert_memory_equal(&u, &again, sizeof(u));
    spec = (struct user_spec){.name = "late", .expires_s = 1};
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.state, USER_STATE_EXPIRED);
}

static void what_a_new_user_may_not_have_is_told_apart(void **state)
{
    char long_comment[COMMENT_SIZE + 1], long_shell[SHELL_SIZE + 1];
    const struct {
        const char *comment, *shell;
        enum user_verdict expected;
    } cases[] = {
        {"a:b", NULL, USER_COMMENT_INVALID},
        {"a\nb", NULL, USER_COMMENT_INVALID},
        {"a\x7f", NULL, USER_COMMENT_INVALID},
        {"\x1b[31mred", NULL, USER_COMMENT_INVALID},
        {"\xc2\x9b", NULL, USER_COMMENT_INVALID}, /* the same in one C1 character */
        {"\xe2\x80\xae"
         "dlo",
         NULL, USER_COMMENT_INVALID}, /* written backwards from here */
        {"\xff", NULL, USER_COMMENT_INVALID},
        {"\xc3", NULL, USER_COMMENT_INVALID},             /* cut */
        {"\xc0\xba", NULL, USER_COMMENT_INVALID},         /* ':' in two bytes */
        {"\xed\xa0\x80", NULL, USER_COMMENT_INVALID},     /* a surrogate */
        {"\xf4\x90\x80\x80", NULL, USER_COMMENT_INVALID}, /* after the last one */
        {long_comment, NULL, USER_COMMENT_INVALID},
        {NULL, "bin/sh", USER_SHELL_INVALID},
        {NULL, "/bin/a b", USER_SHELL_INVALID},
        {NULL, "/bin/a:b", USER_SHELL_INVALID},
        {NULL, "/bin/\xc3\xa9", USER_SHELL_INVALID},
        {NULL, "/bin/sh\n", USER_SHELL_INVALID},
        {NULL, long_shell, USER_SHELL_INVALID},
        {long_comment + 1, long_shell + 1, USER_CREATED},
        {"", "", USER_CREATED},
        {"\xf0\x9f\x8e\x93 \xe6\x97\xa5", "/bin/sh", USER_CREATED},
    };
    struct fixture *f = *state;
    struct user u;
    char name[16];

    memset(long_comment, 'c', sizeof(long_comment));
    memset(long_shell, '/', sizeof(long_shell));
    long_comment[COMMENT_SIZE] = long_shell[SHELL_SIZE] = '\0';
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct user_spec spec = {
            .name = name, .comment = cases[i].comment, .shell = cases[i].shell};
        enum user_verdict verdict;

        (void)snprintf(name, sizeof(name), "n%zu", i);
        verdict = user_try(f, &spec, &u);
        if (verdict != cases[i].expected)
            fail_msg("case %zu: verdict %d", i, verdict);
    }
    assert_int_equal(u.uid, 10003); /* what was refused cost nothing */
}

static int taken_20001(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    return id == 20001;
}

static void uid_that_was_asked_for_is_checked(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.name = "maria", .uid = 10000};
    enum user_verdict verdict = USER_CREATED;
    struct user u;

    assert_int_equal(user_try(f, &spec, &u), USER_UID_TAKEN); /* the group's */
    spec.uid = ID_ALLOC_MIN - 1;
    assert_int_equal(user_try(f, &spec, &u), USER_UID_INVALID);
    spec.uid = ID_ALLOC_MAX + 1;
    assert_int_equal(user_try(f, &spec, &u), USER_UID_INVALID);
    spec.uid = 20001;
    assert_int_equal(user_create(f->reg, &spec, taken_20001, NULL, &u, &verdict), 0);
    assert_int_equal(verdict, USER_UID_TAKEN);
    spec.uid = ID_ALLOC_MAX;
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    spec.name = "ada";
    assert_int_equal(user_try(f, &spec, &u), USER_UID_TAKEN);
    assert_true(index_agrees(f->dir, f->reg));
}

/* A participant "docker" would own the next package's group. */
static void reserved_stems_get_another_name(void **state)
{
    static const struct {
        const char *email, *name;
    } cases[] = {
        {"docker@example.org", "docker2"},    {"admin@example.org", "admin2"},
        {"postgres@example.org", "postgre2"}, {"root@example.org", "root2"},
        {"atelier@example.org", "atelie10"},  {"sudo@example.org", "sudo2"},
        {"www-data@example.org", "www-dat2"}, {"systemd@example.org", "system10"},
    };
    struct fixture *f = *state;
    struct group g;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[NAME_SIZE];
        struct user_spec spec = {.name = name};
        struct user u;

        assert_string_equal(user_new(f, cases[i].email).name, cases[i].name);
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(cases[i].email, "@"),
                       cases[i].email);
        assert_int_equal(user_try(f, &spec, &u), USER_NAME_RESERVED);
        assert_int_equal(group_create(f->reg, name, taken_none, NULL, &g), -EPERM);
    }
}

/* --- range ----------------------------------------------------------------------------------- */

static int taken_below_30005(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    return id != 0 && id < 30005;
}

static void ids_come_from_the_range_and_the_first_one_is_asked_for(void **state)
{
    static const struct registry_options options = {
        .id_min = 30000, .id_max = 30007, .taken = taken_below_30005};
    struct fixture *f = *state;
    struct user_spec spec = {.name = "maria", .uid = 30008};
    enum user_verdict verdicts[4];
    struct registry_counts counts;
    struct user users[4], u;
    struct group g;
    size_t bad = 77;

    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    assert_int_equal(unlink(path_of(f, "ledger/issued")), 0);
    assert_int_equal(registry_open(f->dir, &options, &f->reg), 0);
    assert_int_equal(group_by_name(f->reg, GROUP_ALL_USERS, &g), 0);
    assert_int_equal(g.gid, 30005);
    assert_int_equal(user_try(f, &spec, &u), USER_UID_INVALID);
    spec.uid = 29999;
    assert_int_equal(user_try(f, &spec, &u), USER_UID_INVALID);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.ids_free, 2);
    {
        const struct user_spec three[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};

        assert_int_equal(
            user_create_batch(f->reg, three, 3, false, taken_none, NULL, users, verdicts, &bad), 0);
    }
    assert_int_equal(bad, 2);
    assert_int_equal(verdicts[2], USER_IDS_EXHAUSTED);
    assert_int_equal(user_new(f, "ada@example.org").uid, 30006);
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    assert_int_equal(g.gid, 30007);
    spec.uid = 0;
    assert_int_equal(user_try(f, &spec, &u), USER_IDS_EXHAUSTED);
    assert_int_equal(group_create(f->reg, "course-b", taken_none, NULL, &g), -ENOSPC);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.ids_free, 0);
    assert_true(index_agrees(f->dir, f->reg));
    /* Another range: who is there stays. */
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(user_by_uid(f->reg, 30006, &u), 0);
    assert_int_equal(user_new(f, "maria@example.org").uid, 30008);
}

static int taken_always(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 1;
}

static void range_that_is_none_or_full_is_refused(void **state)
{
    const struct registry_options bad[] = {{.id_min = 9999, .id_max = 20000},
                                           {.id_min = 10000, .id_max = 59900},
                                           {.id_min = 20001, .id_max = 20000},
                                           {0}};
    const struct registry_options full = {.id_min = 20000, .id_max = 20002, .taken = taken_always};
    struct fixture *f = *state;
    struct registry *reg = NULL;

    fixture_close(f);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(registry_open(f->dir, &bad[i], &reg), -ERANGE);
        assert_non_null(strstr(registry_error(NULL), "10000 to 59899"));
    }
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    assert_int_equal(unlink(path_of(f, "ledger/issued")), 0);
    assert_int_equal(registry_open(f->dir, &full, &reg), -ENOSPC);
    assert_non_null(strstr(registry_error(NULL), "no gid is free"));
    assert_null(reg);
    fixture_open(f); /* nothing is left of it */
    assert_int_equal(user_new(f, "ada@example.org").uid, 10001);
}

/* --- changes --------------------------------------------------------------------------------- */

static void all_of_a_change_is_stored_at_once(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "ada@example.org");
    struct user_change change = {.email = "Countess@Example.org",
                                 .comment = "Ada",
                                 .shell = "/bin/zsh",
                                 .has_expiry = true,
                                 .expires_s = 4000000000,
                                 .has_locked = true,
                                 .is_locked = true,
                                 .groups_how = USER_GROUPS_SET,
                                 .groups = NAMES("course-a"),
                                 .group_count = 1};
    uint64_t before;

    group_new(f, "course-a");
    before = generation(f);
    assert_int_equal(change_try(f, u.uid, &change), USER_CHANGED);
    assert_int_equal(generation(f), before + 1);
    assert_int_equal(user_by_email(f->reg, "countess@example.org", &u), 0);
    assert_string_equal(u.comment, "Ada");
    assert_string_equal(u.shell, "/bin/zsh");
    assert_int_equal(u.expires_s, 4000000000);
    assert_int_equal(u.state, USER_STATE_LOCKED);
    groups_are(f, u.uid, "course-a");
    /* What is not given stays; what NSS does not show is not published. */
    change = (struct user_change){.has_locked = true, .email = "", .shell = ""};
    assert_int_equal(change_try(f, u.uid, &change), USER_CHANGED);
    assert_int_equal(generation(f), before + 1);
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_string_equal(u.email, "");
    assert_string_equal(u.shell, "");
    assert_string_equal(u.comment, "Ada");
    assert_int_equal(u.state, USER_STATE_RESERVED);
    assert_int_equal(u.expires_s, 4000000000);
    groups_are(f, u.uid, "course-a");
}

static void change_that_is_refused_changes_nothing(void **state)
{
    const struct user_change cases[] = {
        {.comment = "new", .email = "no address"},
        {.comment = "new", .email = "karl@example.org"},
        {.email = "new@example.org", .comment = "a:b"},
        {.comment = "new", .shell = "sh"},
        {.comment = "new",
         .groups_how = USER_GROUPS_ADD,
         .groups = NAMES("course-a", "nobodys"),
         .group_count = 2},
        {.comment = "new",
         .groups_how = USER_GROUPS_SET,
         .groups = NAMES("Bad Name"),
         .group_count = 1},
        {.comment = "new",
         .groups_how = USER_GROUPS_REMOVE,
         .groups = NAMES("course-b", "nobodys"),
         .group_count = 2},
        {.comment = "new",
         .groups_how = USER_GROUPS_REMOVE,
         .groups = NAMES("course-b", GROUP_ALL_USERS),
         .group_count = 2},
    };
    static const struct {
        enum user_change_verdict verdict;
        const char *what;
    } expected[] = {
        {USER_CHANGE_EMAIL_INVALID, NULL},   {USER_CHANGE_EMAIL_TAKEN, NULL},
        {USER_CHANGE_COMMENT_INVALID, NULL}, {USER_CHANGE_SHELL_INVALID, NULL},
        {USER_CHANGE_NO_GROUP, "nobodys"},   {USER_CHANGE_NO_GROUP, "Bad Name"},
        {USER_CHANGE_NO_GROUP, "nobodys"},   {USER_CHANGE_GROUP_IS_ALL, GROUP_ALL_USERS},
    };
    struct fixture *f = *state;
    struct user before = user_new(f, "ada@example.org"), after;
    uint64_t number;

    (void)user_new(f, "karl@example.org");
    group_new(f, "course-a");
    group_new(f, "course-b");
    assert_int_equal(user_join_group(f->reg, before.uid, "course-b"), 0);
    number = generation(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum user_change_verdict verdict = USER_CHANGED;
        const char *what = NULL;

        assert_int_equal(user_change(f->reg, before.uid, &cases[i], &what, &verdict), 0);
        if (verdict != expected[i].verdict || (what == NULL) != (expected[i].what == NULL) ||
            (what && strcmp(what, expected[i].what) != 0))
            fail_msg("case %zu: %d %s", i, verdict, what ? what : "-");
        assert_int_equal(user_by_uid(f->reg, before.uid, &after), 0);
        assert_memory_equal(&before, &after, sizeof(before));
        groups_are(f, before.uid, "course-b");
    }
    assert_int_equal(generation(f), number);
    {
        const struct user_change negative = {.has_expiry = true, .expires_s = -1}, none = {0};
        enum user_change_verdict verdict;
        const char *what;

        assert_int_equal(user_change(f->reg, before.uid, &negative, &what, &verdict), -EINVAL);
        assert_int_equal(user_change(f->reg, 10999, &none, &what, &verdict), -ENOENT);
        assert_int_equal(user_change(f->reg, before.uid, &none, &what, &verdict), 0);
        assert_int_equal(verdict, USER_CHANGED);
    }
}

static void groups_are_set_added_and_removed(void **state)
{
    struct fixture *f = *state;
    struct user_change change = {
        .groups_how = USER_GROUPS_SET, .groups = NAMES("course-a", "course-b"), .group_count = 2};
    uint32_t uid = user_new(f, "ada@example.org").uid;
    uint64_t before;

    group_new(f, "course-a");
    group_new(f, "course-b");
    group_new(f, "course-c");
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    groups_are(f, uid, "course-a,course-b");
    change = (struct user_change){.groups_how = USER_GROUPS_ADD,
                                  .groups = NAMES("course-c", "course-b", GROUP_ALL_USERS),
                                  .group_count = 3};
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    groups_are(f, uid, "course-a,course-b,course-c");
    before = generation(f);
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED); /* nothing to do */
    assert_int_equal(generation(f), before);
    change = (struct user_change){
        .groups_how = USER_GROUPS_REMOVE, .groups = NAMES("course-a"), .group_count = 1};
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    groups_are(f, uid, "course-b,course-c");
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    change = (struct user_change){
        .groups_how = USER_GROUPS_SET, .groups = NAMES("course-a"), .group_count = 1};
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    groups_are(f, uid, "course-a");
    change = (struct user_change){.groups_how = USER_GROUPS_SET};
    assert_int_equal(change_try(f, uid, &change), USER_CHANGED);
    groups_are(f, uid, "");
}

static void nobody_is_in_more_groups_than_fit(void **state)
{
    const char *names[USER_GROUPS_MAX + 1];
    char texts[USER_GROUPS_MAX + 1][NAME_SIZE];
    struct fixture *f = *state;
    struct user_spec spec = {
        .email = "ada@example.org", .groups = names, .group_count = USER_GROUPS_MAX + 1};
    struct user_change change = {
        .groups_how = USER_GROUPS_SET, .groups = names, .group_count = USER_GROUPS_MAX + 1};
    struct group g;
    struct user u;

    for (size_t i = 0; i <= USER_GROUPS_MAX; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "course-%zu", i);
        names[i] = texts[i];
        group_new(f, texts[i]);
    }
    assert_int_equal(user_try(f, &spec, &u), USER_TOO_MANY_GROUPS);
    assert_int_equal(user_by_email(f->reg, "ada@example.org", &u), -ENOENT);
    spec.group_count--;
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(change_try(f, u.uid, &change), USER_CHANGE_TOO_MANY_GROUPS);
    assert_int_equal(user_join_group(f->reg, u.uid, names[USER_GROUPS_MAX]), -E2BIG);
    assert_int_equal(group_by_name(f->reg, names[USER_GROUPS_MAX], &g), 0);
    assert_int_equal(group_members_change(f->reg, g.gid, USER_GROUPS_ADD, &u.uid, 1), -E2BIG);
    change.group_count--;
    assert_int_equal(change_try(f, u.uid, &change), USER_CHANGED);
    assert_int_equal(user_join_group(f->reg, u.uid, names[0]), 0);
    assert_true(index_agrees(f->dir, f->reg));
}

/* --- the end --------------------------------------------------------------------------------- */

static void deleted_user_is_gone_but_for_the_tombstone(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.email = "ada@example.org",
                             .external_id = "id-1",
                             .owner_uid = 33,
                             .comment = "Ada",
                             .groups = NAMES("course-a"),
                             .group_count = 1};
    struct user old, other = user_new(f, "karl@example.org"), u;
    uint32_t links = 77;
    struct group g;

    group_new(f, "course-a");
    assert_int_equal(user_try(f, &spec, &old), USER_CREATED);
    assert_int_equal(link_store(f->reg, 1, old.uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_store(f->reg, 2, old.uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_store(f->reg, 3, other.uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_try(f->reg, 1, 't', "ada", LINK_MADE_S), LINK_ACCEPTED);
    assert_int_equal(user_delete(f->reg, old.uid, &links), 0);
    assert_int_equal(links, 1);
    assert_false(index_has_user(f->dir, old.uid, old.name));
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_uid(f->reg, old.uid, &u), -ENOENT);
    assert_int_equal(user_by_name(f->reg, "ada", &u), -ENOENT);
    assert_int_equal(user_by_email(f->reg, "ada@example.org", &u), -ENOENT);
    assert_true(link_of(f->reg, 2).revoked_s > 0);
    assert_string_equal(link_of(f->reg, 1).name, "ada"); /* who it was, for the audit */
    assert_int_equal(link_try(f->reg, 2, 't', "ada", LINK_MADE_S), LINK_REFUSED);
    assert_int_equal(link_try(f->reg, 3, 't', "karl", LINK_MADE_S), LINK_ACCEPTED);
    assert_int_equal(user_delete(f->reg, old.uid, &links), -ENOENT);
    assert_int_equal(link_store(f->reg, 4, old.uid, LINK_PURPOSE_ANY), -ENOENT);
    /* The same person again: e-mail and key are free, name and id are not. */
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.uid, old.uid + 1);
    assert_string_equal(u.name, "ada2");
    spec = (struct user_spec){.name = "ada"};
    assert_int_equal(user_try(f, &spec, &u), USER_NAME_TAKEN);
    spec = (struct user_spec){.name = "grace", .uid = old.uid};
    assert_int_equal(user_try(f, &spec, &u), USER_UID_TAKEN);
    assert_int_equal(group_create(f->reg, "ada", taken_none, NULL, &g), -EEXIST);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM users WHERE uid = 10003 AND name = 'ada'"
                                  " AND email IS NULL AND comment = '' AND state = 'deleted'"),
                     1);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM members WHERE uid = 10003"), 0);
}

struct uids {
    uint32_t v[128];
    size_t n;
};

static int uid_note(void *arg, const struct user *user)
{
    struct uids *uids = arg;

    uids->v[uids->n++] = user->uid;
    return 0;
}

static void listing_goes_on_where_it_ended(void **state)
{
    struct fixture *f = *state;
    struct uids all = {0}, parts = {0};
    size_t before;
    char email[32];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(email, sizeof(email), "p%d@example.org", i);
        (void)user_new(f, email);
    }
    assert_int_equal(user_list(f->reg, uid_note, &all), 0);
    assert_int_equal(all.n, 100);
    do {
        before = parts.n;
        assert_int_equal(
            user_list_from(f->reg, parts.n > 0 ? parts.v[parts.n - 1] : 0, 33, uid_note, &parts),
            0);
        assert_true(parts.n <= before + 33);
    } while (parts.n > before);
    assert_int_equal(parts.n, 100);
    assert_memory_equal(parts.v, all.v, sizeof(all.v));
    assert_int_equal(user_list_from(f->reg, 0, 0, uid_note, &parts), 0);
    assert_int_equal(user_list_from(f->reg, ID_ALLOC_MAX, 5, uid_note, &parts), 0);
    assert_int_equal(parts.n, 100);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(everything_of_a_new_user_is_stored),
        REGISTRY_TEST(what_a_new_user_may_not_have_is_told_apart),
        REGISTRY_TEST(uid_that_was_asked_for_is_checked),
        REGISTRY_TEST(reserved_stems_get_another_name),
        REGISTRY_TEST(ids_come_from_the_range_and_the_first_one_is_asked_for),
        REGISTRY_TEST(range_that_is_none_or_full_is_refused),
        REGISTRY_TEST(all_of_a_change_is_stored_at_once),
        REGISTRY_TEST(change_that_is_refused_changes_nothing),
        REGISTRY_TEST(groups_are_set_added_and_removed),
        REGISTRY_TEST(nobody_is_in_more_groups_than_fit),
        REGISTRY_TEST(deleted_user_is_gone_but_for_the_tombstone),
        REGISTRY_TEST(listing_goes_on_where_it_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

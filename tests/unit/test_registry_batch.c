/* SPDX-License-Identifier: ISC */
/* test_registry_batch.c - many people at once: all or nothing, published once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ids.h"
#include "common/index_format.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define COUNT 500u

/* A class, and room for what comes of it. */
struct class
{
    char emails[COUNT][40];
    struct user_spec specs[COUNT];
    struct user users[COUNT];
    enum user_verdict verdicts[COUNT];
    size_t bad;
};

static const char *const course[] = {"course-a"};

static struct class *class_make(void)
{
    struct class *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(c->emails[i], sizeof(c->emails[i]), "student-%u@example.org", i);
        c->specs[i] = (struct user_spec){
            .email = c->emails[i], .groups = course, .group_count = 1, .expires_s = 4000000000};
    }
    c->bad = 77777;
    return c;
}

static void course_make(struct fixture *f)
{
    struct group g;

    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
}

static int batch(struct fixture *f, struct class *c, bool is_rehearsal)
{
    return user_create_batch(f->reg, c->specs, COUNT, is_rehearsal, taken_none, NULL, c->users,
                             c->verdicts, &c->bad);
}

struct traces {
    struct registry_counts counts;
    struct stat index, ledger;
};

static struct traces traces_of(struct fixture *f)
{
    struct traces t;

    assert_int_equal(registry_count(f->reg, &t.counts), 0);
    assert_int_equal(stat(path_of(f, INDEX_DIR_NAME "/" INDEX_FILE_NAME), &t.index), 0);
    assert_int_equal(stat(path_of(f, "ledger/issued"), &t.ledger), 0);
    return t;
}

static void nothing_happened(struct fixture *f, const struct traces *before)
{
    struct traces now = traces_of(f);

    assert_true(counts_equal(&before->counts, &now.counts));
    assert_int_equal(before->index.st_ino, now.index.st_ino);
    assert_int_equal(before->ledger.st_size, now.ledger.st_size);
    assert_true(index_agrees(f->dir, f->reg));
}

static void class_is_created_and_published_once(void **state)
{
    struct fixture *f = *state;
    struct class *c = class_make();
    struct registry_counts before, after;
    struct user u;

    course_make(f);
    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(batch(f, c, false), 0);
    assert_int_equal(c->bad, COUNT);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_int_equal(after.generation, before.generation + 1);
    assert_int_equal(after.users, COUNT);
    assert_true(index_agrees(f->dir, f->reg));
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(c->verdicts[i], USER_CREATED);
        assert_int_equal(user_by_email(f->reg, c->emails[i], &u), 0);
        assert_memory_equal(&u, &c->users[i], sizeof(u));
        assert_int_equal(u.uid, ID_ALLOC_MIN + 2 + i);
        assert_int_equal(u.expires_s, 4000000000);
        assert_true(index_has_user(f->dir, u.uid, u.name));
    }
    assert_string_equal(c->users[0].name, "student");
    assert_string_equal(c->users[1].name, "student2");
    assert_string_equal(c->users[COUNT - 1].name, "stude500");
    /* Again: they are all there, and nothing is published. */
    before = after;
    assert_int_equal(batch(f, c, false), 0);
    assert_int_equal(c->bad, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(c->verdicts[i], USER_EXISTED);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    fixture_close(f);
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    free(c);
}

/* In the middle, at the beginning, at the end. */
static void bad_row_undoes_all_of_them(void **state)
{
    static const char *const nobodys[] = {"nobodys"};
    static const struct {
        struct user_spec spec;
        enum user_verdict verdict;
    } cases[] = {
        {{.email = "no address"}, USER_EMAIL_INVALID},
        {{.name = "Bad Name"}, USER_NAME_INVALID},
        {{.name = "docker"}, USER_NAME_RESERVED},
        {{.name = "ada"}, USER_NAME_TAKEN},
        {{.name = "course-a"}, USER_NAME_TAKEN},
        {{.external_id = "a\nb"}, USER_EXTERNAL_ID_INVALID},
        {{.email = "ada@example.org", .external_id = "karls"}, USER_CONFLICT},
        {{.name = "late", .groups = nobodys, .group_count = 1}, USER_NO_GROUP},
        {{.email = "ada@example.org", .groups = nobodys, .group_count = 1}, USER_NO_GROUP},
        {{.name = "late", .uid = 9999}, USER_UID_INVALID},
        {{.name = "late", .uid = 10000}, USER_UID_TAKEN},
        {{.name = "late", .comment = "a:b"}, USER_COMMENT_INVALID},
        {{.name = "late", .shell = "sh"}, USER_SHELL_INVALID},
    };
    static const size_t places[] = {COUNT / 2, 0, COUNT - 1};
    struct fixture *f = *state;
    struct user_spec karl = {.name = "karl", .external_id = "karls"};
    struct class *c = class_make();
    struct traces before;
    struct user u;

    course_make(f);
    (void)user_new(f, "ada@example.org");
    assert_int_equal(user_try(f, &karl, &u), USER_CREATED);
    before = traces_of(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t place = places[i % 3];
        struct user_spec good = c->specs[place];

        c->specs[place] = cases[i].spec;
        assert_int_equal(batch(f, c, i % 2 == 1), 0);
        if (c->bad != place || c->verdicts[place] != cases[i].verdict)
            fail_msg("case %zu: row %zu, verdict %d", i, c->bad, c->verdicts[c->bad]);
        nothing_happened(f, &before);
        assert_int_equal(user_by_email(f->reg, c->emails[place == 0 ? 1 : 0], &u), -ENOENT);
        c->specs[place] = good;
    }
    assert_int_equal(batch(f, c, false), 0);
    assert_int_equal(c->bad, COUNT);
    assert_int_equal(c->users[0].uid, 10004); /* none of it cost an id */
    free(c);
}

static void rehearsal_says_what_would_be(void **state)
{
    struct fixture *f = *state;
    struct class *c = class_make(), *real = class_make();
    struct traces before;

    course_make(f);
    before = traces_of(f);
    assert_int_equal(batch(f, c, true), 0);
    assert_int_equal(c->bad, COUNT);
    nothing_happened(f, &before);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(batch(f, real, false), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(c->verdicts[i], USER_CREATED);
        assert_int_equal(c->users[i].uid, real->users[i].uid);
        assert_string_equal(c->users[i].name, real->users[i].name);
    }
    free(c);
    free(real);
}

static void who_exists_gets_groups_expiry_and_key(void **state)
{
    struct fixture *f = *state;
    struct user ada = user_new(f, "ada@example.org"), karl = user_new(f, "karl@example.org"), u;
    const struct user_spec specs[] = {
        {.email = "ada@example.org", .groups = course, .group_count = 1, .expires_s = EXPIRY_KEEP},
        {.email = "karl@example.org", .external_id = "k", .owner_uid = 33, .expires_s = 4000000000},
        {.email = "new@example.org", .expires_s = EXPIRY_KEEP},
        {.email = "NEW@example.org", .expires_s = 4000000001}, /* the row before */
    };
    enum user_verdict verdicts[4];
    struct user users[4];
    char key[EXTERNAL_ID_SIZE];
    bool may = false;
    struct caller caller = {.group_count = 1};
    size_t bad = 0;

    course_make(f);
    assert_int_equal(group_by_name(f->reg, "course-a", &caller.groups[0]), 0);
    assert_int_equal(user_set_expiry(f->reg, ada.uid, 4000000002), 0);
    assert_int_equal(
        user_create_batch(f->reg, specs, 4, false, taken_none, NULL, users, verdicts, &bad), 0);
    assert_int_equal(bad, 4);
    assert_int_equal(verdicts[0], USER_EXISTED);
    assert_int_equal(users[0].uid, ada.uid);
    assert_int_equal(users[0].expires_s, 4000000002);
    assert_int_equal(caller_may_act_for(f->reg, &caller, ada.uid, &may), 0);
    assert_true(may);
    assert_int_equal(verdicts[1], USER_EXISTED);
    assert_int_equal(users[1].expires_s, 4000000000);
    assert_int_equal(user_external_id(f->reg, 33, karl.uid, key), 0);
    assert_string_equal(key, "k");
    assert_int_equal(verdicts[2], USER_CREATED);
    assert_int_equal(verdicts[3], USER_EXISTED);
    assert_int_equal(users[3].uid, users[2].uid);
    assert_int_equal(user_by_uid(f->reg, users[2].uid, &u), 0);
    assert_int_equal(u.expires_s, 4000000001);
    assert_true(index_agrees(f->dir, f->reg));
}

struct host {
    unsigned asked_last;
    int answer_last;
};

static int host_asked(void *arg, const char *name, uint32_t id)
{
    struct host *h = arg;

    if (name || id != 0)
        return 0;
    h->asked_last++;
    return h->answer_last;
}

static void host_is_asked_once_more_before_commit(void **state)
{
    struct fixture *f = *state;
    struct class *c = class_make();
    struct host host = {.answer_last = -ETIMEDOUT};
    struct traces before;

    course_make(f);
    before = traces_of(f);
    assert_int_equal(user_create_batch(f->reg, c->specs, COUNT, false, host_asked, &host, c->users,
                                       c->verdicts, &c->bad),
                     -ETIMEDOUT);
    assert_int_equal(host.asked_last, 1);
    assert_int_equal(c->bad, 77777);
    nothing_happened(f, &before);
    host.answer_last = 0;
    assert_int_equal(user_create_batch(f->reg, c->specs, COUNT, false, host_asked, &host, c->users,
                                       c->verdicts, &c->bad),
                     0);
    assert_int_equal(host.asked_last, 2);
    assert_int_equal(c->bad, COUNT);
    free(c);
}

/* --- names that many want -------------------------------------------------------------------- */

#define MANY  600u
#define STEMS 3u

/* A host where the first of these names are taken. */
struct crowd {
    unsigned asked; /* for names */
};

static int crowd_taken(void *arg, const char *name, uint32_t id)
{
    struct crowd *crowd = arg;
    size_t len = name ? strcspn(name, "0123456789") : 0;
    unsigned long n;

    (void)id;
    if (!name)
        return 0;
    crowd->asked++;
    n = strtoul(name + len, NULL, 10);
    return n < 900 &&
           (strncmp(name, "info", len) == 0 || strncmp(name, "kontaktanfrage", len) == 0);
}

/*
 * Rows of three stems in turn, two of which are cut to the same names: nobody is asked twice for a
 * name. Were the search to begin anew for each row, it would ask half a million times.
 */
static void name_is_looked_for_once_in_a_batch(void **state)
{
    static const char *const stems[STEMS] = {"info", "kontakta", "kontaktb"};
    struct fixture *f = *state;
    struct user_spec *specs = calloc(MANY, sizeof(*specs));
    struct user *users = calloc(MANY, sizeof(*users));
    enum user_verdict *verdicts = calloc(MANY, sizeof(*verdicts));
    char(*emails)[48] = calloc(MANY, sizeof(*emails));
    struct crowd crowd = {0};
    size_t bad = 0;

    assert_true(specs && users && verdicts && emails);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(emails[i], sizeof(emails[i]), "%s@h%u.example.org", stems[i % STEMS], i);
        specs[i].email = emails[i];
    }
    for (int again = 0; again < 2; again++) {
        crowd.asked = 0;
        assert_int_equal(user_create_batch(f->reg, specs, MANY, again == 0, crowd_taken, &crowd,
                                           users, verdicts, &bad),
                         0);
        assert_int_equal(bad, MANY);
        if (crowd.asked > 3 * 1000 + MANY)
            fail_msg("asked for %u names", crowd.asked);
    }
    assert_string_equal(users[0].name, "info900");
    assert_string_equal(users[3].name, "info901");
    assert_string_equal(users[1].name, "konta900");
    assert_string_equal(users[2].name, "kontaktb");
    assert_string_equal(users[4].name, "konta901");
    assert_string_equal(users[5].name, "konta902");
    assert_true(index_agrees(f->dir, f->reg));
    free(specs);
    free(users);
    free(verdicts);
    free(emails);
}

static void batch_that_is_none_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct user_spec empty = {0}, odd = {.name = "maria", .expires_s = -2};
    struct class *c = class_make();

    assert_int_equal(user_create_batch(f->reg, NULL, USER_BATCH_MAX + 1, false, taken_none, NULL,
                                       NULL, NULL, &c->bad),
                     -E2BIG);
    assert_int_equal(user_create_batch(f->reg, &empty, 1, false, taken_none, NULL, c->users,
                                       c->verdicts, &c->bad),
                     -EINVAL);
    assert_int_equal(
        user_create_batch(f->reg, &odd, 1, false, taken_none, NULL, c->users, c->verdicts, &c->bad),
        -EINVAL);
    assert_int_equal(
        user_create_batch(f->reg, NULL, 0, false, taken_none, NULL, NULL, NULL, &c->bad), 0);
    assert_int_equal(c->bad, 0);
    free(c);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(class_is_created_and_published_once),
        REGISTRY_TEST(bad_row_undoes_all_of_them),
        REGISTRY_TEST(rehearsal_says_what_would_be),
        REGISTRY_TEST(who_exists_gets_groups_expiry_and_key),
        REGISTRY_TEST(host_is_asked_once_more_before_commit),
        REGISTRY_TEST(name_is_looked_for_once_in_a_batch),
        REGISTRY_TEST(batch_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

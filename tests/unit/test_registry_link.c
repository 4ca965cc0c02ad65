/* SPDX-License-Identifier: ISC */
/* test_registry_link.c - links: every condition of their one use, and what is kept of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define NOW_S  1800000000
#define LISTED 70u

static bool link_is_same(const struct link *a, const struct link *b)
{
    return strcmp(a->link_id, b->link_id) == 0 && strcmp(a->name, b->name) == 0 &&
           a->uid == b->uid && a->caller_uid == b->caller_uid && a->purpose == b->purpose &&
           a->created_s == b->created_s && a->expires_s == b->expires_s && a->used_s == b->used_s &&
           a->revoked_s == b->revoked_s;
}

static struct user maria_with_link(struct fixture *f, enum link_purpose purpose)
{
    struct user u = user_new(f, "maria@example.org");

    assert_int_equal(link_store(f->reg, 1, u.uid, purpose), 0);
    return u;
}

/* Refused, and the link is as before. */
static void refused(struct fixture *f, const char *name, int64_t now_s)
{
    struct link before = link_of(f->reg, 1), after;

    assert_int_equal(link_try(f->reg, 1, 't', name, now_s), LINK_REFUSED);
    assert_int_equal(link_try(f->reg, 1, 'c', name, now_s), LINK_REFUSED);
    after = link_of(f->reg, 1);
    assert_true(link_is_same(&before, &after));
}

/* The positive control of each refusal: the same link, without what stood in the way. */
static void accepted(struct fixture *f, const char *name, int64_t now_s)
{
    assert_int_equal(link_try(f->reg, 1, 't', name, now_s), LINK_ACCEPTED);
    assert_int_equal(link_of(f->reg, 1).used_s, now_s);
}

static void link_is_stored_and_read(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_WEB);
    struct link link;

    fixture_close(f);
    fixture_open(f);
    link = link_of(f->reg, 1);
    assert_string_equal(link.link_id, "0000000000000001");
    assert_string_equal(link.name, "maria");
    assert_int_equal(link.uid, u.uid);
    assert_int_equal(link.caller_uid, 33);
    assert_int_equal(link.purpose, LINK_PURPOSE_WEB);
    assert_int_equal(link.created_s, LINK_MADE_S);
    assert_int_equal(link.expires_s, LINK_OVER_S);
    assert_int_equal(link.used_s, 0);
    assert_int_equal(link.revoked_s, 0);
    assert_int_equal(link_get(f->reg, "0000000000000002", &link), -ENOENT);
    assert_int_equal(link_get(f->reg, "000000000000000", &link), -ENOENT);
    assert_int_equal(link_get(f->reg, "000000000000000G", &link), -ENOENT);
    assert_int_equal(link_get(f->reg, "00000000000000001", &link), -ENOENT);
}

/* Whichever form comes first, the other one is used up with it. */
static void use_of_one_form_uses_up_both(void **state)
{
    static const char forms[] = {'t', 'c'};
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");

    for (unsigned first = 0; first < 2; first++) {
        unsigned n = 10 + first;

        assert_int_equal(link_store(f->reg, n, u.uid, LINK_PURPOSE_ANY), 0);
        assert_int_equal(link_try(f->reg, n, forms[first], "maria", NOW_S), LINK_ACCEPTED);
        assert_int_equal(link_try(f->reg, n, forms[1 - first], "maria", NOW_S), LINK_REFUSED);
        assert_int_equal(link_try(f->reg, n, forms[first], "maria", NOW_S), LINK_REFUSED);
        assert_int_equal(link_of(f->reg, n).used_s, NOW_S);
    }
}

static void twenty_tries_give_one_success(void **state)
{
    struct fixture *f = *state;
    unsigned n = 0;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    for (unsigned i = 0; i < 20; i++)
        n += link_try(f->reg, 1, i % 2 ? 'c' : 't', "maria", NOW_S + i) == LINK_ACCEPTED;
    assert_int_equal(n, 1);
    assert_int_equal(link_of(f->reg, 1).used_s, NOW_S);
}

static void answer_tells_the_link_and_activates_its_user(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_ANY), other = user_new(f, "ada@example.org");
    enum link_verdict verdict = LINK_REFUSED;
    struct registry_counts before, after;
    struct link link = {.uid = 7}, stored;
    uint8_t hash[LINK_HASH_SIZE];

    assert_int_equal(registry_count(f->reg, &before), 0);
    hash_make(1, 'c', hash);
    assert_int_equal(link_consume(f->reg, hash, "ada", LINK_PURPOSE_WEB, NOW_S, &link, &verdict),
                     0);
    assert_int_equal(verdict, LINK_REFUSED);
    assert_int_equal(link.uid, 7); /* untouched */
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_RESERVED);
    assert_int_equal(link_consume(f->reg, hash, "maria", LINK_PURPOSE_WEB, NOW_S, &link, &verdict),
                     0);
    assert_int_equal(verdict, LINK_ACCEPTED);
    stored = link_of(f->reg, 1);
    assert_true(link_is_same(&link, &stored));
    assert_int_equal(link.used_s, NOW_S);
    assert_string_equal(link.name, "maria");
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_ACTIVE);
    assert_int_equal(user_by_uid(f->reg, other.uid, &other), 0);
    assert_int_equal(other.state, USER_STATE_RESERVED);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_int_equal(before.generation, after.generation); /* NSS sees nothing of it */
}

static void used_link_stays_used_after_reopening(void **state)
{
    struct fixture *f = *state;
    struct user u;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    fixture_close(f);
    fixture_open(f);
    accepted(f, "maria", NOW_S);
    fixture_close(f);
    fixture_open(f);
    refused(f, "maria", NOW_S + 1);
    assert_int_equal(user_by_name(f->reg, "maria", &u), 0);
    assert_int_equal(u.state, USER_STATE_ACTIVE);
}

static void wrong_secret_is_refused(void **state)
{
    struct fixture *f = *state;
    enum link_verdict verdict = LINK_ACCEPTED;
    uint8_t hash[LINK_HASH_SIZE];
    struct link link;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    hash_make(1, 't', hash);
    for (unsigned bit = 0; bit < 8 * LINK_HASH_SIZE; bit += 51) {
        hash[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(
            link_consume(f->reg, hash, "maria", LINK_PURPOSE_SSH, NOW_S, &link, &verdict), 0);
        assert_int_equal(verdict, LINK_REFUSED);
        hash[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    accepted(f, "maria", NOW_S);
}

static void link_is_good_for_its_user_alone(void **state)
{
    static const char *const names[] = {
        "ada",    "nobody-has-this",
        "",       "Maria",
        "MARIA",  " maria",
        "maria ", "maria\n",
        "marie",  "mari",
        "m%",     "a-name-that-is-much-longer-than-any-name-may-be-and-goes-on-and-on",
        NULL,
    };
    struct fixture *f = *state;

    (void)user_new(f, "ada@example.org");
    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        refused(f, names[i], NOW_S);
    accepted(f, "maria", NOW_S);
}

static void link_is_over_at_its_expiry(void **state)
{
    struct fixture *f = *state;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    refused(f, "maria", LINK_OVER_S + 1);
    refused(f, "maria", LINK_OVER_S);
    accepted(f, "maria", LINK_OVER_S - 1);
}

static void clock_set_back_opens_nothing_again(void **state)
{
    static const int64_t times[] = {NOW_S - 1, LINK_MADE_S, LINK_MADE_S - 1, 1};
    struct fixture *f = *state;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    assert_int_equal(link_try(f->reg, 1, 't', "maria", 0), -EINVAL);
    assert_int_equal(link_try(f->reg, 1, 't', "maria", -NOW_S), -EINVAL);
    assert_int_equal(link_of(f->reg, 1).used_s, 0);
    accepted(f, "maria", NOW_S);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        refused(f, "maria", times[i]);
}

static void link_opens_the_doors_of_its_purpose(void **state)
{
    static const struct {
        enum link_purpose purpose;
        enum link_purpose door;
        enum link_verdict expected;
    } cases[] = {
        {LINK_PURPOSE_SSH, LINK_PURPOSE_SSH, LINK_ACCEPTED},
        {LINK_PURPOSE_SSH, LINK_PURPOSE_WEB, LINK_REFUSED},
        {LINK_PURPOSE_WEB, LINK_PURPOSE_SSH, LINK_REFUSED},
        {LINK_PURPOSE_WEB, LINK_PURPOSE_WEB, LINK_ACCEPTED},
        {LINK_PURPOSE_ANY, LINK_PURPOSE_SSH, LINK_ACCEPTED},
        {LINK_PURPOSE_ANY, LINK_PURPOSE_WEB, LINK_ACCEPTED},
    };
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    enum link_verdict verdict;
    uint8_t hash[LINK_HASH_SIZE];
    struct link link;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(link_store(f->reg, i, u.uid, cases[i].purpose), 0);
        hash_make(i, i % 2 ? 'c' : 't', hash);
        assert_int_equal(link_consume(f->reg, hash, "maria", cases[i].door, NOW_S, &link, &verdict),
                         0);
        assert_int_equal(verdict, cases[i].expected);
        assert_int_equal(link_of(f->reg, i).used_s, verdict == LINK_ACCEPTED ? NOW_S : 0);
    }
    /* "any" is a purpose of links and no door, not even for links of that purpose. */
    assert_int_equal(link_store(f->reg, 99, u.uid, LINK_PURPOSE_ANY), 0);
    hash_make(99, 't', hash);
    assert_int_equal(link_consume(f->reg, hash, "maria", LINK_PURPOSE_ANY, NOW_S, &link, &verdict),
                     -EINVAL);
    assert_int_equal(
        link_consume(f->reg, hash, "maria", LINK_PURPOSE__COUNT, NOW_S, &link, &verdict), -EINVAL);
    assert_int_equal(link_of(f->reg, 99).used_s, 0);
    assert_int_equal(link_try(f->reg, 99, 't', "maria", NOW_S), LINK_ACCEPTED);
}

static void revoked_link_is_refused(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_SSH);

    assert_int_equal(link_store(f->reg, 2, u.uid, LINK_PURPOSE_SSH), 0);
    assert_int_equal(link_revoke(f->reg, "0000000000000001", 0), -EINVAL);
    assert_int_equal(link_revoke(f->reg, "0000000000000001", NOW_S), 0);
    assert_int_equal(link_of(f->reg, 1).revoked_s, NOW_S);
    refused(f, "maria", NOW_S + 1);
    refused(f, "maria", NOW_S - 1);
    fixture_close(f);
    fixture_open(f);
    refused(f, "maria", NOW_S + 1);
    assert_int_equal(link_revoke(f->reg, "0000000000000001", NOW_S + 5), 0);
    assert_int_equal(link_of(f->reg, 1).revoked_s, NOW_S); /* the first time stays */
    assert_int_equal(link_try(f->reg, 2, 't', "maria", NOW_S), LINK_ACCEPTED);
    assert_int_equal(link_revoke(f->reg, "0000000000000002", NOW_S + 5), 0);
    assert_int_equal(link_of(f->reg, 2).revoked_s, 0); /* used is used */
    assert_int_equal(link_of(f->reg, 2).used_s, NOW_S);
    assert_int_equal(link_revoke(f->reg, "0000000000000003", NOW_S), -ENOENT);
    assert_int_equal(link_revoke(f->reg, "1", NOW_S), -ENOENT);
}

static void caller_that_is_deleted_leaves_no_open_link(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    struct caller c = {.uid = 44, .created_s = NOW_S};
    uint8_t token[LINK_HASH_SIZE], code[LINK_HASH_SIZE];
    struct link link = {.uid = u.uid,
                        .caller_uid = 44,
                        .purpose = LINK_PURPOSE_ANY,
                        .created_s = NOW_S,
                        .expires_s = NOW_S + 3600,
                        .link_id = "00000000000000aa"};

    memset(token, 0xa1, sizeof(token));
    memset(code, 0xa2, sizeof(code));
    assert_int_equal(caller_put(f->reg, &c), 0);
    assert_int_equal(link_add(f->reg, &link, token, code), 0);
    assert_int_equal(link_store(f->reg, 1, u.uid, LINK_PURPOSE_SSH), 0);
    assert_int_equal(caller_del(f->reg, 44), 0);
    assert_int_equal(link_get(f->reg, "00000000000000aa", &link), 0);
    assert_true(link.revoked_s > 0);
    assert_int_equal(link_of(f->reg, 1).revoked_s, 0);
    accepted(f, "maria", NOW_S);
}

static void locked_user_gets_in_by_no_link(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_SSH);

    assert_int_equal(user_lock(f->reg, u.uid, true), 0);
    refused(f, "maria", NOW_S);
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_LOCKED);
    assert_int_equal(user_lock(f->reg, u.uid, false), 0);
    accepted(f, "maria", NOW_S);
}

static void expired_user_gets_in_by_no_link(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_SSH);

    assert_int_equal(user_set_expiry(f->reg, u.uid, NOW_S), 0);
    refused(f, "maria", NOW_S + 1);
    refused(f, "maria", NOW_S);
    accepted(f, "maria", NOW_S - 1);
}

/* Nothing of ours stores these two yet: what would, must not open a door by accident. */
static void deleted_user_gets_in_by_no_link(void **state)
{
    struct fixture *f = *state;

    (void)maria_with_link(f, LINK_PURPOSE_SSH);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted'");
    fixture_open(f);
    refused(f, "maria", NOW_S);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'expired'");
    fixture_open(f);
    refused(f, "maria", NOW_S);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'active'");
    fixture_open(f);
    accepted(f, "maria", NOW_S);
}

static void bad_links_are_refused(void **state)
{
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_SSH);
    const struct link good = {.link_id = "0123456789abcdef",
                              .uid = u.uid,
                              .purpose = LINK_PURPOSE_ANY,
                              .created_s = LINK_MADE_S,
                              .expires_s = LINK_MADE_S + 1,
                              .used_s = NOW_S,
                              .revoked_s = NOW_S};
    uint8_t token[LINK_HASH_SIZE], code[LINK_HASH_SIZE], old_token[LINK_HASH_SIZE],
        old_code[LINK_HASH_SIZE];
    struct link link;

    hash_make(1, 't', old_token);
    hash_make(1, 'c', old_code);
    hash_make(2, 't', token);
    hash_make(2, 'c', code);
    link = good;
    link.link_id[3] = 'X';
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.link_id[15] = '\0';
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.purpose = LINK_PURPOSE__COUNT;
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.expires_s = link.created_s;
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.created_s = 0;
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.caller_uid = UINT32_MAX; /* by the database */
    assert_int_equal(link_add(f->reg, &link, token, code), -EINVAL);
    link = good;
    link.uid = u.uid + 1;
    assert_int_equal(link_add(f->reg, &link, token, code), -ENOENT);
    link = good;
    (void)snprintf(link.link_id, sizeof(link.link_id), "%016x", 1u);
    assert_int_equal(link_add(f->reg, &link, token, code), -EEXIST);
    assert_int_equal(link_add(f->reg, &good, old_token, code), -EEXIST);
    assert_int_equal(link_add(f->reg, &good, token, old_code), -EEXIST);
    assert_int_equal(link_add(f->reg, &good, old_code, code), -EEXIST);
    assert_int_equal(link_add(f->reg, &good, token, old_token), -EEXIST);
    assert_int_equal(link_add(f->reg, &good, token, token), -EEXIST);
    assert_null(strstr(registry_error(f->reg), "hash-of-a-secret"));
    assert_int_equal(link_get(f->reg, good.link_id, &link), -ENOENT); /* nothing was kept */
    assert_int_equal(link_add(f->reg, &good, token, code), 0);
    assert_int_equal(link_get(f->reg, good.link_id, &link), 0);
    assert_int_equal(link.used_s, 0);
    assert_int_equal(link.revoked_s, 0);
}

/* Blobs as the fixture makes them. */
#define OLD_TOKEN "CAST('hash-of-a-secret-t-0000000000001' AS BLOB)"
#define OLD_CODE  "CAST('hash-of-a-secret-c-0000000000001' AS BLOB)"
#define NEW_HASH  "zeroblob(32)"
#define LINK_ROW(verb, id, token, code)                                                            \
    verb " INTO links VALUES ('" id "', 10001, 0, 'any', " token ", " code ", 1, 2, 0, 0)"

static void tables_refuse_to_open_a_link_again(void **state)
{
    static const char *const bad[] = {
        "UPDATE links SET used_s = 0 WHERE used_s <> 0",
        "UPDATE links SET used_s = used_s + 1 WHERE used_s <> 0",
        "UPDATE links SET used_s = used_s WHERE used_s <> 0",
        "UPDATE links SET revoked_s = revoked_s WHERE revoked_s <> 0",
        "UPDATE links SET revoked_s = 0 WHERE revoked_s <> 0",
        "UPDATE links SET used_s = 5 WHERE revoked_s <> 0",
        "UPDATE links SET used_s = -1",
        "UPDATE links SET used_s = NULL",
        "UPDATE links SET expires_s = expires_s + 1",
        "UPDATE links SET created_s = created_s + 1",
        "UPDATE links SET uid = 10002",
        "UPDATE links SET caller_uid = 0",
        "UPDATE links SET purpose = 'any'",
        "UPDATE links SET token_hash = randomblob(32)",
        "UPDATE links SET code_hash = randomblob(32)",
        "UPDATE OR REPLACE links SET token_hash = randomblob(32)",
        "UPDATE links SET link_id = 'f' || substr(link_id, 2)",
        LINK_ROW("INSERT", "ff", OLD_TOKEN, NEW_HASH),
        LINK_ROW("INSERT", "ff", NEW_HASH, OLD_CODE),
        LINK_ROW("INSERT", "ff", OLD_CODE, NEW_HASH),
        LINK_ROW("INSERT", "ff", NEW_HASH, OLD_TOKEN),
        LINK_ROW("REPLACE", "ff", OLD_TOKEN, NEW_HASH),
        LINK_ROW("REPLACE", "0000000000000001", OLD_TOKEN, OLD_CODE),
        LINK_ROW("REPLACE", "0000000000000001", NEW_HASH, "randomblob(32)"),
        LINK_ROW("INSERT", "ff", NEW_HASH, NEW_HASH),
        LINK_ROW("INSERT", "ff", "zeroblob(31)", NEW_HASH),
        LINK_ROW("INSERT", "ff", "zeroblob(33)", NEW_HASH),
        "INSERT INTO links VALUES ('ff', 10001, 0, 'all', zeroblob(32), randomblob(32), 1, 2, 0,"
        " 0)",
        "PRAGMA foreign_keys = ON;"
        "INSERT INTO links VALUES ('ff', 10999, 0, 'any', zeroblob(32), randomblob(32), 1, 2, 0,"
        " 0)",
    };
    struct fixture *f = *state;
    struct user u = maria_with_link(f, LINK_PURPOSE_SSH);
    int64_t v = 0;

    assert_int_equal(link_store(f->reg, 2, u.uid, LINK_PURPOSE_SSH), 0);
    assert_int_equal(link_store(f->reg, 3, u.uid, LINK_PURPOSE_SSH), 0);
    accepted(f, "maria", NOW_S);
    assert_int_equal(link_revoke(f->reg, "0000000000000002", NOW_S), 0);
    fixture_close(f);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int rc = sql_run(f, bad[i], &v);

        if ((rc & 0xff) != SQLITE_CONSTRAINT)
            fail_msg("%d: %s", rc, bad[i]);
    }
    assert_int_equal(sql_value(f, "SELECT count(*) FROM links"), 3);
    (void)sql_value(f, LINK_ROW("INSERT", "ff", NEW_HASH, "randomblob(32)"));
    (void)sql_value(f, "UPDATE links SET used_s = 5 WHERE link_id = 'ff'");
    (void)sql_value(f, "UPDATE links SET revoked_s = 5 WHERE used_s = 0 AND revoked_s = 0");
    fixture_open(f);
    refused(f, "maria", NOW_S);
}

/* --- listing and forgetting ------------------------------------------------------------------ */

struct listing {
    struct registry *reg;
    unsigned n;
    char ids[LISTED][LINK_ID_SIZE];
};

static int link_note(void *arg, const struct link *link)
{
    struct listing *l = arg;

    if (l->n == LISTED || strcmp(link->name, "maria") != 0)
        return -EPROTO;
    memcpy(l->ids[l->n++], link->link_id, LINK_ID_SIZE);
    /* The registry may be used meanwhile. */
    return link_revoke(l->reg, link->link_id, NOW_S);
}

static int link_stop(void *arg, const struct link *link)
{
    unsigned *n = arg;

    (void)link;
    return ++*n == 3 ? 42 : 0;
}

static void listing_is_newest_first(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    struct listing list = {.reg = f->reg};
    uint8_t token[LINK_HASH_SIZE], code[LINK_HASH_SIZE];
    unsigned n = 0;

    /* Many in the same second, and a last one that a clock set back has made the oldest. */
    for (unsigned i = 1; i < LISTED; i++)
        assert_int_equal(link_store(f->reg, i, u.uid, LINK_PURPOSE_ANY), 0);
    hash_make(LISTED, 't', token);
    hash_make(LISTED, 'c', code);
    assert_int_equal(link_add(f->reg,
                              &(struct link){.link_id = "ffffffffffffffff",
                                             .uid = u.uid,
                                             .created_s = LINK_MADE_S - 1,
                                             .expires_s = LINK_OVER_S},
                              token, code),
                     0);
    assert_int_equal(link_list(f->reg, link_note, &list), 0);
    assert_int_equal(list.n, LISTED);
    for (unsigned i = 0; i + 1 < LISTED; i++) {
        char id[LINK_ID_SIZE];

        (void)snprintf(id, sizeof(id), "%016x", LISTED - 1 - i);
        assert_string_equal(list.ids[i], id);
    }
    assert_string_equal(list.ids[LISTED - 1], "ffffffffffffffff");
    assert_int_equal(link_of(f->reg, 1).revoked_s, NOW_S);
    assert_int_equal(link_list(f->reg, link_stop, &n), 42);
    assert_int_equal(n, 3);
}

static void links_are_forgotten_long_after_their_end(void **state)
{
    static const char old_rows[] =
        "INSERT INTO links VALUES ('a', 10001, 0, 'any', randomblob(32), randomblob(32), 1,"
        "  1700000000 - 90 * 86400 - 1, 0, 0),"
        " ('b', 10001, 0, 'any', randomblob(32), randomblob(32), 1,"
        "  1700000000 - 90 * 86400 - 1, 7, 0),"
        " ('c', 10001, 0, 'any', randomblob(32), randomblob(32), 1,"
        "  1700000000 - 90 * 86400, 0, 0)";
    struct fixture *f = *state;

    (void)maria_with_link(f, LINK_PURPOSE_SSH); /* made at 1700000000 */
    fixture_close(f);
    (void)sql_value(f, old_rows);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM links"), 2);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM links WHERE link_id = 'c'"), 1);
}

/* To such a clock everything is long over, but no link was made in its time. */
static void clock_far_ahead_forgets_nothing(void **state)
{
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    fixture_close(f);
    (void)sql_value(f, "INSERT INTO links VALUES ('a', 10001, 0, 'any', randomblob(32),"
                       " randomblob(32), 1000000000, 1000000900, 0, 0)");
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM links"), 1);
}

static void keys_of_purposes_are_those_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(link_purpose_key(LINK_PURPOSE_ANY), "any");
    assert_string_equal(link_purpose_key(LINK_PURPOSE_SSH), "ssh");
    assert_string_equal(link_purpose_key(LINK_PURPOSE_WEB), "web");
    assert_string_equal(link_purpose_key(LINK_PURPOSE__COUNT), "unknown");
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(link_is_stored_and_read),
        REGISTRY_TEST(use_of_one_form_uses_up_both),
        REGISTRY_TEST(twenty_tries_give_one_success),
        REGISTRY_TEST(answer_tells_the_link_and_activates_its_user),
        REGISTRY_TEST(used_link_stays_used_after_reopening),
        REGISTRY_TEST(wrong_secret_is_refused),
        REGISTRY_TEST(link_is_good_for_its_user_alone),
        REGISTRY_TEST(link_is_over_at_its_expiry),
        REGISTRY_TEST(clock_set_back_opens_nothing_again),
        REGISTRY_TEST(link_opens_the_doors_of_its_purpose),
        REGISTRY_TEST(revoked_link_is_refused),
        REGISTRY_TEST(caller_that_is_deleted_leaves_no_open_link),
        REGISTRY_TEST(locked_user_gets_in_by_no_link),
        REGISTRY_TEST(expired_user_gets_in_by_no_link),
        REGISTRY_TEST(deleted_user_gets_in_by_no_link),
        REGISTRY_TEST(bad_links_are_refused),
        REGISTRY_TEST(tables_refuse_to_open_a_link_again),
        REGISTRY_TEST(listing_is_newest_first),
        REGISTRY_TEST(links_are_forgotten_long_after_their_end),
        REGISTRY_TEST(clock_far_ahead_forgets_nothing),
        REGISTRY_TEST(keys_of_purposes_are_those_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

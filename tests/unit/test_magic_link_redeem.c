/* SPDX-License-Identifier: ISC */
/* test_magic_link_redeem.c - links with a real registry: made, used once, refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "magic-link/key.h"
#include "magic-link/magic_link.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define NOW_S 1796000000

struct scene {
    struct fixture *f;
    struct magic_link *ml;
    struct user alice, ben;
    int64_t now_ms; /* each try is in a minute of its own, unless a test holds the clock */
    bool is_clock_held;
};

/* --- what is asked of the registry ---------------------------------------------------------- */

/* The linker sends the library's calls here: ld(1), --wrap. */
int __real_link_consume(struct registry *reg, const uint8_t *hash, const char *name,
                        enum link_purpose door, int64_t now_s, struct link *ret_link,
                        enum link_verdict *ret_verdict);
int __wrap_link_consume(struct registry *reg, const uint8_t *hash, const char *name,
                        enum link_purpose door, int64_t now_s, struct link *ret_link,
                        enum link_verdict *ret_verdict);

static struct {
    unsigned calls;
    uint8_t hash[LINK_HASH_SIZE]; /* of the last one */
    int error;                    /* to be returned instead of asking */
} asked;

int __wrap_link_consume(struct registry *reg, const uint8_t *hash, const char *name,
                        enum link_purpose door, int64_t now_s, struct link *ret_link,
                        enum link_verdict *ret_verdict)
{
    asked.calls++;
    memcpy(asked.hash, hash, sizeof(asked.hash));
    if (asked.error < 0)
        return asked.error;
    return __real_link_consume(reg, hash, name, door, now_s, ret_link, ret_verdict);
}

/* --- the scene ----------------------------------------------------------------------------- */

static int scene_setup(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    void *fixture = NULL;

    if (!s || fixture_setup(&fixture) != 0)
        return -1;
    s->f = fixture;
    if (magic_link_open(s->f->dir, &s->ml) < 0)
        return -1;
    memset(&asked, 0, sizeof(asked));
    *state = s;
    s->alice = user_new(s->f, "alice@example.org");
    s->ben = user_new(s->f, "ben@example.org");
    return 0;
}

static int scene_teardown(void **state)
{
    struct scene *s = *state;
    void *fixture = s->f;

    magic_link_close(s->ml);
    free(s);
    return fixture_teardown(&fixture);
}

static struct minted mint(struct scene *s, enum link_purpose purpose)
{
    struct minted minted;

    assert_int_equal(
        magic_link_mint(s->ml, s->f->reg, s->alice.uid, purpose, LINK_LOGIN_S, 990, NOW_S, &minted),
        0);
    return minted;
}

struct
try {
    const char *name, *typed, *rhost;
    enum link_purpose door;
    int64_t now_s;
};

static enum magic_link_verdict try_n(struct scene *s, const struct try *t, size_t size,
                                     struct link *ret_link)
{
    enum magic_link_verdict verdict = MAGIC_LINK_THROTTLED;

    if (!s->is_clock_held)
        s->now_ms += 60 * 1000;
    assert_int_equal(magic_link_redeem(s->ml, s->f->reg, t->name, t->typed, size,
                                       t->rhost ? t->rhost : "", t->door, t->now_s, s->now_ms,
                                       ret_link, &verdict),
                     0);
    return verdict;
}

static enum magic_link_verdict try_by(struct scene *s, const char *name, const char *typed,
                                      enum link_purpose door, int64_t now_s)
{
    struct try t = {.name = name, .typed = typed, .door = door, .now_s = now_s};
    struct link link = {0};

    return try_n(s, &t, strlen(typed), &link);
}

static enum magic_link_verdict try_ssh(struct scene *s, const char *name, const char *typed)
{
    return try_by(s, name, typed, LINK_PURPOSE_SSH, NOW_S + 1);
}

/* Both forms still work: nothing that was tried before touched the link. */
static void is_unused(struct scene *s, const struct minted *minted)
{
    struct link link;

    assert_int_equal(link_get(s->f->reg, minted->link.link_id, &link), 0);
    assert_int_equal(link.used_s, 0);
    assert_int_equal(try_ssh(s, "alice", minted->code), MAGIC_LINK_ACCEPTED);
}

/* --- mint ---------------------------------------------------------------------------------- */

static void a_minted_link_is_in_the_registry_without_its_secrets(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_WEB), other = mint(s, LINK_PURPOSE_WEB);
    struct link link;
    char *bytes = malloc(8 << 20);
    size_t n = 0;

    assert_string_not_equal(minted.token, other.token);
    assert_string_not_equal(minted.code, other.code);
    assert_string_not_equal(minted.link.link_id, other.link.link_id);
    assert_int_equal(link_get(s->f->reg, minted.link.link_id, &link), 0);
    assert_int_equal(link.uid, s->alice.uid);
    assert_int_equal(link.purpose, LINK_PURPOSE_WEB);
    assert_int_equal(link.caller_uid, 990);
    assert_int_equal(link.created_s, NOW_S);
    assert_int_equal(link.expires_s, NOW_S + LINK_LOGIN_S);
    assert_string_equal(link.name, "alice");
    assert_string_equal(minted.link.name, "alice");

    /* The id is there to be found: that is how we know that we look at the right bytes. */
    fixture_close(s->f);
    {
        int fd = open(path_of(s->f, "registry/registry.db"), O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_non_null(bytes);
        assert_int_equal(fd_read_full(fd, bytes, 8 << 20, &n), 0);
        (void)close(fd);
    }
    assert_non_null(memmem(bytes, n, minted.link.link_id, LINK_ID_SIZE - 1));
    assert_null(memmem(bytes, n, minted.token, 20));
    assert_null(memmem(bytes, n, minted.token + 4, 20));
    assert_null(memmem(bytes, n, minted.code, 4));
    free(bytes);
    fixture_open(s->f);
    minted_wipe(&minted);
    assert_int_equal(minted.token[0], '\0');
    assert_int_equal(minted.code[CODE_TEXT_SIZE - 2], '\0');
}

static void links_that_live_too_long_or_belong_to_nobody_are_not_minted(void **state)
{
    static const int64_t wrong_s[] = {0, -1, LINK_VALID_S_MAX + 1, INT64_MAX, INT64_MIN};
    struct scene *s = *state;
    struct minted minted = {.code = "untouched"};

    for (size_t i = 0; i < sizeof(wrong_s) / sizeof(wrong_s[0]); i++)
        assert_int_equal(magic_link_mint(s->ml, s->f->reg, s->alice.uid, LINK_PURPOSE_ANY,
                                         wrong_s[i], 0, NOW_S, &minted),
                         -ERANGE);
    assert_int_equal(
        magic_link_mint(s->ml, s->f->reg, 49999, LINK_PURPOSE_ANY, 60, 0, NOW_S, &minted), -ENOENT);
    assert_string_equal(minted.code, "untouched");
    assert_int_equal(magic_link_mint(s->ml, s->f->reg, s->alice.uid, LINK_PURPOSE_ANY,
                                     LINK_VALID_S_MAX, 0, NOW_S, &minted),
                     0);
    assert_int_equal(
        magic_link_mint(s->ml, s->f->reg, s->alice.uid, LINK_PURPOSE_ANY, 1, 0, NOW_S, &minted), 0);
}

/* --- redeem -------------------------------------------------------------------------------- */

static void a_token_is_refused_after_use_and_so_is_its_code(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);
    struct try t = {.name = "alice", .typed = minted.token, .door = LINK_PURPOSE_SSH, NOW_S + 1};
    struct link link = {0};

    assert_int_equal(try_n(s, &t, strlen(t.typed), &link), MAGIC_LINK_ACCEPTED);
    assert_string_equal(link.link_id, minted.link.link_id);
    assert_int_equal(link.uid, s->alice.uid);
    assert_int_equal(link.used_s, NOW_S + 1);
    assert_int_equal(try_ssh(s, "alice", minted.token), MAGIC_LINK_REFUSED);
    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_REFUSED);
}

static void a_code_is_refused_after_use_and_so_is_its_token(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_ACCEPTED);
    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_REFUSED);
    assert_int_equal(try_ssh(s, "alice", minted.token), MAGIC_LINK_REFUSED);
}

static void a_pasted_link_is_as_good_as_the_token_in_it(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);
    char url[LINK_URL_SIZE], pasted[LINK_URL_SIZE + 8];

    assert_int_equal(magic_link_url("https://h.example.org", minted.token, url, sizeof(url)), 0);
    (void)snprintf(pasted, sizeof(pasted), " <%s>\r\n", url);
    assert_int_equal(try_ssh(s, "alice", pasted), MAGIC_LINK_ACCEPTED);
}

static void a_link_opens_only_the_doors_of_its_purpose(void **state)
{
    struct scene *s = *state;
    struct minted ssh = mint(s, LINK_PURPOSE_SSH), web = mint(s, LINK_PURPOSE_WEB);

    assert_int_equal(try_by(s, "alice", ssh.code, LINK_PURPOSE_WEB, NOW_S), MAGIC_LINK_REFUSED);
    assert_int_equal(try_by(s, "alice", web.token, LINK_PURPOSE_SSH, NOW_S), MAGIC_LINK_REFUSED);
    assert_int_equal(try_by(s, "alice", ssh.code, LINK_PURPOSE_SSH, NOW_S), MAGIC_LINK_ACCEPTED);
    assert_int_equal(try_by(s, "alice", web.token, LINK_PURPOSE_WEB, NOW_S), MAGIC_LINK_ACCEPTED);
}

static void a_link_is_worth_nothing_in_another_name(void **state)
{
    static const char *const names[] = {"ben",    "nobody-has-this", "",     "Alice",
                                        "alice ", "alice\n",         "root", "' OR 1=1 --"};
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(try_ssh(s, names[i], minted.code), MAGIC_LINK_REFUSED);
        assert_int_equal(try_ssh(s, names[i], minted.token), MAGIC_LINK_REFUSED);
    }
    is_unused(s, &minted);
}

static void expired_revoked_and_locked_are_refused_and_not_used_up(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY), revoked = mint(s, LINK_PURPOSE_ANY);

    assert_int_equal(try_by(s, "alice", minted.code, LINK_PURPOSE_SSH, minted.link.expires_s + 1),
                     MAGIC_LINK_REFUSED);
    assert_int_equal(link_revoke(s->f->reg, revoked.link.link_id, NOW_S), 0);
    assert_int_equal(try_ssh(s, "alice", revoked.token), MAGIC_LINK_REFUSED);
    assert_int_equal(user_lock(s->f->reg, s->alice.uid, true), 0);
    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_REFUSED);
    assert_int_equal(user_lock(s->f->reg, s->alice.uid, false), 0);
    assert_int_equal(user_set_expiry(s->f->reg, s->alice.uid, NOW_S - 10), 0);
    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_REFUSED);
    assert_int_equal(user_set_expiry(s->f->reg, s->alice.uid, 0), 0);
    is_unused(s, &minted);
}

static void whatever_is_typed_costs_one_question_for_a_hash_that_no_link_has(void **state)
{
    static const char *const texts[] = {"",     "x",  "password", "0123-4567-89P0",     "#",
                                        "atl_", "\n", "\xff",     "https://h/#atl_AAEC"};
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);
    uint8_t none[LINK_HASH_SIZE];
    char *garbage = malloc(65536);

    assert_non_null(garbage);
    memset(garbage, 'A', 65536);
    assert_int_equal(try_ssh(s, "alice", "no secret"), MAGIC_LINK_REFUSED);
    memcpy(none, asked.hash, sizeof(none));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        asked.calls = 0;
        assert_int_equal(try_ssh(s, "alice", texts[i]), MAGIC_LINK_REFUSED);
        assert_int_equal(asked.calls, 1);
        if (memcmp(asked.hash, none, sizeof(none)) != 0)
            fail_msg("%s", texts[i]);
    }
    /* A good code for what is no name is not even looked for. */
    asked.calls = 0;
    assert_int_equal(try_ssh(s, "Alice", minted.code), MAGIC_LINK_REFUSED);
    assert_int_equal(asked.calls, 1);
    assert_memory_equal(asked.hash, none, sizeof(none));
    for (size_t size = 1; size <= 65536; size *= 2) {
        struct try t = {.name = "alice", .typed = garbage, .door = LINK_PURPOSE_SSH, NOW_S};
        struct link link;

        asked.calls = 0;
        assert_int_equal(try_n(s, &t, size, &link), MAGIC_LINK_REFUSED);
        assert_int_equal(asked.calls, 1);
    }
    free(garbage);
    is_unused(s, &minted);
    assert_memory_not_equal(asked.hash, none, sizeof(none));
}

static void tries_are_limited_for_each_name_and_touch_no_link(void **state)
{
    static const char *const names[] = {"alice", "nobody-has-this", ""};
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    s->is_clock_held = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (unsigned n = 0; n < LINK_TRIES_A_MINUTE; n++)
            assert_int_equal(try_ssh(s, names[i], "0123-4567-89P9"), MAGIC_LINK_REFUSED);
        asked.calls = 0;
        assert_int_equal(try_ssh(s, names[i], "0123-4567-89P9"), MAGIC_LINK_THROTTLED);
        assert_int_equal(try_ssh(s, names[i], minted.code), MAGIC_LINK_THROTTLED);
        assert_int_equal(asked.calls, 0);
    }
    assert_int_equal(try_ssh(s, "Not A Name", "x"), MAGIC_LINK_THROTTLED); /* with "" together */
    assert_int_equal(try_ssh(s, "ben", "x"), MAGIC_LINK_REFUSED);
    s->now_ms += 60 * 1000 / (int64_t)LINK_TRIES_A_MINUTE;
    is_unused(s, &minted);
}

static enum magic_link_verdict try_from(struct scene *s, const char *rhost, const char *typed)
{
    struct try t = {
        .name = "alice", .typed = typed, .rhost = rhost, .door = LINK_PURPOSE_SSH, .now_s = NOW_S};
    struct link link = {0};

    return try_n(s, &t, strlen(typed), &link);
}

static void a_stranger_keeps_nobody_out_but_at_his_own_address(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    s->is_clock_held = true;
    for (unsigned n = 0; n < LINK_TRIES_A_MINUTE; n++)
        assert_int_equal(try_from(s, "203.0.113.9", "0123-4567-89P9"), MAGIC_LINK_REFUSED);
    assert_int_equal(try_from(s, "203.0.113.9", minted.code), MAGIC_LINK_THROTTLED);
    assert_int_equal(try_from(s, "198.51.100.2", minted.code), MAGIC_LINK_ACCEPTED);
}

static void a_token_is_looked_up_whatever_was_tried_before(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    s->is_clock_held = true;
    for (unsigned n = 0; n <= LINK_TRIES_A_MINUTE; n++)
        (void)try_from(s, "203.0.113.9", "0123-4567-89P9");
    assert_int_equal(try_from(s, "203.0.113.9", minted.code), MAGIC_LINK_THROTTLED);
    assert_int_equal(try_from(s, "203.0.113.9", minted.token), MAGIC_LINK_ACCEPTED);
}

static void many_addresses_together_are_limited_too(void **state)
{
    struct scene *s = *state;
    char rhost[32];

    s->is_clock_held = true;
    for (unsigned n = 0; n < LINK_TRIES_ALL_A_MINUTE; n++) {
        (void)snprintf(rhost, sizeof(rhost), "2001:db8::%x", n);
        assert_int_equal(try_from(s, rhost, "0123-4567-89P9"), MAGIC_LINK_REFUSED);
    }
    assert_int_equal(try_from(s, "2001:db8:1::1", "0123-4567-89P9"), MAGIC_LINK_THROTTLED);
}

static void good_tries_are_not_limited(void **state)
{
    struct scene *s = *state;

    s->is_clock_held = true;
    for (unsigned n = 0; n < 2 * LINK_TRIES_A_MINUTE; n++) {
        struct minted minted = mint(s, LINK_PURPOSE_ANY);

        assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_ACCEPTED);
    }
}

static void not_knowing_is_no_verdict_and_uses_nothing_up(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);
    enum magic_link_verdict verdict = MAGIC_LINK_THROTTLED;
    struct link link = {.uid = 7};

    s->is_clock_held = true;
    asked.error = -EIO;
    for (unsigned n = 0; n < 2 * LINK_TRIES_A_MINUTE; n++)
        assert_int_equal(magic_link_redeem(s->ml, s->f->reg, "alice", minted.code,
                                           strlen(minted.code), "", LINK_PURPOSE_SSH, NOW_S,
                                           s->now_ms, &link, &verdict),
                         -EIO);
    assert_int_equal(verdict, MAGIC_LINK_THROTTLED);
    assert_int_equal(link.uid, 7);
    asked.error = 0;
    is_unused(s, &minted);
}

static void another_key_makes_all_links_worthless(void **state)
{
    struct scene *s = *state;
    struct minted minted = mint(s, LINK_PURPOSE_ANY);

    magic_link_close(s->ml);
    assert_int_equal(magic_link_open(s->f->dir, &s->ml), 0);
    assert_int_equal(
        rename(path_of(s->f, "registry/" KEY_FILE_NAME), path_of(s->f, "registry/kept")), 0);
    magic_link_close(s->ml);
    assert_int_equal(magic_link_open(s->f->dir, &s->ml), 0);
    assert_int_equal(try_ssh(s, "alice", minted.token), MAGIC_LINK_REFUSED);
    assert_int_equal(try_ssh(s, "alice", minted.code), MAGIC_LINK_REFUSED);
    assert_int_equal(
        rename(path_of(s->f, "registry/kept"), path_of(s->f, "registry/" KEY_FILE_NAME)), 0);
    magic_link_close(s->ml);
    assert_int_equal(magic_link_open(s->f->dir, &s->ml), 0);
    is_unused(s, &minted);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_minted_link_is_in_the_registry_without_its_secrets),
        TEST(links_that_live_too_long_or_belong_to_nobody_are_not_minted),
        TEST(a_token_is_refused_after_use_and_so_is_its_code),
        TEST(a_code_is_refused_after_use_and_so_is_its_token),
        TEST(a_pasted_link_is_as_good_as_the_token_in_it),
        TEST(a_link_opens_only_the_doors_of_its_purpose),
        TEST(a_link_is_worth_nothing_in_another_name),
        TEST(expired_revoked_and_locked_are_refused_and_not_used_up),
        TEST(whatever_is_typed_costs_one_question_for_a_hash_that_no_link_has),
        TEST(tries_are_limited_for_each_name_and_touch_no_link),
        TEST(good_tries_are_not_limited),
        TEST(a_stranger_keeps_nobody_out_but_at_his_own_address),
        TEST(a_token_is_looked_up_whatever_was_tried_before),
        TEST(many_addresses_together_are_limited_too),
        TEST(not_knowing_is_no_verdict_and_uses_nothing_up),
        TEST(another_key_makes_all_links_worthless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: ISC */
/* test_magic_link_key.c - the key file: made once, durable, private, or refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "magic-link/key.h"

#include "common/banned.h"

struct place {
    char dir[64], registry[96], file[128], temp[128], spare[128];
};

static int place_setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    (void)snprintf(p->dir, sizeof(p->dir), "key-test.XXXXXX");
    if (!mkdtemp(p->dir))
        return -1;
    (void)snprintf(p->registry, sizeof(p->registry), "%s/" KEY_DIR_NAME, p->dir);
    (void)snprintf(p->file, sizeof(p->file), "%s/" KEY_FILE_NAME, p->registry);
    (void)snprintf(p->temp, sizeof(p->temp), "%s/" KEY_TEMP_NAME, p->registry);
    (void)snprintf(p->spare, sizeof(p->spare), "%s/spare", p->registry);
    *state = p;
    return mkdir(p->registry, 0700);
}

static int place_teardown(void **state)
{
    struct place *p = *state;

    (void)chmod(p->registry, 0700);
    (void)unlink(p->file);
    (void)rmdir(p->file);
    (void)unlink(p->temp);
    (void)unlink(p->spare);
    (void)rmdir(p->registry);
    if (rmdir(p->dir) < 0)
        return -1;
    free(p);
    return 0;
}

static void file_write(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, bytes, size), 0);
    (void)close(fd);
}

#define SOME_KEY "0123456789abcdef0123456789ABCDEF"

static void the_key_is_made_once_and_private(void **state)
{
    struct place *p = *state;
    struct key first, second;
    mode_t mask = umask(0);
    struct stat st;

    assert_int_equal(key_load(p->dir, &first), 0);
    (void)umask(mask);
    assert_int_equal(stat(p->file, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(st.st_size, KEY_SIZE);
    assert_int_equal(access(p->temp, F_OK), -1);
    assert_int_equal(key_load(p->dir, &second), 0);
    assert_memory_equal(&first, &second, sizeof(first));

    /* A lost key is replaced by another. */
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(key_load(p->dir, &second), 0);
    assert_memory_not_equal(&first, &second, sizeof(first));
}

static void a_key_that_is_there_is_taken(void **state)
{
    struct place *p = *state;
    struct key key;

    file_write(p->file, SOME_KEY, KEY_SIZE);
    assert_int_equal(key_load(p->dir, &key), 0);
    assert_memory_equal(key.bytes, SOME_KEY, KEY_SIZE);
}

static void what_a_crash_left_is_replaced(void **state)
{
    struct place *p = *state;
    struct key key;

    file_write(p->temp, SOME_KEY, 7);
    assert_int_equal(key_load(p->dir, &key), 0);
    assert_memory_not_equal(key.bytes, SOME_KEY, 7);
    assert_int_equal(access(p->temp, F_OK), -1);
}

static void a_key_of_another_size_is_refused_and_kept(void **state)
{
    static const size_t sizes[] = {0, 1, KEY_SIZE - 1, KEY_SIZE + 1, 64};
    struct place *p = *state;
    struct key key = {.bytes = "untouched"};
    struct stat st;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        file_write(p->file, SOME_KEY SOME_KEY, sizes[i]);
        assert_int_equal(key_load(p->dir, &key), -EBADMSG);
        assert_string_equal(key.bytes, "untouched");
        assert_int_equal(stat(p->file, &st), 0);
        assert_int_equal(st.st_size, sizes[i]);
    }
    file_write(p->file, SOME_KEY, KEY_SIZE);
    assert_int_equal(key_load(p->dir, &key), 0);
}

static void a_key_that_others_may_open_is_refused(void **state)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666};
    struct place *p = *state;
    struct key key;

    file_write(p->file, SOME_KEY, KEY_SIZE);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(p->file, modes[i]), 0);
        assert_int_equal(key_load(p->dir, &key), -EPERM);
    }
    assert_int_equal(chmod(p->file, 0400), 0);
    assert_int_equal(key_load(p->dir, &key), 0);
}

static void what_is_no_file_of_its_own_is_refused(void **state)
{
    struct place *p = *state;
    struct key key;

    file_write(p->spare, SOME_KEY, KEY_SIZE);
    assert_int_equal(symlink("spare", p->file), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(link(p->spare, p->file), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
    assert_int_equal(unlink(p->spare), 0);
    assert_int_equal(key_load(p->dir, &key), 0); /* the same file, with one name */
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(mkfifo(p->file, 0600), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(mkdir(p->file, 0700), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
}

static void a_key_or_a_directory_of_somebody_else_is_refused(void **state)
{
    struct place *p = *state;
    struct key key;

    if (geteuid() != 0) {
        print_message("SKIP: only root can give files away\n");
        skip();
    }
    file_write(p->file, SOME_KEY, KEY_SIZE);
    assert_int_equal(key_load(p->dir, &key), 0);
    assert_int_equal(chown(p->file, 65534, 65534), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
    assert_int_equal(chown(p->file, 0, 0), 0);
    assert_int_equal(chown(p->registry, 65534, 65534), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
}

static void a_directory_that_others_may_enter_or_that_is_missing_is_refused(void **state)
{
    struct place *p = *state;
    struct key key;

    assert_int_equal(chmod(p->registry, 0710), 0);
    assert_int_equal(key_load(p->dir, &key), -EPERM);
    assert_int_equal(chmod(p->registry, 0700), 0);
    assert_int_equal(rmdir(p->registry), 0);
    assert_int_equal(key_load(p->dir, &key), -ENOENT);
    assert_int_equal(key_load("no-such-directory", &key), -ENOENT);
    assert_int_equal(mkdir(p->registry, 0700), 0);
    assert_int_equal(key_load(p->dir, &key), 0);
}

static void all_that_make_it_at_once_get_the_same_one(void **state)
{
    enum { COUNT = 16 };
    struct place *p = *state;
    struct key first, other;
    int start[2], report[2];
    size_t n = 0;

    assert_int_equal(pipe2(start, O_CLOEXEC), 0);
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    for (int i = 0; i < COUNT; i++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            char wait;

            (void)close(start[1]);
            (void)!read(start[0], &wait, 1);
            if (key_load(p->dir, &other) != 0)
                _exit(1);
            _exit(fd_write_full(report[1], &other, sizeof(other)) < 0);
        }
    }
    (void)close(start[0]);
    (void)close(start[1]);
    (void)close(report[1]);
    assert_int_equal(fd_read_full(report[0], &first, sizeof(first), &n), 0);
    assert_int_equal(n, sizeof(first));
    for (int i = 1; i < COUNT; i++) {
        assert_int_equal(fd_read_full(report[0], &other, sizeof(other), &n), 0);
        assert_int_equal(n, sizeof(other));
        assert_memory_equal(&first, &other, sizeof(other));
    }
    (void)close(report[0]);
    for (int i = 0, status; i < COUNT; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

/* --- the hash ------------------------------------------------------------------------------ */

static void hash_is(enum key_domain domain, size_t size, const char *wanted)
{
    struct secret secret = {.size = size};
    char hex[2 * LINK_HASH_SIZE + 1];
    struct secret_hash hash;
    struct key key;

    for (size_t i = 0; i < KEY_SIZE; i++)
        key.bytes[i] = (uint8_t)(100 + i);
    for (size_t i = 0; i < size; i++)
        secret.bytes[i] = (uint8_t)i;
    key_hash(&key, domain, &secret, &hash);
    (void)sodium_bin2hex(hex, sizeof(hex), hash.bytes, sizeof(hash.bytes));
    assert_string_equal(hex, wanted);
}

/* hashlib.blake2b(bytes(range(32)), digest_size=32, key=..., person=b"atelier-token-v1") */
static void hashes_are_those_that_others_compute(void **state)
{
    (void)state;
    hash_is(KEY_DOMAIN_TOKEN, 32,
            "dfdedef055d9a3441bbcd6fdbbcfa2f797cff89958e223ac40299508aabcbf71");
    hash_is(KEY_DOMAIN_CODE, 10,
            "d7171fc6989d4f6e6c61f157a3e9b2d8f94ef442521b6dbaea90da3b88c6567d");
    hash_is(KEY_DOMAIN_NONE, 0, "29a6acecbebc51e7bfe41c25e98e9b5fd43c026e843f616794a810a21e9b8f7d");
}

static void a_hash_depends_on_key_domain_and_secret(void **state)
{
    struct secret secret = {.size = 10}, other = {.size = 10, .bytes = {1}};
    struct key key = {{0}}, other_key = {{1}};
    struct secret_hash hash, again, changed;

    (void)state;
    key_hash(&key, KEY_DOMAIN_CODE, &secret, &hash);
    key_hash(&key, KEY_DOMAIN_CODE, &secret, &again);
    assert_memory_equal(&hash, &again, sizeof(hash));
    key_hash(&other_key, KEY_DOMAIN_CODE, &secret, &changed);
    assert_memory_not_equal(&hash, &changed, sizeof(hash));
    key_hash(&key, KEY_DOMAIN_TOKEN, &secret, &changed);
    assert_memory_not_equal(&hash, &changed, sizeof(hash));
    key_hash(&key, KEY_DOMAIN_NONE, &secret, &changed);
    assert_memory_not_equal(&hash, &changed, sizeof(hash));
    key_hash(&key, KEY_DOMAIN_CODE, &other, &changed);
    assert_memory_not_equal(&hash, &changed, sizeof(hash));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_key_is_made_once_and_private),
        TEST(a_key_that_is_there_is_taken),
        TEST(what_a_crash_left_is_replaced),
        TEST(a_key_of_another_size_is_refused_and_kept),
        TEST(a_key_that_others_may_open_is_refused),
        TEST(what_is_no_file_of_its_own_is_refused),
        TEST(a_key_or_a_directory_of_somebody_else_is_refused),
        TEST(a_directory_that_others_may_enter_or_that_is_missing_is_refused),
        TEST(all_that_make_it_at_once_get_the_same_one),
        cmocka_unit_test(hashes_are_those_that_others_compute),
        cmocka_unit_test(a_hash_depends_on_key_domain_and_secret),
    };

    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

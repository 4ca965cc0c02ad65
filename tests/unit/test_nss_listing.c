/* SPDX-License-Identifier: ISC */
/*
 * test_nss_listing.c - the built module in a host's life: listings, group lists, descriptors,
 * forks, threads.
 */
#include "nss_module/nss_atelier.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/index_build.h"
#include "tests/unit/nss_fixture.h"

#include "common/banned.h"

/* --- listings ------------------------------------------------------------------------------ */

static void listing_gives_each_once_with_other_calls_in_between(void **state)
{
    long start = 0, size = 0;
    gid_t *list = NULL;
    char buffer[ROOM];
    struct passwd pw, other;
    struct group gr;
    uint32_t n = 0;
    int error = 0;

    (void)state;
    errno = 0;
    nss.setpwent(1);
    while (nss.getpwent_r(&pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS) {
        char more[ROOM];

        passwd_check(&pw, buffer, ROOM);
        assert_true(n < USER_COUNT);
        assert_int_equal(pw.pw_uid, UID_FIRST + n++);
        assert_int_equal(uid_ask(UID_FIRST + 3, &other, &error), NSS_STATUS_SUCCESS);
        assert_int_equal(nss.getpwnam_r("user9", &other, more, ROOM, &error), NSS_STATUS_SUCCESS);
        assert_int_equal(nss.getgrgid_r(pw.pw_gid, &gr, more, ROOM, &error), NSS_STATUS_SUCCESS);
        assert_int_equal(nss.initgroups_dyn("user0", 10001, &start, &size, &list, -1, &error),
                         NSS_STATUS_SUCCESS);
        nss.setgrent(0);
        assert_int_equal(nss.getgrent_r(&gr, more, ROOM, &error), NSS_STATUS_SUCCESS);
    }
    free(list);
    assert_int_equal(n, USER_COUNT);
    assert_int_equal(nss.getpwent_r(&pw, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(errno, 0);
    assert_int_equal(error, 0);
    nss.endpwent();
    assert_int_equal(nss.getpwent_r(&pw, buffer, ROOM, &error), NSS_STATUS_SUCCESS);
    assert_int_equal(pw.pw_uid, UID_FIRST);

    nss.setgrent(0);
    for (n = 0; nss.getgrent_r(&gr, buffer, ROOM, &error) == NSS_STATUS_SUCCESS; n++) {
        group_check(&gr, buffer, ROOM);
        assert_int_equal(gr.gr_gid, 10000 + n);
    }
    assert_int_equal(n, USER_COUNT + 1);
    nss.endgrent();
}

static void listing_repeats_the_entry_that_had_no_room(void **state)
{
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error = 0;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        for (size_t n = 0; n < 8; n++) {
            assert_int_equal(nss.getpwent_r(&pw, buffer, n, &error), NSS_STATUS_TRYAGAIN);
            assert_int_equal(error, ERANGE);
            assert_int_equal(nss.getgrent_r(&gr, buffer, n, &error), NSS_STATUS_TRYAGAIN);
            assert_int_equal(error, ERANGE);
        }
        assert_int_equal(nss.getpwent_r(&pw, buffer, ROOM, &error), NSS_STATUS_SUCCESS);
        assert_int_equal(pw.pw_uid, UID_FIRST + i);
        assert_int_equal(nss.getgrent_r(&gr, buffer, ROOM, &error), NSS_STATUS_SUCCESS);
        assert_int_equal(gr.gr_gid, 10000 + i);
    }
}

static void replaced_index_neither_repeats_nor_skips_in_a_listing(void **state)
{
    char buffer[ROOM];
    struct passwd pw;
    uint32_t seen = 0;
    int error;

    (void)state;
    /* Users 0-59, then from entry 20 on 10-99, then from entry 70 on 5-79. */
    assert_int_equal(index_publish(0, 60, 1), 0);
    while (nss.getpwent_r(&pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS) {
        assert_int_equal(pw.pw_uid, UID_FIRST + seen);
        seen++;
        if (seen == 20)
            assert_int_equal(index_publish(10, 90, 2), 0);
        if (seen == 70)
            assert_int_equal(index_publish(5, 75, 3), 0);
    }
    assert_int_equal(seen, 80);
}

/* --- initgroups ---------------------------------------------------------------------------- */

static void initgroups_adds_what_is_new_and_grows_the_array(void **state)
{
    long start = 2, size = 2;
    gid_t *list = calloc(2, sizeof(*list));
    const gid_t want[] = {10002, 10004, 10000, 10003, 10005};
    int error = 0;

    (void)state;
    assert_non_null(list);
    list[0] = 10002; /* the primary group, as glibc does it */
    list[1] = 10004; /* from another module */
    assert_int_equal(nss.initgroups_dyn("user0", 10002, &start, &size, &list, -1, &error),
                     NSS_STATUS_SUCCESS);
    assert_int_equal(start, 5);
    assert_true(size >= start);
    assert_memory_equal(list, want, sizeof(want));
    assert_int_equal(nss.initgroups_dyn("user0", 10002, &start, &size, &list, -1, &error),
                     NSS_STATUS_SUCCESS);
    assert_int_equal(start, 5);
    /* Known, but in no group but its own. */
    assert_int_equal(nss.initgroups_dyn("user1", 10002, &start, &size, &list, -1, &error),
                     NSS_STATUS_SUCCESS);
    assert_int_equal(nss.initgroups_dyn("stranger", 10002, &start, &size, &list, -1, &error),
                     NSS_STATUS_NOTFOUND);
    assert_int_equal(start, 5);
    /* The primary group is not added even where the caller has not put it in. */
    start = 0;
    assert_int_equal(nss.initgroups_dyn("user0", 10002, &start, &size, &list, -1, &error),
                     NSS_STATUS_SUCCESS);
    assert_int_equal(start, 4);
    for (long i = 0; i < start; i++)
        assert_int_not_equal(list[i], 10002);
    free(list);
}

static void initgroups_keeps_to_the_limit(void **state)
{
    (void)state;
    for (long limit = 1; limit <= 8; limit++) {
        long start = 1, size = 1;
        gid_t *list = calloc(1, sizeof(*list));
        int error = 0;

        assert_non_null(list);
        list[0] = 10001;
        assert_int_equal(nss.initgroups_dyn("user0", 10001, &start, &size, &list, limit, &error),
                         NSS_STATUS_SUCCESS);
        assert_int_equal(start, limit < 6 ? limit : 6);
        assert_true(size <= limit);
        for (long i = 1; i < start; i++)
            assert_int_equal(list[i], gids_of_first[i - 1]);
        free(list);
    }
}

/* --- hosts --------------------------------------------------------------------------------- */

static void no_call_keeps_a_descriptor(void **state)
{
    unsigned char *file;
    struct passwd pw;
    int before, error;
    size_t size;

    (void)state;
    file = file_load(INDEX_PATH, &size);
    assert_non_null(file);
    before = fds_count();
    assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_SUCCESS);
    assert_int_equal(foreign_keys_ask(&nss), 0);
    assert_int_equal(uid_ask(20000, &pw, &error), NSS_STATUS_NOTFOUND);
    (void)listing_gives_each_once_with_other_calls_in_between(NULL);
    for (size_t n = 0; n < size; n += 97) {
        assert_int_equal(file_store(INDEX_PATH, file, n), 0);
        assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_UNAVAIL);
    }
    assert_int_equal(fds_count(), before);
    free(file);
}

static atomic_bool is_over;
static atomic_int wrong;

static void *lookups_repeat(void *arg)
{
    uint32_t seed = *(const uint32_t *)arg;

    while (!atomic_load(&is_over)) {
        uint32_t i = noise(&seed) % USER_COUNT;
        char buffer[ROOM];
        struct passwd pw;
        struct group gr;
        int error = 0;

        if (nss.getpwuid_r(UID_FIRST + i, &pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
            pw.pw_uid != UID_FIRST + i || strcmp(pw.pw_name, users[i].name) != 0)
            atomic_fetch_add(&wrong, 1);
        if (nss.getgrnam_r(users[i].name, &gr, buffer, ROOM, &error) != NSS_STATUS_SUCCESS ||
            gr.gr_gid != UID_FIRST + i)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static void threads_look_up_while_children_are_forked_and_index_replaced(void **state)
{
    uint32_t seeds[4] = {11, 22, 33, 44};
    pthread_t threads[4];

    (void)state;
    atomic_store(&is_over, false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lookups_repeat, &seeds[i]), 0);
    for (uint32_t round = 0; round < 300; round++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            char buffer[ROOM];
            struct passwd pw;
            int error;

            alarm(20); /* a lock that nobody opens would show as SIGALRM */
            for (uint32_t i = 0; i < 10; i++) {
                if (nss.getpwuid_r(UID_FIRST + i, &pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS)
                    _exit(1);
            }
            nss.setpwent(0);
            _exit(nss.getpwent_r(&pw, buffer, ROOM, &error) != NSS_STATUS_SUCCESS);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        if (round % 10 == 0)
            assert_int_equal(index_publish(0, USER_COUNT, round), 0);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void *listing_share(void *arg)
{
    atomic_int *seen = arg;
    char buffer[ROOM];
    struct passwd pw;
    int error;

    while (nss.getpwent_r(&pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS)
        atomic_fetch_add(&seen[pw.pw_uid - UID_FIRST], 1);
    return NULL;
}

static void threads_that_share_a_listing_get_each_entry_once(void **state)
{
    static atomic_int seen[USER_COUNT];
    pthread_t threads[4];

    (void)state;
    for (int round = 1; round <= 20; round++) {
        nss.setpwent(0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, listing_share, seen), 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (uint32_t i = 0; i < USER_COUNT; i++)
            assert_int_equal(atomic_load(&seen[i]), round);
    }
}

static void *lookup_when_cancelled(void *arg)
{
    struct passwd pw;
    int error, type;

    /* Cancelled before the call: the first cancellation point in it would end this thread. */
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    (void)pthread_cancel(pthread_self());
    *(enum nss_status *)arg = uid_ask(UID_FIRST, &pw, &error);
    pthread_testcancel();
    return NULL;
}

static void cancelled_thread_ends_after_the_look_up_and_not_in_it(void **state)
{
    enum nss_status answer = NSS_STATUS_UNAVAIL;
    int before = fds_count();
    pthread_t thread;
    void *result;

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    print_message(
        "skipped: AddressSanitizer takes the end of a cancelled thread for an overflow\n");
    skip();
#endif
    assert_int_equal(pthread_create(&thread, NULL, lookup_when_cancelled, &answer), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal(answer, NSS_STATUS_SUCCESS);
    /* And the cancellation was only put off. */
    assert_true(result == PTHREAD_CANCELED);
    assert_int_equal(fds_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(listing_gives_each_once_with_other_calls_in_between, index_setup),
        cmocka_unit_test_setup(listing_repeats_the_entry_that_had_no_room, index_setup),
        cmocka_unit_test_setup(replaced_index_neither_repeats_nor_skips_in_a_listing, index_setup),
        cmocka_unit_test_setup(initgroups_adds_what_is_new_and_grows_the_array, index_setup),
        cmocka_unit_test_setup(initgroups_keeps_to_the_limit, index_setup),
        cmocka_unit_test_setup(no_call_keeps_a_descriptor, index_setup),
        cmocka_unit_test_setup(threads_look_up_while_children_are_forked_and_index_replaced,
                               index_setup),
        cmocka_unit_test_setup(threads_that_share_a_listing_get_each_entry_once, index_setup),
        cmocka_unit_test_setup(cancelled_thread_ends_after_the_look_up_and_not_in_it, index_setup),
    };

    return cmocka_run_group_tests(tests, nss_setup, nss_teardown);
}

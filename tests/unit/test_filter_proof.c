/* SPDX-License-Identifier: ISC */
/*
 * test_filter_proof.c - the kernel gives the filter of a process back; and SHA-256.
 *
 * Needs root, and a kernel that has the call; where it has none, that it says so is what is tested.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sodium.h>

/* What a process has is compared with the programs that are known here. */
#include "sessiond/monitor/filter_proof.c"

#include "common/banned.h"

static struct event_base *base;
static struct sock_filter *built[2];
static size_t built_count[2];

struct told {
    int count, result;
};

static void on_proof(void *arg, int result)
{
    struct told *t = arg;

    t->count++;
    t->result = result;
}

/* A process that has loaded @n programs, the last of them @last, and waits for a byte on *@go. */
static pid_t child_make(const struct program *const loaded[], size_t n, int *ret_go)
{
    int ready[2], go[2];
    char word = 1;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(go[1]);
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        for (size_t i = 0; i < n; i++) {
            struct sock_fprog prog = {.len = (unsigned short)loaded[i]->count,
                                      .filter = (struct sock_filter *)(uintptr_t)loaded[i]->insns};

            if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0)
                _exit(9);
        }
        if (write(ready[1], &word, 1) != 1)
            _exit(8);
        _exit(read(go[0], &word, 1) == 1 ? 7 : 6);
    }
    (void)close(ready[1]);
    (void)close(go[0]);
    assert_int_equal(read(ready[0], &word, 1), 1);
    (void)close(ready[0]);
    *ret_go = go[1];
    return pid;
}

/* It goes on where it was, and nobody else has to reap it. */
static void child_end(pid_t pid, int go)
{
    int status;

    assert_int_equal(write(go, "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    (void)close(go);
}

static void wait_told(const struct told *t)
{
    while (t->count == 0)
        assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
}

static int result_of(pid_t pid, enum filter_profile profile)
{
    struct filter_proof *p;
    struct told t = {0};

    assert_int_equal(filter_proof_begin(pid, profile, &p), 0);
    assert_non_null(p);
    filter_proof_finish(p, on_proof, &t);
    wait_told(&t);
    assert_int_equal(t.count, 1);
    return t.result;
}

static bool is_skipped(void)
{
    if (geteuid() != 0)
        print_message("skipped: only root may ask\n");
    else if (proof_how != WIRE_FILTER_KERNEL)
        print_message("skipped: this kernel, or what holds this process, gives no filter back\n");
    return geteuid() != 0 || proof_how != WIRE_FILTER_KERNEL;
}

static void the_filter_of_a_process_is_recognized_and_no_other(void **state)
{
    const struct program *const runs = &programs[FILTER_RUN], *const logins =
                                                                  &programs[FILTER_LOGIN];
    pid_t pid;
    int go;

    (void)state;
    if (is_skipped())
        skip();
    assert_true(runs->count != logins->count ||
                memcmp(runs->insns, logins->insns, runs->count * sizeof(*runs->insns)) != 0);
    pid = child_make(&runs, 1, &go);
    assert_int_equal(result_of(pid, FILTER_RUN), 0);
    assert_int_equal(result_of(pid, FILTER_LOGIN), -EBADMSG);
    assert_int_equal(result_of(pid, FILTER_RUN), 0); /* it can be asked again */
    child_end(pid, go);
    /* The newest counts. */
    pid = child_make((const struct program *const[]){runs, logins}, 2, &go);
    assert_int_equal(result_of(pid, FILTER_RUN), -EBADMSG);
    assert_int_equal(result_of(pid, FILTER_LOGIN), 0);
    child_end(pid, go);
    pid = child_make(NULL, 0, &go);
    assert_int_equal(result_of(pid, FILTER_RUN), -EBADMSG);
    child_end(pid, go);
}

/* One instruction differs, or there is one more. */
static void a_filter_that_is_almost_ours_is_another_one(void **state)
{
    struct sock_filter *insns = calloc(programs[FILTER_RUN].count + 1, sizeof(*insns));
    struct program other = {.insns = insns, .count = programs[FILTER_RUN].count};
    const struct program *const p = &other;
    pid_t pid;
    int go;

    (void)state;
    assert_non_null(insns);
    if (is_skipped()) {
        free(insns);
        skip();
    }
    memcpy(insns, programs[FILTER_RUN].insns, other.count * sizeof(*insns));
    insns[other.count] = insns[other.count - 1];
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            insns[other.count - 1].k ^= 1;
        else
            other.count++;
        pid = child_make(&p, 1, &go);
        assert_int_equal(result_of(pid, FILTER_RUN), -EBADMSG);
        child_end(pid, go);
        memcpy(insns, programs[FILTER_RUN].insns, programs[FILTER_RUN].count * sizeof(*insns));
    }
    free(insns);
}

/* SIGKILL between begin and finish: it is told, and the process can be reaped by its parent. */
static void a_process_that_dies_meanwhile_is_told_of_and_let_go(void **state)
{
    const struct program *const p = &programs[FILTER_RUN];
    struct filter_proof *proof;
    struct told t = {0};
    int go, status;
    pid_t pid;

    (void)state;
    if (is_skipped())
        skip();
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        t = (struct told){0};
        pid = child_make(&p, 1, &go);
        assert_int_equal(filter_proof_begin(pid, FILTER_RUN, &proof), 0);
        (void)kill(pid, SIGKILL);
        if (is_cancelled) {
            filter_proof_cancel(proof);
            (void)event_base_dispatch(base); /* until there is no timer */
        } else {
            filter_proof_finish(proof, on_proof, &t);
            wait_told(&t);
            assert_true(t.result < 0);
        }
        /* The tracer is its parent here, and has had its status. */
        assert_true(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
        assert_int_equal(t.count, !is_cancelled);
        (void)close(go);
    }
}

static void a_proof_that_nobody_wants_lets_the_process_go(void **state)
{
    const struct program *const p = &programs[FILTER_RUN];
    struct filter_proof *proof;
    pid_t pid;
    int go;

    (void)state;
    if (is_skipped())
        skip();
    pid = child_make(&p, 1, &go);
    assert_int_equal(filter_proof_begin(pid, FILTER_RUN, &proof), 0);
    filter_proof_cancel(proof);
    (void)event_base_dispatch(base);
    child_end(pid, go);
    filter_proof_cancel(NULL);
}

static void where_nothing_is_given_back_the_receipt_says_so(void **state)
{
    enum wire_filter_how real = proof_how;
    struct filter_proof *proof = (struct filter_proof *)1;
    struct wire_receipt r = {0};
    struct told t = {0};

    (void)state;
    proof_how = WIRE_FILTER_LOADED;
    assert_int_equal(filter_proof_begin(1, FILTER_RUN, &proof), 0);
    assert_null(proof);
    filter_proof_finish(proof, on_proof, &t);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.result, 0);
    filter_proof_fill(FILTER_RUN, &r);
    assert_int_equal(r.filter_how, WIRE_FILTER_LOADED);
    assert_memory_equal(r.filter_sha256, programs[FILTER_RUN].hash, SHA256_SIZE);
    proof_how = real;
}

/* Against another implementation, at every length around a block. */
static void sha256_is_that_of_everybody_else(void **state)
{
    static const uint8_t abc[SHA256_SIZE] = {/* FIPS 180-4, "abc" */
                                             0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                             0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                             0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                             0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t data[300], ours[SHA256_SIZE], theirs[SHA256_SIZE];

    (void)state;
    sha256("abc", 3, ours);
    assert_memory_equal(ours, abc, sizeof(abc));
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + 3);
    for (size_t n = 0; n <= sizeof(data); n++) {
        sha256(data, n, ours);
        (void)crypto_hash_sha256(theirs, data, n);
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
}

static int setup(void **state)
{
    (void)state;
    base = event_base_new();
    if (!base)
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        if (filter_build((enum filter_profile)i, &built[i], &built_count[i]) < 0)
            return -1;
        filter_proof_program((enum filter_profile)i, built[i], built_count[i]);
    }
    return filter_proof_init(base);
}

static int teardown(void **state)
{
    (void)state;
    free(built[0]);
    free(built[1]);
    event_base_free(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_of_a_process_is_recognized_and_no_other),
        cmocka_unit_test(a_filter_that_is_almost_ours_is_another_one),
        cmocka_unit_test(a_process_that_dies_meanwhile_is_told_of_and_let_go),
        cmocka_unit_test(a_proof_that_nobody_wants_lets_the_process_go),
        cmocka_unit_test(where_nothing_is_given_back_the_receipt_says_so),
        cmocka_unit_test(sha256_is_that_of_everybody_else),
    };

    return cmocka_run_group_tests_name("filter_proof", tests, setup, teardown);
}

/* SPDX-License-Identifier: ISC */
/*
 * test_pam_wire.c - what the module sends and takes on pam.sock and session.sock: fields, checks of
 * answers, and daemons that answer nonsense, nothing, or too late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "pam_module/ask.h"
#include "pam_module/field.h"
#include "pam_module/join.h"
#include "pam_module/open.h"
#include "tests/unit/pam_fixture.h"

#include "common/banned.h"

#define ID "0123456789abcdef0123456789abcdef"

/* --- fields --- */

static void field_keeps_printable_ascii_alone(void **state)
{
    static const char zeros[16];
    char field[16];

    (void)state;
    memset(field, 'x', sizeof(field));
    field_clean(field, sizeof(field), "pts/3 ~");
    assert_string_equal(field, "pts/3 ~");
    assert_memory_equal(field + 7, zeros, sizeof(field) - 7);
    field_clean(field, sizeof(field), "a\nb\x7f\xc3\xa4\x1b[");
    assert_string_equal(field, "a?b????[");
    field_clean(field, sizeof(field), "0123456789abcdefgh");
    assert_string_equal(field, "0123456789abcde");
    field_clean(field, sizeof(field), NULL);
    assert_memory_equal(field, zeros, sizeof(field));
}

/* --- ask_check --- */

static void answer_is_taken_as_it_is(void **state)
{
    (void)state;
    for (uint32_t v = PAM_VERDICT_DENIED; v <= PAM_VERDICT_UNAVAILABLE; v++) {
        struct pam_ask ask = ask_make(PAM_ASK_ACCOUNT, "alice", "");
        struct pam_answer answer = answer_make(PAM_ASK_ACCOUNT, v);
        enum pam_verdict verdict = PAM_VERDICT_DENIED;

        assert_int_equal(ask_check(&ask, &answer, sizeof(answer), &verdict), 0);
        assert_int_equal(verdict, v);
    }
}

static void answer_that_is_none_is_refused(void **state)
{
    struct pam_ask ask = ask_make(PAM_ASK_AUTHENTICATE, "alice", "code");
    const struct pam_answer good = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_ALLOWED);
    enum pam_verdict verdict = PAM_VERDICT_UNAVAILABLE;
    struct pam_answer bad[] = {good, good, good, good, good, good};

    (void)state;
    bad[0].version++;
    bad[1].question = PAM_ASK_ACCOUNT;
    bad[2].size_bytes--;
    bad[3].verdict = PAM_VERDICT_UNAVAILABLE + 1;
    bad[4].verdict = PAM_VERDICT_EXPIRED; /* of ACCOUNT only */
    bad[5].verdict = PAM_VERDICT_BUSY;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ask_check(&ask, &bad[i], sizeof(bad[i]), &verdict), -EPROTO);
    assert_int_equal(ask_check(&ask, &good, sizeof(good) - 1, &verdict), -EPROTO);
    assert_int_equal(ask_check(&ask, &good, 0, &verdict), -EPROTO);
    assert_int_equal(verdict, PAM_VERDICT_UNAVAILABLE);
    assert_int_equal(ask_check(&ask, &good, sizeof(good), &verdict), 0);
}

/* --- open_check --- */

static struct session_opened *opened_make(void)
{
    static struct session_opened o;

    o = (struct session_opened){
        .head = {SESSION_WIRE_VERSION, SESSION_OPENED, sizeof(o), 0},
        .setns_flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
        .has_landlock = 1,
        .rlimit_count = 1,
        .rlimits = {{.resource = RLIMIT_NPROC, .value = 100}},
        .filter_count = 1,
        .session_id = ID,
        .probe_name = "atelier-probe",
    };
    return &o;
}

static int pidfd_self(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0u);

    assert_true(fd >= 0);
    return fd;
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        o = opened_make();                                                                         \
        change;                                                                                    \
        assert_int_equal(open_check(o, sizeof(*o), &extra), -EPROTO);                              \
    } while (0)

static void opened_is_checked_field_by_field(void **state)
{
    struct msg_extra extra = {.fds = {pidfd_self(), 0}, .nfds = 2};
    struct session_opened *o = opened_make();

    (void)state;
    assert_int_equal(open_check(o, sizeof(*o), &extra), 0);
    assert_int_equal(open_check(o, sizeof(*o) - 1, &extra), -EPROTO);
    assert_int_equal(open_check(o, sizeof(o->head), &extra), -EPROTO);
    REFUSED(o->head.version++);
    REFUSED(o->head.type = SESSION_LEASED);
    REFUSED(o->head.type = SESSION_DENIED); /* which is a head alone */
    REFUSED(o->head.size_bytes--);
    REFUSED(o->setns_flags = 0);
    REFUSED(o->setns_flags &= ~(uint32_t)CLONE_NEWNS);
    REFUSED(o->setns_flags &= ~(uint32_t)CLONE_NEWPID);
    REFUSED(o->setns_flags |= CLONE_NEWUSER);
    REFUSED(o->has_landlock = 0); /* a descriptor too many */
    REFUSED(o->has_landlock = 2);
    REFUSED(o->probe_name[0] = '\0');
    REFUSED(memset(o->probe_name, 'x', sizeof(o->probe_name)));
    REFUSED(o->filter_count = 0);
    REFUSED(o->filter_count = SESSION_FILTER_MAX + 1);
    REFUSED(o->rlimit_count = SESSION_RLIMITS_MAX + 1);
    REFUSED(o->rlimits[0].resource = -1);
    REFUSED(o->rlimits[0].resource = (int)RLIM_NLIMITS);
    REFUSED(o->session_id[31] = '\0');
    REFUSED(o->session_id[0] = 'A');
    REFUSED(o->session_id[33] = 'a');
    REFUSED(extra.nfds = 0);
    extra.nfds = 1; /* the ruleset is missing */
    REFUSED((void)0);
    extra.nfds = 3;
    REFUSED((void)0);
    o = opened_make();
    o->has_landlock = 0;
    extra.nfds = 1;
    assert_int_equal(open_check(o, sizeof(*o), &extra), 0);
    (void)close(extra.fds[0]);
}

static void opened_needs_a_pidfd(void **state)
{
    struct session_opened *o = opened_make();
    struct msg_extra extra = {.nfds = 1};
    pid_t child;

    (void)state;
    o->has_landlock = 0;
    extra.fds[0] = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(extra.fds[0] >= 0);
    assert_int_equal(open_check(o, sizeof(*o), &extra), -EPROTO);
    (void)close(extra.fds[0]);
    extra.fds[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(extra.fds[0] >= 0);
    assert_int_equal(open_check(o, sizeof(*o), &extra), -EPROTO);
    (void)close(extra.fds[0]);
    child = fork();
    if (child == 0)
        _exit(0);
    extra.fds[0] = (int)syscall(SYS_pidfd_open, child, 0u);
    assert_true(extra.fds[0] >= 0);
    while (syscall(SYS_waitid, 3 /* P_PIDFD */, extra.fds[0], NULL, 4 /* WEXITED */, NULL) < 0)
        assert_int_equal(errno, EINTR);
    assert_int_equal(open_check(o, sizeof(*o), &extra), -ESRCH);
    (void)close(extra.fds[0]);
    extra.fds[0] = pidfd_self();
    assert_int_equal(open_check(o, sizeof(*o), &extra), 0);
    (void)close(extra.fds[0]);
}

static void denied_is_no_protocol_error(void **state)
{
    struct session_opened *o = opened_make();
    struct msg_extra extra = {0};

    (void)state;
    o->head.type = SESSION_DENIED;
    o->head.size_bytes = sizeof(o->head);
    assert_int_equal(open_check(o, sizeof(o->head), &extra), -EACCES);
    o->head.reserved = SESSION_DENIED_LIMIT;
    assert_int_equal(open_check(o, sizeof(o->head), &extra), -ENOTSUP);
    o->head.reserved = UINT32_MAX; /* of a newer sessiond */
    assert_int_equal(open_check(o, sizeof(o->head), &extra), -EACCES);
}

/* --- daemons --- */

struct reply {
    const void *bytes; /* NULL: none; the connection is closed */
    size_t size;
    int nfds; /* copies of standard input that go with it */
    int delay_ms;
};

static void serve_reply(int conn, const void *arg)
{
    static char question[sizeof(struct session_opened)];
    const struct reply *reply = arg;
    const int fds[FD_PASS_MAX] = {0};
    ssize_t n = recv(conn, question, sizeof(question), 0);

    if (n > 0)
        (void)!write(fake_tell_fd, question, (size_t)n);
    if (reply->delay_ms > 0)
        (void)usleep((useconds_t)reply->delay_ms * 1000);
    if (reply->bytes)
        (void)msg_send(conn, reply->bytes, reply->size, fds, (size_t)reply->nfds);
}

static int64_t ms_now(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Ask a daemon that gives this reply. Whatever it is, no descriptor is left. */
static int asked(const struct reply *reply, int timeout_ms, enum pam_verdict *ret_verdict)
{
    struct pam_ask ask = ask_make(PAM_ASK_AUTHENTICATE, "alice", "k7f2 mnp4"), heard;
    struct fake fake = fake_start(FAKE_PAM_SOCKET, serve_reply, reply);
    size_t before = fds_count();
    int r = ask_at(FAKE_PAM_SOCKET, timeout_ms, &ask, ret_verdict);

    assert_int_equal(fds_count(), before);
    assert_int_equal(fake_heard(&fake, &heard, sizeof(heard), sizeof(heard)), sizeof(heard));
    assert_memory_equal(&heard, &ask, sizeof(ask));
    fake_stop(&fake);
    return r;
}

static void question_arrives_and_is_answered(void **state)
{
    struct pam_answer allowed = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_ALLOWED);
    struct pam_answer denied = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_DENIED);
    struct reply reply = {.bytes = &allowed, .size = sizeof(allowed)};
    enum pam_verdict verdict = PAM_VERDICT_DENIED;

    (void)state;
    assert_int_equal(asked(&reply, 3000, &verdict), 0);
    assert_int_equal(verdict, PAM_VERDICT_ALLOWED);
    reply.bytes = &denied;
    assert_int_equal(asked(&reply, 3000, &verdict), 0);
    assert_int_equal(verdict, PAM_VERDICT_DENIED);
}

static void nonsense_is_not_an_answer(void **state)
{
    char text[2 * sizeof(struct pam_answer)] = "yes, of course";
    struct pam_answer wrong = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_ALLOWED);
    enum pam_verdict verdict = PAM_VERDICT_UNAVAILABLE;

    (void)state;
    wrong.version++;
    assert_int_equal(asked(&(struct reply){.bytes = text, .size = 4}, 3000, &verdict), -EPROTO);
    assert_int_equal(asked(&(struct reply){.bytes = text, .size = sizeof(wrong)}, 3000, &verdict),
                     -EPROTO);
    assert_int_equal(asked(&(struct reply){.bytes = text, .size = sizeof(text)}, 3000, &verdict),
                     -EMSGSIZE);
    assert_int_equal(asked(&(struct reply){.bytes = &wrong, .size = sizeof(wrong)}, 3000, &verdict),
                     -EPROTO);
    assert_int_equal(asked(&(struct reply){.bytes = NULL}, 3000, &verdict), -ECONNRESET);
    assert_int_equal(verdict, PAM_VERDICT_UNAVAILABLE);
}

static void descriptors_with_an_answer_are_closed(void **state)
{
    struct pam_answer allowed = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_ALLOWED);
    struct reply reply = {.bytes = &allowed, .size = sizeof(allowed), .nfds = 3};
    enum pam_verdict verdict = PAM_VERDICT_DENIED;

    (void)state;
    assert_int_equal(asked(&reply, 3000, &verdict), 0);
    assert_int_equal(verdict, PAM_VERDICT_ALLOWED);
}

static void silence_ends_with_the_time_limit(void **state)
{
    struct pam_answer allowed = answer_make(PAM_ASK_AUTHENTICATE, PAM_VERDICT_ALLOWED);
    struct reply late = {.bytes = &allowed, .size = sizeof(allowed), .delay_ms = 5000};
    enum pam_verdict verdict = PAM_VERDICT_UNAVAILABLE;
    int64_t start = ms_now(), took;

    (void)state;
    assert_int_equal(asked(&late, 300, &verdict), -ETIMEDOUT);
    took = ms_now() - start;
    assert_true(took >= 300 && took < 3000);
    assert_int_equal(verdict, PAM_VERDICT_UNAVAILABLE);
}

static void serve_nobody(int conn, const void *arg)
{
    (void)arg;
    (void)conn;
    for (;;)
        (void)pause();
}

/* A daemon that stands still: its backlog fills up, and then connect(2) itself waits. */
static void full_backlog_ends_with_the_time_limit(void **state)
{
    struct fake fake = fake_start(FAKE_PAM_SOCKET, serve_nobody, NULL);
    struct talk talks[32];
    size_t n = 0;
    int r = 0;

    (void)state;
    while (n < 32 && (r = talk_open(FAKE_PAM_SOCKET, 200, &talks[n])) == 0)
        n++;
    assert_int_equal(r, -ETIMEDOUT);
    assert_true(n >= 8);
    while (n > 0)
        talk_close(&talks[--n]);
    fake_stop(&fake);
}

static void absence_is_told_at_once(void **state)
{
    struct pam_ask ask = ask_make(PAM_ASK_ACCOUNT, "alice", "");
    enum pam_verdict verdict = PAM_VERDICT_UNAVAILABLE;
    char path[200];

    (void)state;
    assert_int_equal(ask_at("no-such.sock", 3000, &ask, &verdict), -ENOENT);
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(ask_at(path, 3000, &ask, &verdict), -ENAMETOOLONG);
    assert_int_equal(verdict, PAM_VERDICT_UNAVAILABLE);
}

static void connection_is_never_standard_input(void **state)
{
    struct fake fake = fake_start(FAKE_PAM_SOCKET, serve_nobody, NULL);
    int saved = dup(0);
    struct talk talk = TALK_CLOSED;

    (void)state;
    assert_true(saved > 2);
    (void)close(0);
    assert_int_equal(talk_open(FAKE_PAM_SOCKET, 1000, &talk), 0);
    assert_true(talk.sock > 2);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_int_equal(fcntl(talk.sock, F_GETFD), FD_CLOEXEC);
    talk_close(&talk);
    assert_int_equal(dup2(saved, 0), 0);
    (void)close(saved);
    fake_stop(&fake);
}

/* Wrong descriptors with an OPENED that is right otherwise: refused, and none of them is left. */
static void opened_with_wrong_descriptors_leaves_none(void **state)
{
    struct session_opened *o = opened_make();
    struct reply reply = {.bytes = o, .size = sizeof(*o)};

    (void)state;
    for (reply.nfds = 0; reply.nfds <= 3; reply.nfds++) {
        struct fake fake = fake_start(FAKE_SESSION_SOCKET, serve_reply, &reply);
        struct session_open request = {.uid = 10001};
        struct session_opened opened;
        struct open_fds fds = OPEN_FDS_NONE;
        struct talk talk = TALK_CLOSED;
        size_t before = fds_count();

        assert_int_equal(open_at(FAKE_SESSION_SOCKET, 3000, &request, &talk, &opened, &fds),
                         -EPROTO);
        assert_int_equal(fds_count(), before);
        assert_int_equal(talk.sock, -1);
        assert_int_equal(fds.init, -1);
        fake_stop(&fake);
    }
}

static void steps_have_names(void **state)
{
    (void)state;
    assert_string_equal(join_step_key(JOIN_STEP_RLIMIT), "rlimit");
    assert_string_equal(join_step_key(JOIN_STEP_LEASE), "lease");
    assert_string_equal(join_step_key(JOIN_STEP__COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(field_keeps_printable_ascii_alone),
        cmocka_unit_test(answer_is_taken_as_it_is),
        cmocka_unit_test(answer_that_is_none_is_refused),
        cmocka_unit_test(opened_is_checked_field_by_field),
        cmocka_unit_test(opened_needs_a_pidfd),
        cmocka_unit_test(denied_is_no_protocol_error),
        cmocka_unit_test(question_arrives_and_is_answered),
        cmocka_unit_test(nonsense_is_not_an_answer),
        cmocka_unit_test(descriptors_with_an_answer_are_closed),
        cmocka_unit_test(silence_ends_with_the_time_limit),
        cmocka_unit_test(full_backlog_ends_with_the_time_limit),
        cmocka_unit_test(absence_is_told_at_once),
        cmocka_unit_test(connection_is_never_standard_input),
        cmocka_unit_test(opened_with_wrong_descriptors_leaves_none),
        cmocka_unit_test(steps_have_names),
    };

    return cmocka_run_group_tests(tests, dir_enter, dir_leave);
}

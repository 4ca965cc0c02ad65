/* SPDX-License-Identifier: ISC */
/*
 * test_receipt.c - a receipt that differs from the plan in anything is refused.
 *
 * A good receipt is made up; each row of the tables changes one field, and has the name that the
 * refusal must say. What the kernel says is read in the second half, of real processes.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The host's namespaces and our own filters are set here. */
#include "sessiond/monitor/receipt.c"

#include "sessiond/monitor/lease.h"

#include "common/banned.h"

#define UID 10007u
#define GID 10007u

static struct spawn_request request_of(void)
{
    static const struct plan_ask ask = {.cpu_ms = 2500, .cpu_is_counted = true};
    struct spawn_request req = {
        .kind = SPAWN_RUN,
        .uid = UID,
        .gid = GID,
        .net = WIRE_NET_NONE,
        .group_count = 2,
        .groups = {{.gid = 10000, .name = "atelier-users"}, {.gid = 10011, .name = "kurs"}},
    };
    static struct policy policy;
    const char *field;

    policy_defaults(&policy);
    assert_int_equal(policy_plan(&policy, POLICY_RUN, UID, NULL, 0, &ask, &req.plan, &field), 0);
    return req;
}

static uint64_t planned(const struct plan *plan, int resource)
{
    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource == resource)
            return plan->rlimits[i].value;
    }
    return UINT64_MAX;
}

static struct wire_receipt good_for(const struct plan *plan)
{
    struct wire_receipt r = {
        .uid = {UID, UID, UID, UID},
        .gid = {GID, GID, GID, GID},
        .group_count = 3,
        .groups = {10000, 10007, 10011},
        .no_new_privs = 1,
        .seccomp = 2,
        .seccomp_filters = own_filters + 1,
        .cgroup_mode = WIRE_CGROUP_NONE,
        .mount_count = 20,
        .mount_nosuid = 20,
        .mount_nodev = 19,
        .umask = 022,
        .oom_score_adj = 500,
    };

    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        host_ns[i] = 100 + i;
        r.ns_inode[i] = i == WIRE_NS_USER ? host_ns[i] : 200 + i;
        if (i != WIRE_NS_USER)
            r.ns_own |= 1u << i;
    }
#define LIMIT_GOOD(field, key, resource) r.rlimit_##field = planned(plan, resource);
    WIRE_RLIMITS(LIMIT_GOOD)
#undef LIMIT_GOOD
    return r;
}

/* One field of @base changed by @change; what is said of it. */
#define SAID(change)                                                                               \
    ({                                                                                             \
        struct wire_receipt r = base;                                                              \
                                                                                                   \
        change;                                                                                    \
        said(&r);                                                                                  \
    })

static const struct spawn_request *asked;

static const char *said(const struct wire_receipt *r)
{
    const char *what = receipt_fault(r, asked, NULL);

    return what ? what : "nothing";
}

#define REFUSED(what, change) assert_string_equal(SAID(change), what)

static void any_field_of_a_run_that_differs_is_refused_by_its_name(void **state)
{
    struct spawn_request req = request_of();
    struct wire_receipt base = good_for(&req.plan);

    (void)state;
    asked = &req;
    REFUSED("nothing", (void)r); /* positive control */
    for (unsigned i = 0; i < 4; i++) {
        REFUSED("uid", r.uid[i] = 0);
        REFUSED("uid", r.uid[i]++);
        REFUSED("gid", r.gid[i] = 0);
    }
    REFUSED("groups", r.group_count = 2);
    REFUSED("groups", r.groups[0] = 0);
    REFUSED("groups", (r.groups[3] = 27, r.group_count = 4));
    REFUSED("groups", r.groups[2] = 10007);
    for (unsigned cap = 0; cap < 64; cap++) {
        REFUSED("capabilities", r.cap_inh = 1ull << cap);
        REFUSED("capabilities", r.cap_prm = 1ull << cap);
        REFUSED("capabilities", r.cap_eff = 1ull << cap);
        REFUSED("capabilities", r.cap_bnd = 1ull << cap);
        REFUSED("capabilities", r.cap_amb = 1ull << cap);
    }
    REFUSED("no_new_privs", r.no_new_privs = 0);
    REFUSED("seccomp", r.seccomp = 0);
    REFUSED("seccomp", r.seccomp = 1);
    REFUSED("seccomp", r.seccomp_filters--);
    REFUSED("seccomp", r.seccomp_filters++);
    REFUSED("control group", r.cgroup_mode = WIRE_CGROUP_V2);
    REFUSED("mount flags", r.mount_loose = 1);
    REFUSED("mount flags", r.mount_count = 0);
    REFUSED("umask", r.umask = 0);
    REFUSED("signals", r.sig_ignored = 1ull << (SIGPIPE - 1));
    REFUSED("signals", r.sig_blocked = 1ull << (SIGTERM - 1));
    REFUSED("oom_score_adj", r.oom_score_adj = 0);
    REFUSED("oom_score_adj", r.oom_score_adj = -1000);
}

static void a_namespace_that_is_the_hosts_is_refused_by_its_name(void **state)
{
    static const char *const names[WIRE_NS__COUNT] = {
        "mount namespace",   "pid namespace",    "ipc namespace", "uts namespace",
        "network namespace", "cgroup namespace", "user namespace"};
    struct spawn_request req = request_of();
    struct wire_receipt base = good_for(&req.plan);

    (void)state;
    asked = &req;
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++)
        REFUSED(names[i], r.ns_own ^= 1u << i);
    /* With the host's network it is the other way round. */
    req.net = WIRE_NET_PUBLIC;
    REFUSED("network namespace", (void)r);
    REFUSED("nothing", r.ns_own &= ~(1u << WIRE_NS_NET));
}

static void more_than_the_plan_of_any_limit_is_refused(void **state)
{
    struct spawn_request req = request_of();
    struct wire_receipt base = good_for(&req.plan);

    (void)state;
    asked = &req;
    assert_true(planned(&req.plan, RLIMIT_CPU) != UINT64_MAX);
#define LIMIT_CASE(field, key, resource)                                                           \
    REFUSED("rlimits", r.rlimit_##field++);                                                        \
    REFUSED("rlimits", r.rlimit_##field = UINT64_MAX);
    WIRE_RLIMITS(LIMIT_CASE)
#undef LIMIT_CASE
    REFUSED("nothing", r.rlimit_nofile--); /* less is stronger */
    REFUSED("rlimits", r.rlimit_core--);   /* but for this one */
    /* A limit that nobody reads back would be one that nobody has looked at. */
    req.plan.rlimits[req.plan.rlimit_count - 1] =
        (struct plan_rlimit){.resource = RLIMIT_STACK, .value = UINT64_MAX};
    REFUSED("rlimits", (void)r);
}

/* --- a login ------------------------------------------------------------------------------- */

static const struct lease_terms *terms;

static const char *said_of_login(const struct wire_receipt *r)
{
    const char *what = lease_fault(r, terms);

    return what ? what : "nothing";
}

static void any_field_of_a_login_that_differs_is_refused_by_its_name(void **state)
{
    static const char *const names[WIRE_NS__COUNT] = {
        "mount namespace",   "pid namespace",    "ipc namespace", "uts namespace",
        "network namespace", "cgroup namespace", "user namespace"};
    struct spawn_request req = request_of();
    struct wire_receipt base = good_for(&req.plan);
    struct lease_terms t = {.filters_before = 3, .plan = &req.plan};

    (void)state;
    terms = &t;
    base.seccomp_filters = 4;
    base.ns_inode[WIRE_NS_NET] = host_ns[WIRE_NS_NET];
    /* sshd's monitor: it still has to become the user, and ignores what it likes. */
    memset(base.uid, 0, sizeof(base.uid));
    base.cap_prm = base.cap_eff = UINT64_MAX;
    base.sig_ignored = 1;
    base.oom_score_adj = 0;
    memcpy(t.init_ns, base.ns_inode, sizeof(t.init_ns));
#define said said_of_login
    REFUSED("nothing", (void)r);
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++)
        REFUSED(names[i], r.ns_inode[i]++);
    REFUSED("capabilities", r.cap_inh = 1);
    REFUSED("capabilities", r.cap_bnd = 1);
    REFUSED("capabilities", r.cap_amb = 1);
    REFUSED("no_new_privs", r.no_new_privs = 0);
    REFUSED("seccomp", r.seccomp = 0);
    REFUSED("seccomp", r.seccomp_filters = 3);
    REFUSED("seccomp", r.seccomp_filters = 5);
    REFUSED("rlimits", r.rlimit_nproc++);
    REFUSED("rlimits", r.rlimit_nice = 20);
    REFUSED("control group", r.cgroup_mode = WIRE_CGROUP_V1);
    REFUSED("mount flags", r.mount_loose = 1);
    REFUSED("mount flags", r.mount_count = 0);
#undef said
    /* The host's own namespaces, even if the init should have them. */
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        struct wire_receipt r = base;

        if (i == WIRE_NS_NET || i == WIRE_NS_USER)
            continue;
        r.ns_inode[i] = t.init_ns[i] = host_ns[i];
        assert_string_equal(said_of_login(&r), names[i]);
        t.init_ns[i] = base.ns_inode[i];
    }
}

/* --- what the kernel says ------------------------------------------------------------------ */

static void mounts_say(const char *text, uint32_t count, uint32_t nosuid, uint32_t nodev,
                       uint32_t loose)
{
    struct wire_receipt r = {0};

    assert_int_equal(mounts_parse(text, &r), 0);
    assert_int_equal(r.mount_count, count);
    assert_int_equal(r.mount_nosuid, nosuid);
    assert_int_equal(r.mount_nodev, nodev);
    assert_int_equal(r.mount_loose, loose);
}

#define LINE(place, options) "36 35 98:0 /x " place " " options " - ext4 /dev/sda rw,nodev,nosuid\n"

static void mounts_are_counted_by_their_own_options(void **state)
{
    struct wire_receipt r = {0};

    (void)state;
    mounts_say("", 0, 0, 0, 0);
    mounts_say(LINE("/", "ro,nosuid,nodev,relatime"), 1, 1, 1, 0);
    mounts_say(LINE("/", "ro,relatime,nodev,nosuid"), 1, 1, 1, 0);
    mounts_say(LINE("/", "rw"), 1, 0, 0, 1);
    mounts_say(LINE("/", "rw,nosuid"), 1, 1, 0, 1);
    mounts_say(LINE("/", "rw,nodev"), 1, 0, 1, 1);
    mounts_say(LINE("/", "rw,nosuidx,xnodev"), 1, 0, 0, 1);
    /* Optional fields in front of the bar; a place that has the words in its name. */
    mounts_say("36 35 98:0 / /nodev,nosuid rw shared:1 master:2 - tmpfs t rw\n", 1, 0, 0, 1);
    /* Devices have their places, and no others. */
    mounts_say(LINE("/dev", "rw,nosuid") LINE("/dev/pts", "rw,nosuid"), 2, 2, 0, 0);
    mounts_say(LINE("/dev", "rw"), 1, 0, 0, 1);
    mounts_say(LINE("/dev/shm", "rw,nosuid") LINE("/tmp/dev", "rw,nosuid"), 2, 2, 0, 2);
    mounts_say(LINE("/devices", "rw,nosuid"), 1, 1, 0, 1);
    assert_int_equal(mounts_parse("36 35 98:0\n", &r), -EPROTO);
    assert_int_equal(mounts_parse("36 35 98:0 / /x rw,nosuid,nodev", &r), -EPROTO); /* cut */
}

/* A child with these limits, this umask, and SIGUSR1 ignored and SIGUSR2 blocked. */
static pid_t child_make(void)
{
    const struct rlimit files = {50, 60};
    pid_t pid = fork();
    sigset_t set;

    if (pid != 0)
        return pid;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)umask(0135);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)kill(getpid(), SIGSTOP);
    _exit(0);
}

static void a_receipt_is_what_the_kernel_says_of_a_process(void **state)
{
    struct wire_receipt r = {0};
    pid_t pid = child_make();

    (void)state;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    assert_int_equal(receipt_read(pid, NULL, &r), 0);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(r.pid, pid);
    assert_int_equal(r.uid[0], getuid());
    assert_int_equal(r.gid[1], getegid());
    assert_int_equal(r.no_new_privs, 1);
    assert_int_equal(r.rlimit_nofile, 60); /* the hard one: it says how far it can be raised */
    assert_int_equal(r.umask, 0135);
    assert_true(r.sig_ignored & (1ull << (SIGUSR1 - 1)));
    assert_false(r.sig_ignored & (1ull << (SIGUSR2 - 1)));
    assert_int_equal(r.sig_blocked, 1ull << (SIGUSR2 - 1));
    assert_true(r.mount_count > 0);
    assert_true(r.mount_nosuid <= r.mount_count);
    assert_int_equal(receipt_read(pid, NULL, &r), -ENOENT);
}

static void the_limit_of_processor_time_is_the_one_that_can_be_reached(void **state)
{
    (void)state;
    assert_int_equal(limit_of(RLIMIT_CPU, 4, 5), 4);
    assert_int_equal(limit_of(RLIMIT_CPU, 4, 4), 4);
    assert_int_equal(limit_of(RLIMIT_CPU, 4, 60), 59);
    assert_true(limit_of(RLIMIT_CPU, 4, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(limit_of(RLIMIT_CORE, 0, 7), 0);
    assert_int_equal(limit_of(RLIMIT_CORE, 1, 7), 7);
    assert_int_equal(limit_of(RLIMIT_NPROC, 0, 7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_field_of_a_run_that_differs_is_refused_by_its_name),
        cmocka_unit_test(a_namespace_that_is_the_hosts_is_refused_by_its_name),
        cmocka_unit_test(more_than_the_plan_of_any_limit_is_refused),
        cmocka_unit_test(any_field_of_a_login_that_differs_is_refused_by_its_name),
        cmocka_unit_test(mounts_are_counted_by_their_own_options),
        cmocka_unit_test(a_receipt_is_what_the_kernel_says_of_a_process),
        cmocka_unit_test(the_limit_of_processor_time_is_the_one_that_can_be_reached),
    };

    return cmocka_run_group_tests_name("receipt", tests, NULL, NULL);
}

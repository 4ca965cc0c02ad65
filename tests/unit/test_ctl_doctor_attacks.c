/* SPDX-License-Identifier: ISC */
/*
 * test_ctl_doctor_attacks.c - one line of an attack that says "reached" is enough for a check to
 * fail.
 *
 * A host on which everything is refused as it should be, as its lines say it: every check passes.
 * Then one line after the other, by each door that confines, says that it was reached: somebody has
 * to fail. What a participant would need to do that is in tests/sabotage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/doctor/attempts.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/probe_host.h"

#include "common/banned.h"

/* Those that go by nothing but lines. tests/integration/test_doctor.py reads which these are. */
static const struct row {
    const char *id;
    void (*look)(struct doctor *d, struct doctor_line *l);
} rows[] = {
    {"net-loopback", check_net_loopback},
    {"net-own", check_net_own},
    {"net-private", check_net_private},
    {"net-multicast", check_net_multicast},
    {"net-mail", check_net_mail},
    {"net-sockets", check_net_sockets},
    {"net-listen", check_net_listen},
    {"net-none", check_net_none},
    {"user-namespaces", check_user_namespaces},
    {"io-uring", check_io_uring},
    {"keyrings", check_keyrings},
    {"kernel-calls", check_kernel_calls},
    {"kernel-entries", check_entries},
    {"set-uid", check_set_uid},
    {"file-capabilities", check_file_capabilities},
    {"mounts", check_mounts},
    {"abstract-sockets", check_abstract_sockets},
    {"path-sockets", check_path_sockets},
    {"shared-memory", check_shared_memory},
    {"other-processes", check_other_processes},
    {"terminals", check_terminals},
    {"descriptors", check_descriptors},
    {"environment", check_environment},
    {"core-dumps", check_core_dumps},
    {"fake-credentials", check_fake_credentials},
    {"fake-service", check_fake_service},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

#define VICTIM    "4194000"
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct bait laid = {
    .port4 = 1004,
    .port6 = 1006,
    .own4_count = 1,
    .own4 = {"198.51.100.1"},
    .own6_count = 1,
    .own6 = {"2001:db8::1"},
    .broadcast_count = 1,
    .broadcast = {"198.51.100.255"},
    .file_count = 2,
    .files = {"/etc/atelier-doctor.x", "/tmp/atelier-doctor.x"},
    .path_socket = "/run/atelier-doctor.x.sock",
    .abstract_name = "atelier-doctor.x",
    .queue = "/atelier-doctor",
    .has_shm = true,
    .victim = 4194000,
};

/* --- what is said ------------------------------------------------------------------------------
 */

static bool is_confined(enum probe_door door)
{
    return door == PROBE_NONE || door == PROBE_PUBLIC || door == PROBE_SESSION;
}

/* Refused where it is confined, and reached elsewhere. */
static void say_one(FILE *to, enum probe_door door, const char *name, const char *target,
                    const char *error, const char *detail)
{
    if (is_confined(door))
        (void)fprintf(to, "%s %s refused %s told\n", name, target, error);
    else
        (void)fprintf(to, "%s %s reached - %s\n", name, target, detail);
}

static void say_all(FILE *to, enum probe_door door, const char *name, const char *const *targets)
{
    for (; *targets; targets++)
        say_one(to, door, name, *targets, "EPERM", "");
}

static void say_paths(FILE *to, enum probe_door door, const char *name, const struct targets *t,
                      bool is_answered)
{
    for (size_t i = 0; i < t->count; i++) {
        if (door == PROBE_ROOT && !is_answered && strcmp(name, "tcp") == 0)
            (void)fprintf(to, "tcp %s refused ETIMEDOUT\n", t->text[i]);
        else
            say_one(to, door, name, t->text[i], "ECONNREFUSED", "");
    }
}

static void say_network(FILE *to, enum probe_door door)
{
    struct targets loopback, own, private, multicast;

    targets_loopback(&laid, &loopback);
    targets_own(&laid, &own);
    targets_private(&private);
    targets_multicast(&laid, &multicast);
    for (int udp = 0; udp < 2; udp++) {
        say_paths(to, door, udp ? "udp" : "tcp", &loopback, true);
        say_paths(to, door, udp ? "udp" : "tcp", &own, true);
        if (door != PROBE_NONE)
            say_paths(to, door, udp ? "udp" : "tcp", &private, false);
    }
    if (door == PROBE_NONE)
        return;
    say_paths(to, door, "udp", &multicast, false);
    (void)fprintf(to, "tcp " TARGET_MAIL " refused %s\n",
                  door == PROBE_ROOT ? "ETIMEDOUT" : "ECONNREFUSED");
}

static void say_kernel(FILE *to, enum probe_door door)
{
    say_all(to, door, "calls",
            LIST("userns", "userns-clone", "clone3", "mntns", "setns", "io_uring", "add_key",
                 "keyctl", "request_key", "mount", "umount", "fsopen", "open_tree", "chroot",
                 "mknod", "bpf", "perf", "userfaultfd", "personality", "handle", "syslog", "lease",
                 "mlock", "sethostname", "settimeofday", "reboot", "module", "setuid", "ptrace",
                 "vm_read", "pidfd_getfd"));
    say_all(to, door, "entries",
            LIST("x32", "i386", "high-family", "high-netlink", "high-personality", "unknown"));
    say_all(to, door, "sockets", LIST("icmp", "raw", "vsock"));
    say_all(to, door, "families", LIST("others"));
    /* Sessions may. */
    if (door != PROBE_SESSION) {
        say_all(to, door, "families", LIST("unix"));
        say_all(to, door, "listen", LIST("tcp"));
    }
    say_one(to, door, "setids", "/usr/bin/su", "-", "Uid: 59910 0 0 0");
    say_one(to, door, "setids", "/usr/bin/chage", "-", "Gid: 59910 42 42 42");
    say_one(to, door, "filecaps", "/usr/bin/ping", "-", "CapPrm: 0000000000002000");
    say_one(to, door, "core", "dump", "-", "");
    say_one(to, door, "descriptors", "others", "-", "");
    /* The others have the host's interfaces. */
    if (door == PROBE_NONE)
        say_one(to, door, "links", "others", "-", "");
    say_all(to, door, "mounts", LIST("set-uid", "devices"));
    say_all(to, door, "ptys", LIST("all"));
    say_all(to, door, "type", LIST("stdin"));
    /* A session's is that of PAM. */
    if (door != PROBE_SESSION)
        say_one(to, door, "environment", "others", "-", "");
}

static void say_neighbours(FILE *to, enum probe_door door)
{
    static const char *const kinds[] = {"memory", "semaphores", "queue"};
    char target[48];

    say_all(to, door, "read", attempts_secrets);
    for (uint32_t i = 0; i < laid.file_count; i++)
        say_one(to, door, "read", laid.files[i], "ENOENT", "");
    say_all(to, door, "connect", attempts_daemons);
    say_all(to, door, "connect", LIST(laid.path_socket));
    say_all(to, door, "abstract", LIST(laid.abstract_name));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        (void)snprintf(target, sizeof(target), "%s/%d", kinds[i], BAIT_SHM_KEY);
        say_one(to, door, "shm", target, "ENOENT", "");
    }
    say_all(to, door, "mqueue", LIST(laid.queue));
    say_all(to, door, "kill", LIST(VICTIM));
    say_all(to, door, "look", LIST("proc/" VICTIM, "pidfd/" VICTIM));
    say_one(to, door, "arguments", "others", "-", "");
}

static struct said *said_of(enum probe_door door)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct said *said;

    assert_non_null(to);
    if (door != PROBE_PLAIN)
        say_network(to, door);
    if (door != PROBE_ROOT) {
        say_kernel(to, door);
        say_neighbours(to, door);
    }
    assert_int_equal(fclose(to), 0);
    said = said_parse(text);
    free(text);
    return said;
}

/* --- the host -----------------------------------------------------------------------------------
 */

static int host_make(void **state)
{
    struct doctor *d = calloc(1, sizeof(*d));
    struct probe_host *p;

    assert_non_null(d);
    p = probe_host_of(d);
    p->is_tried = p->is_begun = true;
    p->terms.status.landlock_abi = 6;
    p->bait = calloc(1, sizeof(*p->bait));
    assert_non_null(p->bait);
    *p->bait = laid;
    for (unsigned door = 0; door < PROBE__COUNT; door++)
        p->said[door] = said_of((enum probe_door)door);
    *state = d;
    return 0;
}

static int host_drop(void **state)
{
    struct doctor *d = *state;

    /* Nobody keeps it. */
    free(d->probe->bait);
    d->probe->bait = NULL;
    probe_host_free(d->probe);
    free(d);
    return 0;
}

static enum doctor_verdict verdict_of(const struct row *row, struct doctor *d)
{
    enum doctor_verdict verdict;
    struct report r;

    report_init(&r, 1);
    row->look(d, &r.lines[0]);
    verdict = r.lines[0].verdict;
    if (!r.lines[0].is_said)
        verdict = DOCTOR_UNKNOWN;
    report_done(&r);
    return verdict;
}

/* --- cases --------------------------------------------------------------------------------------
 */

static void where_everything_is_refused_every_check_passes(void **state)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (verdict_of(&rows[i], *state) != DOCTOR_PASS)
            fail_msg("%s does not pass", rows[i].id);
    }
}

/* Return: how many fail. @failed: each of them is counted there. */
static size_t fail_count(struct doctor *d, size_t failed[ROW_COUNT])
{
    size_t count = 0;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (verdict_of(&rows[i], d) != DOCTOR_FAIL)
            continue;
        failed[i]++;
        count++;
    }
    return count;
}

static void whatever_is_reached_fails_a_check_by_whichever_door(void **state)
{
    struct doctor *d = *state;
    size_t failed[ROW_COUNT] = {0};

    for (unsigned door = 0; door < PROBE__COUNT; door++) {
        struct said *said = d->probe->said[door];

        for (size_t i = 0; is_confined((enum probe_door)door) && i < said->count; i++) {
            struct said_line *line = &said->lines[i], before = *line;

            line->verdict = SAID_REACHED;
            (void)snprintf(line->error, sizeof(line->error), "-");
            if (fail_count(d, failed) == 0)
                fail_msg("%s: %s %s was reached, and nobody fails",
                         probe_door_text((enum probe_door)door), before.name, before.target);
            *line = before;
        }
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (failed[i] == 0)
            fail_msg("%s never fails", rows[i].id);
    }
}

/* Where the control reaches nothing, a refusal shows nothing. */
static void without_a_control_a_refusal_proves_nothing(void **state)
{
    static const char *const unproven[] = {"set-uid",          "file-capabilities", "net-listen",
                                           "abstract-sockets", "path-sockets",      "shared-memory",
                                           "other-processes",  "fake-credentials",  "fake-service"};
    struct doctor *d = *state;
    struct said *plain = d->probe->said[PROBE_PLAIN];

    for (size_t i = 0; i < plain->count; i++) {
        plain->lines[i].verdict = SAID_REFUSED;
        (void)snprintf(plain->lines[i].error, sizeof(plain->lines[i].error), "EPERM");
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t k = 0; k < sizeof(unproven) / sizeof(unproven[0]); k++) {
            if (strcmp(rows[i].id, unproven[k]) == 0 && verdict_of(&rows[i], d) != DOCTOR_UNKNOWN)
                fail_msg("%s is not unknown", rows[i].id);
        }
    }
}

static void a_door_by_which_nothing_was_tried_passes_nobody(void **state)
{
    static const unsigned doors[] = {PROBE_NONE, PROBE_PUBLIC};
    struct doctor *d = *state;

    for (size_t k = 0; k < sizeof(doors) / sizeof(doors[0]); k++)
        (void)snprintf(d->probe->said[doors[k]]->why, sizeof(d->probe->said[0]->why), "gone");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (verdict_of(&rows[i], d) != DOCTOR_UNKNOWN)
            fail_msg("%s is not unknown", rows[i].id);
    }
}

/* A set-uid program that gives no root is no control. */
static void a_control_of_set_uid_has_euid_0(void **state)
{
    struct doctor *d = *state;
    struct said *plain = d->probe->said[PROBE_PLAIN];
    const struct row *row = rows;

    while (strcmp(row->id, "set-uid") != 0)
        row++;
    for (size_t i = 0; i < plain->count; i++) {
        if (strncmp(plain->lines[i].detail, "Uid:", 4) == 0)
            (void)snprintf(plain->lines[i].detail, sizeof(plain->lines[i].detail),
                           "Uid: 59910 1 1 1");
    }
    assert_int_equal(verdict_of(row, d), DOCTOR_UNKNOWN);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, host_make, host_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(where_everything_is_refused_every_check_passes),
        CASE(whatever_is_reached_fails_a_check_by_whichever_door),
        CASE(without_a_control_a_refusal_proves_nothing),
        CASE(a_door_by_which_nothing_was_tried_passes_nobody),
        CASE(a_control_of_set_uid_has_euid_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

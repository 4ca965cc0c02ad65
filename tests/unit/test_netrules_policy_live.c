/* SPDX-License-Identifier: ISC */
/*
 * test_netrules_policy_live.c - what the policy adds to the network rules, in the kernel, with both
 * backends of iptables: what it denies, what it lists, and the jump by control group.
 *
 * As test_netrules_live.c. The group is a child of the root of a version 2 tree, made and removed
 * here; without such a tree those tests are skipped.
 */
#include "policy/netrules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/netrules_seen.h"
#include "tests/unit/netrules_lab.h"

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"

#include "common/banned.h"

#define UID     ID_TEST_MIN
#define STRANGE 5001 /* not of the range: as a set-user-ID program would make it */
#define PORT    7777

static struct prefix prefix_of(const char *text)
{
    char fault[PREFIX_FAULT_SIZE];
    struct prefix p = {0};

    assert_int_equal(prefix_parse(text, &p, fault), 0);
    return p;
}

static void what_is_denied_is_refused_though_it_is_public(void **state)
{
    const struct prefix denied[] = {prefix_of("198.51.100.2"), prefix_of("2001:db8:1::/64"),
                                    prefix_of("192.0.2.0/25")};
    struct netrules_spec spec = {0};

    lab_make(state);
    cleanup_close int web = listener_make_in_world(PORT);

    assert_true(web >= 0);
    rules_load(&spec);
    assert_tcp(UID, "198.51.100.2", PORT, 0);
    assert_tcp(UID, "2001:db8:1::2", PORT, 0);
    assert_udp(UID, "192.0.2.127", 9, 0);
    spec = (struct netrules_spec){
        .denied = denied, .denied_count = 3, .jump_present = true, .drop_present = true};
    rules_load(&spec);
    assert_tcp(UID, "198.51.100.2", PORT, ECONNREFUSED);
    assert_tcp(UID, "2001:db8:1::2", PORT, ECONNREFUSED);
    assert_udp(UID, "192.0.2.127", 9, EPERM);
    assert_udp(UID, "192.0.2.128", 9, 0);
    assert_tcp(0, "198.51.100.2", PORT, 0);
    assert_tcp(0, "2001:db8:1::2", PORT, 0);
}

static void of_a_list_only_that_is_open_and_nothing_that_is_refused(void **state)
{
    const struct netrules_allowed allowed[] = {{.prefix = prefix_of("198.51.100.2"), .port = PORT},
                                               {.prefix = prefix_of("2001:db8:1::/64")},
                                               {.prefix = prefix_of("10.9.0.2")},
                                               {.prefix = prefix_of("fd00:9::2"), .port = PORT},
                                               {.prefix = prefix_of("127.0.0.1")}};
    struct netrules_spec spec = {.is_listed = true};

    lab_make(state);
    cleanup_close int web = listener_make_in_world(PORT);
    cleanup_close int other = listener_make_in_world(PORT + 1);
    cleanup_close int own = listener_make(PORT);

    assert_true(web >= 0 && other >= 0 && own >= 0);
    assert_tcp(UID, "198.51.100.2", PORT + 1, 0);
    rules_load(&spec);
    assert_tcp(UID, "198.51.100.2", PORT, ECONNREFUSED);
    assert_tcp(UID, "2001:db8:1::2", PORT, ECONNREFUSED);
    assert_udp(UID, "192.0.2.1", 9, EPERM);
    assert_tcp(0, "198.51.100.2", PORT, 0);
    spec.allowed = allowed;
    spec.allowed_count = 5;
    spec.jump_present = spec.drop_present = true;
    rules_load(&spec);
    assert_tcp(UID, "198.51.100.2", PORT, 0);
    assert_udp(UID, "198.51.100.2", PORT, 0);
    assert_tcp(UID, "198.51.100.2", PORT + 1, ECONNREFUSED);
    assert_udp(UID, "198.51.100.2", PORT + 1, EPERM);
    assert_tcp(UID, "2001:db8:1::2", PORT, 0);
    assert_tcp(UID, "2001:db8:1::2", PORT + 1, 0);
    assert_tcp(UID, "2001:db8:1::1", PORT, ECONNREFUSED); /* listed, and the host's own */
    assert_tcp(UID, "10.9.0.2", PORT, ECONNREFUSED);
    assert_tcp(UID, "fd00:9::2", PORT, ECONNREFUSED);
    assert_tcp(UID, "127.0.0.1", PORT, ECONNREFUSED);
    assert_udp(UID, "192.0.2.1", 9, EPERM);
    assert_tcp(0, "10.9.0.2", PORT, 0);
}

/* --- control groups ------------------------------------------------------------------------ */

static char group_dir[512]; /* of this test; "": there is none */

/* The mount point of a version 2 tree whose root is the root of our namespace. */
static bool tree_find(char *point, size_t size)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[1024], root[256], at[256];
    bool found = false;

    assert_non_null(f);
    while (!found && fgets(line, sizeof(line), f))
        found = strstr(line, " - cgroup2 ") &&
                sscanf(line, "%*s %*s %*s %255s %255s", root, at) == 2 && strcmp(root, "/") == 0;
    (void)fclose(f);
    if (found)
        (void)snprintf(point, size, "%s", at);
    return found;
}

static const char *group_make(void)
{
    static char name[64];
    char point[256];

    (void)snprintf(name, sizeof(name), "atelier-test-netrules-%d", getpid());
    if (!tree_find(point, sizeof(point))) {
        print_message("skipped: there is no version 2 tree of control groups\n");
        skip();
    }
    (void)snprintf(group_dir, sizeof(group_dir), "%s/%s", point, name);
    if (mkdir(group_dir, 0755) < 0) {
        print_message("skipped: no group can be made in %s: %s\n", point, strerror(errno));
        group_dir[0] = '\0';
        skip();
    }
    return name;
}

static int group_remove(void **state)
{
    (void)state;
    if (group_dir[0] != '\0')
        (void)rmdir(group_dir);
    group_dir[0] = '\0';
    return 0;
}

/* TCP of @uid, from a process that is in the group. */
static int probe_in_group(uid_t uid, const char *host)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        char path[sizeof(group_dir) + 16];
        int fd;

        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", group_dir);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(253);
        _exit(probe(uid, SOCK_STREAM, 0, host, PORT, 2000));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 253);
    return WEXITSTATUS(status);
}

static void whoever_is_in_the_group_is_held_whatever_its_uid(void **state)
{
    static const char *const closed[] = {"127.0.0.1", "::1", "10.9.0.2", "fd00:9::2"};
    static const char *const open[] = {"198.51.100.2", "2001:db8:1::2"};
    struct netrules_spec spec = {0};
    const char *name;

    lab_make(state);
    name = group_make();
    cleanup_close int own = listener_make(PORT);
    cleanup_close int web = listener_make_in_world(PORT);

    assert_true(own >= 0 && web >= 0);
    rules_load(&spec);
    /* Control: without the second jump it is the UID alone that counts. */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(probe_in_group(STRANGE, closed[i]), 0);
        assert_int_equal(probe_in_group(UID, closed[i]), ECONNREFUSED);
    }
    spec = (struct netrules_spec){.cgroup = name, .jump_present = true, .drop_present = true};
    rules_load(&spec);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(probe_in_group(STRANGE, closed[i]), ECONNREFUSED);
        assert_int_equal(probe_in_group(0, closed[i]), ECONNREFUSED);
        assert_int_equal(probe_in_group(100000, closed[i]), ECONNREFUSED);
        assert_tcp(STRANGE, closed[i], PORT, 0); /* outside of the group */
        assert_tcp(UID, closed[i], PORT, ECONNREFUSED);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(probe_in_group(STRANGE, open[i]), 0);
}

static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};

static void output_see(enum netrules_family family, struct netrules_seen *ret_seen)
{
    char output[OUTPUT_SIZE];

    *ret_seen = (struct netrules_seen){0};
    rules_list(family, "OUTPUT", output);
    for (const char *line = output, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        netrules_see(ret_seen, NULL, line);
    }
}

/* The rule is about the group that was there when it was loaded: it has to be loaded again. */
static void a_group_made_anew_takes_the_place_of_the_old_one(void **state)
{
    struct netrules_spec spec = {0};
    const char *name;

    lab_make(state);
    name = group_make();
    cleanup_close int own = listener_make(PORT);

    assert_true(own >= 0);
    spec.cgroup = name;
    rules_load(&spec);
    assert_int_equal(probe_in_group(STRANGE, "127.0.0.1"), ECONNREFUSED);
    assert_int_equal(rmdir(group_dir), 0);
    assert_int_equal(mkdir(group_dir, 0755), 0);
    assert_int_equal(probe_in_group(STRANGE, "127.0.0.1"), 0); /* nobody is held by a name */
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *text = NULL;
        struct netrules_seen seen;

        output_see(both[i], &seen);
        assert_int_equal(seen.output_count, 3);
        spec = (struct netrules_spec){
            .cgroup = name, .cgroup_stale = seen.stale, .jump_present = true, .drop_present = true};
        assert_int_equal(netrules_text(both[i], &spec, &text), 0);
        assert_int_equal(rules_restore(both[i], text), 0);
        output_see(both[i], &seen);
        assert_int_equal(seen.output_count, 3);
        assert_non_null(strstr(seen.form.output[0], "--uid-owner"));
        assert_non_null(strstr(seen.form.output[1], name));
        assert_non_null(strstr(seen.form.output[2], "--socket-exists"));
    }
    assert_int_equal(probe_in_group(STRANGE, "127.0.0.1"), ECONNREFUSED);
}

/* Without its group the rule can go, and it cannot come. */
static void without_the_group_the_rules_load_without_the_rule_alone(void **state)
{
    struct netrules_spec spec = {0};
    const char *name;

    lab_make(state);
    name = group_make();
    spec.cgroup = name;
    rules_load(&spec);
    assert_int_equal(group_remove(NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *with = NULL, *without = NULL, *removal = NULL;
        struct netrules_seen seen;

        output_see(both[i], &seen);
        spec = (struct netrules_spec){
            .cgroup = name, .cgroup_stale = seen.stale, .jump_present = true, .drop_present = true};
        assert_int_equal(netrules_text(both[i], &spec, &with), 0);
        assert_int_not_equal(rules_restore(both[i], with), 0);
        output_see(both[i], &seen);
        assert_int_equal(seen.output_count, 3); /* nothing of a text that fails */
        spec.cgroup = NULL;
        assert_int_equal(netrules_text(both[i], &spec, &without), 0);
        assert_int_equal(rules_restore(both[i], without), 0);
        output_see(both[i], &seen);
        assert_int_equal(seen.output_count, 2);
        spec.cgroup_stale = NULL;
        assert_int_equal(netrules_removal(&spec, &removal), 0);
        assert_int_equal(rules_restore(both[i], removal), 0);
        output_see(both[i], &seen);
        assert_int_equal(seen.output_count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_THEN(what_is_denied_is_refused_though_it_is_public, group_remove),
        BOTH_THEN(of_a_list_only_that_is_open_and_nothing_that_is_refused, group_remove),
        BOTH_THEN(whoever_is_in_the_group_is_held_whatever_its_uid, group_remove),
        BOTH_THEN(a_group_made_anew_takes_the_place_of_the_old_one, group_remove),
        BOTH_THEN(without_the_group_the_rules_load_without_the_rule_alone, group_remove),
    };

    return cmocka_run_group_tests_name("netrules_policy_live", tests, NULL, NULL);
}

/* SPDX-License-Identifier: ISC */
/*
 * test_cgroup.c - control groups: what is read of them, and what we assume of the kernel.
 *
 * The file under test is included for its parts. What needs a real tree uses a group of its own
 * below the root of a version 2 tree, controllers or not, and removes it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sessiond/monitor/cgroup.c"
#include "sessiond/monitor/request.h"

#include "common/banned.h"

static void assert_path(const char *members, const char *tree, const char *wanted)
{
    size_t len = 0;
    const char *path = member_path(members, tree, &len);

    if (!wanted) {
        assert_null(path);
        return;
    }
    assert_non_null(path);
    assert_int_equal(len, strlen(wanted));
    assert_memory_equal(path, wanted, len);
}

static void the_group_of_a_process_is_found_by_its_tree(void **state)
{
    static const char both[] = "12:cpu,cpuacct:/a/b\n11:name=systemd:/pids\n7:pids:/p:q\n"
                               "4:memory:/m/u10001/run-1\n0::/unified\n";

    (void)state;
    assert_path(both, "cpu", "/a/b");
    assert_path(both, "cpuacct", "/a/b");
    assert_path(both, "pids", "/p:q");
    assert_path(both, "memory", "/m/u10001/run-1");
    assert_path(both, "", "/unified");
    assert_path(both, "cp", NULL);
    assert_path(both, "systemd", NULL);
    assert_path("0::/", "", "/");
    assert_path("4:memory:/m\n", "", NULL);
    assert_path("", "", NULL);
    assert_path("garbage\n0::/x\n", "", NULL);
}

static void a_group_counts_only_by_its_whole_name(void **state)
{
    (void)state;
    assert_true(ends_with("/h/u10001/run-1", 15, "/u10001/run-1"));
    assert_false(ends_with("/h/u10001/run-1/x", 17, "/u10001/run-1"));
    assert_false(ends_with("/h/u110001/run-1", 16, "/u10001/run-1"));
    assert_false(ends_with("run-1", 5, "/u10001/run-1"));
}

static void the_options_name_each_controller_once(void **state)
{
    struct cgroup_config c = {0};

    (void)state;
    assert_int_equal(cgroup_config_v1(&c, "memory=/m"), 0);
    assert_int_equal(cgroup_config_v1(&c, "pids=/p"), 0);
    assert_int_equal(cgroup_config_v1(&c, "cpuacct=/a"), 0);
    assert_null(c.v1_dirs[CGROUP_CPU]);
    assert_int_equal(cgroup_config_v1(&c, "cpu=/c"), 0);
    assert_string_equal(c.v1_dirs[CGROUP_MEMORY], "/m");
    assert_string_equal(c.v1_dirs[CGROUP_PIDS], "/p");
    assert_string_equal(c.v1_dirs[CGROUP_CPU], "/c");
    assert_string_equal(c.v1_dirs[CGROUP_CPUACCT], "/a");
    assert_int_equal(cgroup_config_v1(&c, "pids=/p"), -EINVAL);
    assert_int_equal(cgroup_config_v1(&c, "io=/i"), -EINVAL);
    assert_int_equal(cgroup_config_v1(&c, "memory"), -EINVAL);
    c = (struct cgroup_config){0};
    assert_int_equal(cgroup_config_v1(&c, "memory=m"), -EINVAL);
    assert_int_equal(cgroup_config_v1(&c, "memoryx=/m"), -EINVAL);
}

static void both_versions_at_once_are_refused(void **state)
{
    const struct cgroup_config c = {.v2_dir = "/", .v1_dirs = {"/"}};
    struct cgroup *cg;
    const char *what;

    (void)state;
    assert_int_equal(cgroup_new(&c, &cg, &what), -EINVAL);
}

static void what_is_no_tree_is_refused(void **state)
{
    const struct cgroup_config v2 = {.v2_dir = "/proc"}, v1 = {.v1_dirs = {"/proc"}};
    const struct cgroup_config lite = {.v2_dir = "/proc", .is_lite = true};
    const struct cgroup_config nowhere = {.v2_dir = "/nonexistent/cgroup"};
    struct cgroup *cg;
    const char *what;

    (void)state;
    assert_int_equal(cgroup_new(&v2, &cg, &what), -ENODEV);
    assert_int_equal(cgroup_new(&lite, &cg, &what), -ENODEV);
    assert_string_equal(what, "--cgroup-lite: it is no directory of a version 2 tree");
    assert_int_equal(cgroup_new(&v1, &cg, &what), -ENODEV);
    assert_int_equal(cgroup_new(&nowhere, &cg, &what), -ENOENT);
    assert_string_equal(what, "/nonexistent/cgroup");
}

/* What a run gets where nobody said anything. */
static const struct plan *shipped_plan(void)
{
    static const struct plan_ask nothing;
    static struct policy policy;
    static struct plan plan;
    const char *field;

    policy_defaults(&policy);
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &nothing, &plan, &field), 0);
    return &plan;
}

static void without_a_directory_there_are_no_leaves(void **state)
{
    const struct cgroup_config none = {0};
    struct cgroup_leaf some = {0}, *leaf = &some;
    struct wire_receipt r = {0};
    struct wire_usage u;
    int fds[CGROUP_TREES_MAX];
    struct cgroup *cg;
    const char *what;
    size_t n = 9;

    (void)state;
    assert_int_equal(cgroup_new(&none, &cg, &what), 0);
    assert_int_equal(cgroup_mode(cg), WIRE_CGROUP_NONE);
    assert_false(cgroup_counts_cpu(cg));
    assert_int_equal(cgroup_leaf_new(cg, CGROUP_RUN, 10001, "0", shipped_plan(), &leaf, &what), 0);
    assert_null(leaf);
    assert_int_equal(cgroup_leaf_fds(leaf, fds, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(cgroup_leaf_read(leaf, "0::/somewhere\n", 1, &r), 0);
    assert_int_equal(r.cgroup_mode, WIRE_CGROUP_NONE);
    assert_string_equal(r.cgroup_leaf, "/somewhere");
    assert_true(cgroup_leaf_matches(leaf, &r));
    r.cgroup_mode = WIRE_CGROUP_V2;
    assert_false(cgroup_leaf_matches(leaf, &r));
    cgroup_leaf_usage(leaf, &u);
    assert_true(u.oom_kills == WIRE_NOT_KNOWN && u.memory_peak_bytes == WIRE_NOT_KNOWN);
    free(cg);
}

static void a_mode_is_met_by_itself_and_what_is_stronger(void **state)
{
    (void)state;
    assert_true(request_mode_is_met(WIRE_CGROUP_NONE, WIRE_CGROUP_NONE));
    assert_true(request_mode_is_met(WIRE_CGROUP_NONE, WIRE_CGROUP_V2));
    assert_true(request_mode_is_met(WIRE_CGROUP_V1, WIRE_CGROUP_V2));
    assert_true(request_mode_is_met(WIRE_CGROUP_V2, WIRE_CGROUP_V2));
    assert_false(request_mode_is_met(WIRE_CGROUP_V1, WIRE_CGROUP_NONE));
    assert_false(request_mode_is_met(WIRE_CGROUP_V2, WIRE_CGROUP_V1));
    assert_false(request_mode_is_met(99, WIRE_CGROUP_V2));
}

/* --- limits that are not the plan's, of either version -------------------------------------- */

static void a_receipt_with_another_limit_does_not_match(void **state)
{
    const struct plan_cgroup *plan = &shipped_plan()->leaf;
    const struct wire_receipt good = {
        .cgroup_mode = WIRE_CGROUP_V2,
        .cgroup_memory_max = plan->memory_max_bytes,
        .cgroup_swap_max = plan->swap_max_bytes,
        .cgroup_pids_max = plan->pids_max,
        .cgroup_cpu_quota_us = plan->cpu_quota_us,
        .cgroup_cpu_period_us = plan->cpu_period_us,
        .cgroup_oom_group = 1,
    };
    struct cgroup cg = {.ops = &cgroup_v2_ops};
    struct cgroup_user user = {0};
    struct cgroup_leaf leaf = {
        .cg = &cg, .kind = CGROUP_RUN, .user = &user, .plan = *plan, .node = {{0, 0, 0}}};

    (void)state;
    cgroup_node_init(&user.node); /* no controller io */
    for (int version = 1; version <= 2; version++) {
        struct wire_receipt r = good;

        cg.ops = version == 1 ? &cgroup_v1_ops : &cgroup_v2_ops;
        r.cgroup_mode = cg.ops->mode;
        assert_true(cgroup_leaf_matches(&leaf, &r));
#define DIFFERS(field, value)                                                                      \
    do {                                                                                           \
        struct wire_receipt other = r;                                                             \
                                                                                                   \
        other.field = value;                                                                       \
        assert_false(cgroup_leaf_matches(&leaf, &other));                                          \
    } while (0)
        DIFFERS(cgroup_mode, WIRE_CGROUP_NONE);
        DIFFERS(cgroup_memory_max, 0);
        DIFFERS(cgroup_memory_max, plan->memory_max_bytes + 4096);
        DIFFERS(cgroup_swap_max, 4096);
        DIFFERS(cgroup_pids_max, 0);
        DIFFERS(cgroup_pids_max, plan->pids_max + 1);
        DIFFERS(cgroup_cpu_quota_us, 0);
        DIFFERS(cgroup_cpu_period_us, plan->cpu_period_us / 2);
        if (version == 2) {
            DIFFERS(cgroup_swap_max, UINT64_MAX);
            DIFFERS(cgroup_oom_group, 0);
        }
    }
}

/* --- a group that still holds memory -------------------------------------------------------- */

static uint64_t charged;
static int charged_error;

static int fake_memory(const struct cgroup_node *user, uint64_t *ret_bytes)
{
    (void)user;
    *ret_bytes = charged;
    return charged_error;
}

static uint64_t memory_of_all = UINT64_MAX;
static struct plan_cgroup limits_set;

static int fake_memory_of_all(const struct cgroup_node *root, uint64_t *ret_bytes)
{
    (void)root;
    *ret_bytes = memory_of_all;
    return memory_of_all == 0 ? -EACCES : 0;
}

static int fake_limit(const struct cgroup_node *user, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    (void)user;
    (void)ret_what;
    limits_set = *plan;
    return 0;
}

/* The kernel has what was set last. */
static int fake_read(const struct cgroup_node *user, struct wire_receipt *r)
{
    (void)user;
    r->cgroup_memory_max = limits_set.memory_max_bytes;
    r->cgroup_pids_max = limits_set.pids_max;
    return 0;
}

static const struct cgroup_ops fake_ops = {.mode = WIRE_CGROUP_V2,
                                           .read = fake_read,
                                           .limit_user = fake_limit,
                                           .memory_of_all = fake_memory_of_all,
                                           .memory = fake_memory};

/* A user whose last leaf went long ago, in a directory that stands for a tree; then a cleaning. */
static void user_idle(struct cgroup *cg, uint32_t uid)
{
    struct cgroup_user *user;
    const char *what;

    assert_int_equal(cgroup_user_get(cg, uid, &shipped_plan()->user, &user, &what), 0);
    user->empty_ms -= 3600 * 1000;
    cgroup_clean(cg);
}

static bool has_dir(const struct cgroup *cg, const char *name)
{
    return faccessat(cg->root.dirs[0], name, F_OK, 0) == 0;
}

static void a_group_is_kept_while_there_is_memory_in_it_and_found_again(void **state)
{
    char top[] = "/tmp/atelier-cgroup-XXXXXX";
    struct cgroup cg = {.ops = &fake_ops};
    struct cgroup_user *user;
    const char *what;

    (void)state;
    assert_non_null(mkdtemp(top));
    cgroup_node_init(&cg.root);
    cg.root.dirs[0] = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    charged = 4 << 20;
    user_idle(&cg, 10001); /* positive control: at rest it goes */
    assert_false(has_dir(&cg, "u10001"));
    assert_int_equal(cg.look_ms, 0);

    charged = 17 << 20;
    user_idle(&cg, 10001);
    assert_true(has_dir(&cg, "u10001"));
    assert_null(cg.users); /* nothing of it stays open */
    assert_true(cg.look_ms > clock_ms());
    /* Somebody who comes back has it: not to be looked at meanwhile, whatever is in it. */
    assert_int_equal(cgroup_user_get(&cg, 10001, &shipped_plan()->user, &user, &what), 0);
    user->leaves = 1;
    charged = 0;
    cg.look_ms = 1;
    cgroup_clean(&cg);
    assert_true(has_dir(&cg, "u10001"));
    user->leaves = 0;
    charged = 17 << 20;
    user_idle(&cg, 10001);

    charged = 0;
    charged_error = -EIO; /* not to know is to keep */
    cg.look_ms = 1;
    cgroup_clean(&cg);
    assert_true(has_dir(&cg, "u10001"));
    charged_error = 0;
    assert_int_equal(mkdirat(cg.root.dirs[0], "other", 0755), 0);
    cg.look_ms = 1;
    cgroup_clean(&cg);
    assert_false(has_dir(&cg, "u10001"));
    assert_true(has_dir(&cg, "other")); /* somebody else's */
    assert_int_equal(cg.look_ms, 0);
    assert_int_equal(unlinkat(cg.root.dirs[0], "other", AT_REMOVEDIR), 0);
    cgroup_node_close(&cg.root);
    assert_int_equal(rmdir(top), 0);
}

static uint64_t limit_with(struct cgroup *cg, uint64_t all)
{
    struct cgroup_user *user;
    const char *what;

    memory_of_all = all;
    limits_set = (struct plan_cgroup){0};
    if (cgroup_user_get(cg, 10001, &shipped_plan()->user, &user, &what) < 0)
        return 0;
    cgroup_user_free(cg, user);
    assert_int_equal(limits_set.pids_max, shipped_plan()->user.pids_max);
    return limits_set.memory_max_bytes;
}

static void nobody_gets_more_than_half_of_what_all_have(void **state)
{
    const uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t most = shipped_plan()->user.memory_max_bytes;
    char top[] = "/tmp/atelier-cgroup-XXXXXX";
    struct cgroup cg = {.ops = &fake_ops};

    (void)state;
    assert_non_null(mkdtemp(top));
    cgroup_node_init(&cg.root);
    cg.root.dirs[0] = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(limit_with(&cg, most) == (host < most ? host : most) / 2);
    assert_true(limit_with(&cg, 64 << 20) == 32 << 20);
    assert_true(limit_with(&cg, UINT64_MAX) == (host / 2 < most ? host / 2 : most));
    assert_true(limit_with(&cg, 0) == 0); /* not to know refuses */
    memory_of_all = UINT64_MAX;
    assert_int_equal(unlinkat(cg.root.dirs[0], "u10001", AT_REMOVEDIR), 0);
    cgroup_node_close(&cg.root);
    assert_int_equal(rmdir(top), 0);
}

static void set_with(struct cgroup *cg, unsigned leaves, uint64_t memory, uint64_t pids,
                     uint64_t want_memory, uint64_t want_pids)
{
    const struct plan_cgroup plan = {.memory_max_bytes = memory << 20, .pids_max = pids};
    struct cgroup_user *user;
    const char *what;

    if (cg->users)
        cg->users->leaves = leaves;
    assert_int_equal(cgroup_user_get(cg, 10001, &plan, &user, &what), 0);
    assert_true(limits_set.memory_max_bytes == want_memory << 20);
    assert_int_equal(limits_set.pids_max, want_pids);
}

static void a_lower_limit_of_a_user_waits_for_who_is_there(void **state)
{
    char top[] = "/tmp/atelier-cgroup-XXXXXX";
    struct cgroup cg = {.ops = &fake_ops};
    struct cgroup_user *user;
    const char *what;

    (void)state;
    assert_non_null(mkdtemp(top));
    cgroup_node_init(&cg.root);
    cg.root.dirs[0] = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    set_with(&cg, 0, 64, 100, 64, 100);
    set_with(&cg, 1, 32, 50, 64, 100);   /* lower: it stays */
    set_with(&cg, 1, 128, 50, 128, 100); /* each for itself */
    set_with(&cg, 1, 32, 200, 128, 200);
    set_with(&cg, 0, 32, 50, 32, 50); /* nobody is there */
    limits_set = (struct plan_cgroup){0};
    set_with(&cg, 1, 32, 50, 0, 0); /* nothing is written that is so already */
    assert_int_equal(cgroup_user_get(&cg, 10001, NULL, &user, &what), 0);
    assert_int_equal(limits_set.pids_max, 0);
    cg.users->leaves = 0;
    cgroup_user_free(&cg, cg.users);
    assert_int_equal(unlinkat(cg.root.dirs[0], "u10001", AT_REMOVEDIR), 0);
    cgroup_node_close(&cg.root);
    assert_int_equal(rmdir(top), 0);
}

/* --- the kernel ----------------------------------------------------------------------------- */

static char own_group[PATH_MAX];

/* A group of our own in a version 2 tree. Return: its descriptor, or -1: there is no such tree. */
static int group_make(void)
{
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < 2; i++) {
        char controllers[PATH_MAX];

        (void)snprintf(controllers, sizeof(controllers), "%s/cgroup.controllers", roots[i]);
        (void)snprintf(own_group, sizeof(own_group), "%s/atelier-test-%d", roots[i], getpid());
        if (access(controllers, F_OK) == 0 && mkdir(own_group, 0755) == 0)
            return open(own_group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return -1;
}

static _Noreturn void group_tell(int out)
{
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    char text[PATH_MAX];
    ssize_t n = 0;

    if (fd >= 0)
        n = read(fd, text, sizeof(text));
    _exit(n > 0 && write(out, text, (size_t)n) == n ? 0 : 1);
}

/* What a child sees of its version 2 group that is born in our group. */
static void group_seen(int group, uint64_t flags, char *ret_path, size_t size)
{
    struct clone_args args = {
        .flags = (uint64_t)CLONE_INTO_CGROUP | flags,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)(unsigned)group,
    };
    char text[PATH_MAX] = "";
    const char *path;
    int pair[2], status;
    size_t len;
    long pid;

    assert_int_equal(pipe(pair), 0);
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        group_tell(pair[1]);
    (void)close(pair[1]);
    assert_true(pid > 0);
    assert_true(read(pair[0], text, sizeof(text) - 1) > 0);
    (void)close(pair[0]);
    assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
    assert_int_equal(status, 0);
    path = member_path(text, "", &len);
    assert_non_null(path);
    (void)snprintf(ret_path, size, "%.*s", (int)len, path);
}

static void who_is_born_in_a_group_has_it_as_the_root_of_its_namespace(void **state)
{
    char path[PATH_MAX], name[64];
    int group;

    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root makes control groups\n");
        skip();
    }
    group = group_make();
    if (group < 0) {
        print_message("skipped: there is no version 2 tree, or nothing can be made in it\n");
        skip();
    }
    (void)snprintf(name, sizeof(name), "/atelier-test-%d", getpid());
    group_seen(group, 0, path, sizeof(path)); /* positive control: the group has a name */
    assert_non_null(strstr(path, name));
    group_seen(group, CLONE_NEWCGROUP, path, sizeof(path));
    assert_string_equal(path, "/");
    (void)close(group);
}

static int group_remove(void **state)
{
    (void)state;
    return own_group[0] && rmdir(own_group) < 0 && errno != ENOENT ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_group_of_a_process_is_found_by_its_tree),
        cmocka_unit_test(a_group_counts_only_by_its_whole_name),
        cmocka_unit_test(the_options_name_each_controller_once),
        cmocka_unit_test(both_versions_at_once_are_refused),
        cmocka_unit_test(what_is_no_tree_is_refused),
        cmocka_unit_test(without_a_directory_there_are_no_leaves),
        cmocka_unit_test(a_mode_is_met_by_itself_and_what_is_stronger),
        cmocka_unit_test(a_receipt_with_another_limit_does_not_match),
        cmocka_unit_test(a_group_is_kept_while_there_is_memory_in_it_and_found_again),
        cmocka_unit_test(nobody_gets_more_than_half_of_what_all_have),
        cmocka_unit_test(a_lower_limit_of_a_user_waits_for_who_is_there),
        cmocka_unit_test_teardown(who_is_born_in_a_group_has_it_as_the_root_of_its_namespace,
                                  group_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

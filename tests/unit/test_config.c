/* SPDX-License-Identifier: ISC */
/* test_config.c - the policy: values, sections, files and whose they are, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config_fixture.h"

#include "common/banned.h"

#define MIB (1ull << 20)

/* --- what is shipped ----------------------------------------------------------------------- */

static void nothing_said_is_what_is_shipped(void **state)
{
    const struct policy_profile *run = &policy.profiles[POLICY_RUN],
                                *login = &policy.profiles[POLICY_LOGIN],
                                *user = &policy.profiles[POLICY_USER];

    (void)state;
    policy_defaults(&other);
    assert_int_equal(config_read("/nonexistent/atelier", 0, &policy, &error), 0);
    assert_memory_equal(&policy, &other, sizeof(policy));
    assert_int_equal(config_read(dir, geteuid(), &policy, &error), 0);
    assert_memory_equal(&policy, &other, sizeof(policy));
    assert_int_equal(read_text("", &policy), 0);
    assert_memory_equal(&policy, &other, sizeof(policy));
    assert_int_equal(policy.count, 3);
    assert_int_equal(run->values[POLICY_KEY_MEMORY], 512 * MIB);
    assert_int_equal(run->values[POLICY_KEY_PIDS], 128);
    assert_int_equal(run->values[POLICY_KEY_CPU], 100);
    assert_int_equal(run->values[POLICY_KEY_WALL], 30000);
    assert_int_equal(run->values[POLICY_KEY_WALL_MAX], 600000);
    assert_int_equal(run->values[POLICY_KEY_CPU_TIME], 0);
    assert_int_equal(run->values[POLICY_KEY_OUTPUT], MIB);
    assert_int_equal(run->values[POLICY_KEY_OUTPUT_MAX], 16 * MIB);
    assert_int_equal(run->values[POLICY_KEY_TMP], 128 * MIB);
    assert_int_equal(run->values[POLICY_KEY_VAR_TMP], 32 * MIB);
    assert_int_equal(run->values[POLICY_KEY_HOME_FILES], 32768);
    assert_int_equal(run->values[POLICY_KEY_NOFILE], 4096);
    assert_int_equal(run->values[POLICY_KEY_FSIZE], 1024 * MIB);
    assert_int_equal(login->values[POLICY_KEY_MEMORY], 1024 * MIB);
    assert_int_equal(login->values[POLICY_KEY_PIDS], 256);
    assert_int_equal(login->values[POLICY_KEY_HOME], 0);
    assert_int_equal(user->values[POLICY_KEY_MEMORY], 1536 * MIB);
    assert_int_equal(user->values[POLICY_KEY_PIDS], 448);
}

/* --- each key ------------------------------------------------------------------------------ */

/* A policy in which only this key can be wrong. */
static int read_key(enum policy_kind kind, enum policy_key key, const char *value)
{
    char text[512];

    (void)snprintf(
        text, sizeof(text),
        "user {\n memory = 256G\n pids = 16384\n}\n%s {\n memory = 256G\n%s\n %s = %s\n}\n",
        policy_kind_names[kind],
        kind == POLICY_RUN ? " wall = 100ms\n wall_max = 1h\n output = 1K cpu_time = 1s" : "",
        policy_keys[key].name, value);
    return read_text(text, &policy);
}

static void refused(enum policy_kind kind, enum policy_key key, const char *value)
{
    char want[128];

    policy_defaults(&policy);
    other = policy;
    assert_int_equal(read_key(kind, key, value), -EINVAL);
    (void)snprintf(want, sizeof(want), "%s:%d: %s: %s: ", path_of("one"),
                   kind == POLICY_RUN ? 10 : 8, policy_kind_names[kind], policy_keys[key].name);
    assert_memory_equal(error.text, want, strlen(want));
    assert_memory_equal(&policy, &other, sizeof(policy));
}

static uint64_t step_of(enum policy_key key)
{
    enum policy_type type = policy_keys[key].type;

    if (type == POLICY_BYTES)
        return 65536;
    if (type == POLICY_TIME_CPU)
        return 1000;
    return type == POLICY_KIB || type == POLICY_RATE ? 1024 : 1;
}

static void each_value_has_two_ends_and_a_unit(void **state)
{
    (void)state;
    for (unsigned n = 0; n < POLICY_KEY__COUNT * POLICY_KIND__COUNT; n++) {
        enum policy_key key = (enum policy_key)(n / POLICY_KIND__COUNT);
        enum policy_kind kind = (enum policy_kind)(n % POLICY_KIND__COUNT);
        const struct policy_key_info *k = &policy_keys[key];
        const char *const wrong[] = {"\"\"",  "x",    "-1",  "1x",
                                     "1 ",    "0x10", "1e3", "99999999999999999999",
                                     "1.5.5", "1kB",  "1 M"};
        char text[POLICY_VALUE_SIZE];

        if (!policy_key_is_of(key, kind))
            continue;
        /* 16M of memory is less than what is shipped for files, and 16 processes of a user less
         * than those of a run: other errors, see below. */
        for (unsigned end = key == POLICY_KEY_MEMORY || kind == POLICY_USER; end < 2; end++) {
            uint64_t v = end == 0 ? k->least : k->most;

            policy_value_text(key, v, text);
            assert_int_equal(read_key(kind, key, text), 0);
            assert_int_equal(policy.profiles[kind].values[key], v);
        }
        if (k->type != POLICY_TIME_CPU) { /* where 0 is none */
            policy_value_text(key, k->least - step_of(key), text);
            refused(kind, key, text);
        }
        policy_value_text(key, k->most + step_of(key), text);
        refused(kind, key, text);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            char quoted[64];

            (void)snprintf(quoted, sizeof(quoted), wrong[i][0] == '"' ? "%s" : "\"%s\"", wrong[i]);
            refused(kind, key, quoted);
        }
        switch (k->type) {
        case POLICY_BYTES:
            refused(kind, key, "1048577K"); /* no whole page of 64K */
            refused(kind, key, "1073741824");
            refused(kind, key, "1024s");
            break;
        case POLICY_KIB:
        case POLICY_RATE:
            refused(kind, key, "8192");
            break;
        case POLICY_TIME:
            refused(kind, key, "10");
            refused(kind, key, "10M");
            refused(kind, key, "none");
            break;
        case POLICY_TIME_CPU:
            refused(kind, key, "1500ms");
            refused(kind, key, "0s");
            break;
        case POLICY_COUNT:
            refused(kind, key, "1K");
            break;
        case POLICY_CPU:
            refused(kind, key, "1.");
            refused(kind, key, "0.001");
            refused(kind, key, "50%");
            break;
        }
    }
}

static void a_value_is_the_same_in_every_unit(void **state)
{
    static const struct {
        enum policy_key key;
        const char *text;
        uint64_t value;
        const char *shortest;
    } rows[] = {
        {POLICY_KEY_MEMORY, "1536M", 1536 * MIB, "1536M"},
        {POLICY_KEY_MEMORY, "2048M", 2048 * MIB, "2G"},
        {POLICY_KEY_MEMORY, "32768K", 32 * MIB, "32M"},
        {POLICY_KEY_CPU, "0.5", 50, "0.5"},
        {POLICY_KEY_CPU, "2.25", 225, "2.25"},
        {POLICY_KEY_CPU, "10", 1000, "10"},
        {POLICY_KEY_WALL, "90s", 90000, "90s"},
        {POLICY_KEY_WALL, "120s", 120000, "2min"},
        {POLICY_KEY_WALL, "1h", 3600000, "1h"},
        {POLICY_KEY_WALL, "1500ms", 1500, "1500ms"},
        {POLICY_KEY_CPU_TIME, "none", 0, "none"},
        {POLICY_KEY_FSIZE, "1T", MIB * MIB, "1T"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char fault[128], text[POLICY_VALUE_SIZE];
        uint64_t v;

        assert_int_equal(policy_value_parse(rows[i].key, rows[i].text, &v, fault), 0);
        assert_int_equal(v, rows[i].value);
        policy_value_text(rows[i].key, v, text);
        assert_string_equal(text, rows[i].shortest);
    }
}

/* --- messages ------------------------------------------------------------------------------ */

static void what_is_wrong_is_named_with_its_line(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"run {\n memry = 1G\n}\n", ":2: run: there is no key 'memry'; did you mean memory?"},
        {"\nx = 3\n",
         ":2: there is no section 'x'; known: run, login, user, profile, network, disk"},
        {"\nrun {\n pids = 128\n", ":2: a { that is not closed"},
        {"run {\n trees = {/opt/a\n}\n", ":1: a { that is not closed"},
        {"run { memory = }", ":1: run: unexpected token '}'"},
        {"}", ":1: unexpected closing brace"},
        {"run = 3", ":1: missing opening brace for section 'run'"},
        {"\nrun { memory += 1G }", ":2: run: attempt to append to non-list option 'memory'"},
        {"include(\"/etc/passwd\")",
         ":1: there is no section 'include'; known: run, login, user, profile, network, disk"},
        {"run {\n}\n\"\nlogin {\n}\n", ":3: a quote that is not closed"},
        {"# it's fine\nrun {\n}\n/* login {\n}\n", ":4: a comment that is not closed"},
        {"run {\n memory = \"${HOME}\"\n}", ":2: $ is not possible here"},
        {"run {\n\001\n}", ":2: a character that is no text"},
        {"run { base = login }", ":1: run: there is no key 'base'; it is a key of profile"},
        {"run { uids = {10001} }", ":1: run: there is no key 'uids'; it is a key of profile"},
        {"user { trees = {} }", ":1: user: there is no key 'trees'; it is a key of run, login"},
        {"user {\n tmp = 1M\n}", ":2: user: there is no key 'tmp'; it is a key of run, login"},
        {"login {\n wall = 1s\n}", ":2: login: there is no key 'wall'; it is a key of run"},
        {"\nmemory = 1G\n", ":2: there is no section 'memory'; it is a key of run, login, user"},
        {"\nnetwokr { }\n", ":2: there is no section 'netwokr'; did you mean network?"},
        {"login {\n x = 3 }",
         ":2: login: there is no key 'x'; known: memory, pids, cpu, tmp, tmp_files, var_tmp, "
         "var_tmp_files, shm, shm_files, nofile, fsize, required, trees, skills"},
        {"profile a {\n x = 3 }",
         ":2: profile a: there is no key 'x'; known: memory, pids, cpu, wall, wall_max, cpu_time, "
         "cpu_time_max, output, output_max, tmp, tmp_files, var_tmp, var_tmp_files, shm, "
         "shm_files, home, home_files, nofile, fsize, disk, disk_files, io_weight, io_read, "
         "io_write, required, trees, skills, base, uids, gids"},
        {"run { cpu_time = never }",
         ":1: run: cpu_time: 'never' is not a number with one of the units ms, s, min, h, or none"},
        {"profile a {\n base = logn }\nprofile b { base = run }",
         ":2: profile a: base: there is no profile logn; did you mean login?"},
        {"profile {}", ":1: missing title for section 'profile'"},
        {"profile run {\n base = run }", ":2: profile: 'run' is no name for a profile"},
        {"profile Big {\n base = run\n}", ":2: profile: 'Big' is no name for a profile"},
        {"profile a {\n}", ":2: profile a: base: it is missing"},
        {"profile a {\n base = run\n}\nprofile b {\n base = run\n}\nprofile a {\n trees = {}\n}",
         ":7: found duplicate title 'a'"},
        {"profile a {\n base = b\n}",
         ":2: profile a: base: there is no profile b; known: run, login, user"},
        {"profile a {\n base = b }\nprofile b {\n base = a }",
         ":2: profile a: base: it is its own base"},
        {"profile a {\n base = a }", ":2: profile a: base: it is its own base"},
        {"profile a {\n base = login\n wall = 3s\n}",
         ":3: profile a: wall: a profile of kind login has no such key"},
        {"run {\n required = {memory,\n disk}\n}",
         ":3: run: required: 'disk' is none of memory, pids, cpu"},
        {"login { required = {\"\"} }", ":1: login: required: '' is none of memory, pids, cpu"},
        {"user {\n required = {pids, cpu}\n}", ":2: user: required: 'cpu' is none of memory, pids"},
        {"profile a {\n base = user\n required = {cpu}\n}",
         ":3: profile a: required: 'cpu' is none of memory, pids"},
        {"profile a {\n base = user\n trees = {/opt/a}\n}",
         ":3: profile a: trees: a profile of kind user has no such key"},
        {"run {\n memory = 64M\n}", ":2: run: tmp: 128M is more than memory, which is 64M"},
        {"run {\n shm = 600M\n}", ":2: run: shm: 600M is more than memory, which is 512M"},
        {"login {\n var_tmp = 2G\n}", ":2: login: var_tmp: 2G is more than memory, which is 1G"},
        {"run {\n home = 1G\n memory = 768M\n}",
         ":3: run: home: 1G is more than memory, which is 768M"},
        {"run {\n wall = 20min\n}", ":2: run: wall: 20min is more than wall_max, which is 10min"},
        {"run {\n cpu_time_max = 9s\n}",
         ":2: run: cpu_time: none is more than cpu_time_max, which is 9s"},
        {"run {\n cpu_time_max = 9s\n cpu_time = 10s\n}",
         ":3: run: cpu_time: 10s is more than cpu_time_max, which is 9s"},
        {"run {\n output_max = 512K\n}",
         ":2: run: output: 1M is more than output_max, which is 512K"},
        {"run {\n memory = 2G\n}", ":2: run: memory: 2G is more than user: memory, which is 1536M"},
        {"user {\n\n pids = 100\n}", ":3: run: pids: 128 is more than user: pids, which is 100"},
        {"profile a {\n base = run\n memory = 4G\n}",
         ":3: profile a: memory: 4G is more than user: memory, which is 1536M"},
        {"profile a {\n base = run\n uids = {10001}\n}\nprofile b {\n base = run\n uids = "
         "{10001}\n}",
         ":7: profile b: uids: 10001 is named by profile a"},
        {"profile a {\n base = run\n gids = {10001,\n 10001}\n}",
         ":4: profile a: gids: 10001 is named by profile this one twice"},
        {"profile a {\n base = run\n uids = {alice}\n}",
         ":3: profile a: uids: this is no number; names are not looked up"},
        {"profile a {\n base = run\n gids = {0}\n}",
         ":3: profile a: gids: no participant can have this number"},
        {"profile a {\n base = run\n uids = {59900}\n}",
         ":3: profile a: uids: no participant can have this number"},
        {"run {\n trees = {\"/opt/a\",\n \"/etc/x\"}\n}",
         ":3: run: trees: /etc/x: that part of the host is not for participants, or is there "
         "already"},
        {"run {\n trees = {\"/opt/a\", \"/opt/a/b\"}\n}",
         ":2: run: trees: /opt/a/b is in /opt/a already"},
        {"run {\n trees = {/o/1,/o/2,/o/3,/o/4,/o/5,/o/6,/o/7,/o/8,\n/o/9}\n}",
         ":3: run: trees: more than 8 directories"},
    };

    (void)state;
    policy_defaults(&other);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        policy = other;
        if (read_text(rows[i].text, &policy) != -EINVAL)
            fail_msg("this is taken: %s", rows[i].text);
        assert_error("one", rows[i].message);
        assert_memory_equal(&policy, &other, sizeof(policy));
    }
}

static void a_tree_uncovers_nothing(void **state)
{
    static const char *const bad[] = {"/",
                                      "//",
                                      "",
                                      "opt",
                                      "./opt",
                                      "/opt/",
                                      "/opt//a",
                                      "/opt/.",
                                      "/opt/../etc",
                                      "/..",
                                      "/etc",
                                      "/etc/ssl/private",
                                      "/home",
                                      "/home/atelier/alice",
                                      "/root/x",
                                      "/proc",
                                      "/proc/1/root",
                                      "/sys/fs",
                                      "/dev/shm",
                                      "/run/systemd",
                                      "/var",
                                      "/var/lib",
                                      "/var/lib/atelier/registry",
                                      "/tmp",
                                      "/tmp/a",
                                      "/usr",
                                      "/usr/share",
                                      "/bin",
                                      "/lib64/x",
                                      "/boot",
                                      "/opt/a b",
                                      "/opt/\"x",
                                      "/opt/\xc3\xa9"};
    static const char *const good[] = {"/opt", "/opt/course",   "/srv/data/2026", "/etcetera",
                                       "/nfs", "/data/.hidden", "/opt/..a",       "/homes"};
    char long_path[POLICY_TREE_SIZE + 1] = "/opt/";

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(policy_tree_fault(bad[i]));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_null(policy_tree_fault(good[i]));
    memset(long_path + 5, 'a', POLICY_TREE_SIZE - 5);
    assert_non_null(policy_tree_fault(long_path));
    long_path[POLICY_TREE_SIZE - 1] = '\0';
    assert_null(policy_tree_fault(long_path));
}

/* --- profiles ------------------------------------------------------------------------------ */

static const char course[] = "profile small {\n base = tiny\n memory = 128M tmp = 64M home = 64M\n"
                             " gids = {10020, 10021}\n}\n"
                             "profile tiny {\n base = run\n pids = 32\n uids = {10001}\n"
                             " trees = {/opt/course}\n}\n"
                             "profile staff { base = user\n memory = 4G gids = {10030} }\n"
                             "profile staff-run { base = run\n memory = 4G gids = {10030}\n"
                             " trees = {/opt/staff} }\n"
                             "profile guest { base = login\n cpu = 0.5 uids = {10001} }\n";

static void a_profile_has_what_its_base_has(void **state)
{
    const struct policy_profile *p;

    (void)state;
    assert_int_equal(read_text(course, &policy), 0);
    p = profile_of(&policy, "small");
    assert_int_equal(p->kind, POLICY_RUN);
    assert_int_equal(p->values[POLICY_KEY_MEMORY], 128 * MIB);
    assert_int_equal(p->values[POLICY_KEY_PIDS], 32);
    assert_int_equal(p->values[POLICY_KEY_NOFILE], 4096);
    assert_int_equal(p->tree_count, 1);
    assert_string_equal(p->trees[0], "/opt/course");
    assert_int_equal(p->uid_count, 0);
    assert_int_equal(p->gid_count, 2);
    assert_int_equal(policy.profiles[POLICY_RUN].values[POLICY_KEY_PIDS], 128);
}

static const char *found(enum policy_kind kind, uint32_t uid, uint32_t a, uint32_t b,
                         enum policy_why want)
{
    const uint32_t gids[] = {a, b};
    const struct policy_profile *p;
    enum policy_why why;

    p = policy_find(&policy, kind, uid, gids, 2, &why, NULL);
    assert_int_equal(why, want);
    return p->name;
}

static void a_uid_comes_before_a_group_and_the_first_profile_first(void **state)
{
    (void)state;
    assert_int_equal(read_text(course, &policy), 0);
    assert_string_equal(found(POLICY_RUN, 10005, 10006, 10007, POLICY_WHY_SHIPPED), "run");
    assert_string_equal(found(POLICY_RUN, 10001, 10020, 10030, POLICY_WHY_UID), "tiny");
    assert_string_equal(found(POLICY_RUN, 10005, 10030, 10021, POLICY_WHY_GID), "small");
    assert_string_equal(found(POLICY_RUN, 10005, 10006, 10030, POLICY_WHY_GID), "staff-run");
    assert_string_equal(found(POLICY_RUN, 10030, 10006, 10007, POLICY_WHY_GID), "staff-run");
    assert_string_equal(found(POLICY_LOGIN, 10001, 10006, 10007, POLICY_WHY_UID), "guest");
    assert_string_equal(found(POLICY_LOGIN, 10005, 10020, 10030, POLICY_WHY_SHIPPED), "login");
    assert_string_equal(found(POLICY_USER, 10005, 10006, 10030, POLICY_WHY_GID), "staff");
}

static void what_is_shown_is_read_back_as_the_same(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    (void)state;
    assert_int_equal(read_text(course, &policy), 0);
    f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(policy_show(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_text(text, &other), 0);
    assert_memory_equal(&policy, &other, sizeof(policy));
    free(text);
}

/* --- files --------------------------------------------------------------------------------- */

static int read_dir(void)
{
    return config_read(dir, geteuid(), &policy, &error);
}

static void of_several_files_the_last_counts_key_by_key(void **state)
{
    static const char first[] = "run {\n pids = 100\n nofile = 100\n trees = {/opt/a}\n}\n"
                                "profile a { base = run\n pids = 90\n uids = {10001} }\n",
                      second[] = "run { pids = 101 cpu = 0.5 trees = {} }\n",
                      twice[] = "run { trees = {/opt/b} }\nrun { trees = {} }\n",
                      third[] =
                          "run { pids = 102 }\nprofile a { cpu = 2\n uids = {10002, 10003} }\n";
    const struct policy_profile *run = &policy.profiles[POLICY_RUN], *a;

    (void)state;
    away("one");
    assert_int_equal(mkdir(path_of("conf.d"), 0755), 0);
    put("atelier.conf", first, strlen(first));
    put("conf.d/20-b.conf", third, strlen(third));
    put("conf.d/10-a.conf", second, strlen(second));
    put("conf.d/30-c.conf.dpkg-old", "nonsense", 8);
    put("conf.d/.40.conf", "nonsense", 8);
    assert_int_equal(read_dir(), 0);
    assert_int_equal(run->values[POLICY_KEY_PIDS], 102);
    assert_int_equal(run->values[POLICY_KEY_CPU], 50);
    assert_int_equal(run->values[POLICY_KEY_NOFILE], 100);
    assert_int_equal(run->tree_count, 0);
    a = profile_of(&policy, "a");
    assert_int_equal(a->values[POLICY_KEY_PIDS], 90);
    assert_int_equal(a->values[POLICY_KEY_CPU], 200);
    assert_int_equal(a->uid_count, 2);
    assert_int_equal(a->uids[0], 10002);

    put("conf.d/10-a.conf", twice, strlen(twice));
    assert_int_equal(read_dir(), 0);
    assert_int_equal(run->tree_count, 0);
    put("conf.d/10-a.conf", second, strlen(second));

    /* Across files, too, the line is that of what was said last. */
    put("conf.d/20-b.conf", "\n\nuser { memory = 256M }\n", 25);
    assert_int_equal(read_dir(), -EINVAL);
    assert_error("conf.d/20-b.conf",
                 ":3: run: memory: 512M is more than user: memory, which is 256M");
    away("conf.d/20-b.conf");
    away("atelier.conf"); /* conf.d alone is fine */
    assert_int_equal(read_dir(), 0);
    assert_int_equal(run->values[POLICY_KEY_PIDS], 101);
    away("conf.d/10-a.conf");
    away("conf.d/30-c.conf.dpkg-old");
    away("conf.d/.40.conf");
    away("conf.d");
}

static void dir_refused(const char *name, const char *message)
{
    policy_defaults(&policy);
    other = policy;
    assert_int_equal(read_dir(), -EPERM);
    assert_error(name, message);
    assert_memory_equal(&policy, &other, sizeof(policy));
}

static void only_its_owner_may_write_to_a_policy(void **state)
{
    (void)state;
    put("atelier.conf", "run { pids = 99 }", 17);
    assert_int_equal(read_dir(), 0);
    assert_int_equal(policy.profiles[POLICY_RUN].values[POLICY_KEY_PIDS], 99);

    assert_int_equal(chmod(path_of("atelier.conf"), 0664), 0);
    dir_refused("atelier.conf", ": group or others may write to it");
    assert_int_equal(chmod(path_of("atelier.conf"), 0646), 0);
    dir_refused("atelier.conf", ": group or others may write to it");
    assert_int_equal(config_read(dir, CONFIG_ANY_OWNER, &policy, &error), 0);
    assert_int_equal(chmod(path_of("atelier.conf"), 0600), 0);
    assert_int_equal(read_dir(), 0);

    assert_int_equal(chmod(dir, 0775), 0);
    assert_int_equal(read_dir(), -EPERM);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(mkdir(path_of("conf.d"), 0755), 0);
    assert_int_equal(chmod(path_of("conf.d"), 0757), 0);
    dir_refused("conf.d", ": group or others may write to it");
    assert_int_equal(rmdir(path_of("conf.d")), 0);

    assert_int_equal(config_read(dir, geteuid() + 1, &policy, &error), -EPERM);
    assert_string_equal(error.text + strlen(dir), ": it belongs to somebody else");
    away("atelier.conf");
}

static void a_policy_is_a_regular_file(void **state)
{
    (void)state;
    put("real", "", 0);
    assert_int_equal(symlink("real", path_of("atelier.conf")), 0);
    assert_int_equal(read_dir(), -ELOOP);
    assert_error("atelier.conf", ": it is a symbolic link");
    away("atelier.conf");
    assert_int_equal(symlink("nothing", path_of("atelier.conf")), 0);
    assert_int_equal(read_dir(), -ELOOP);
    away("atelier.conf");
    assert_int_equal(mkfifo(path_of("atelier.conf"), 0644), 0);
    dir_refused("atelier.conf", ": it is no regular file");
    away("atelier.conf");
    assert_int_equal(mkdir(path_of("atelier.conf"), 0755), 0);
    dir_refused("atelier.conf", ": it is no regular file");
    away("atelier.conf");
    away("real");
    assert_int_equal(config_read_file(path_of("real"), 0, &policy, &error), -ENOENT);
    assert_error("real", ": No such file or directory");
}

static void a_file_has_an_end(void **state)
{
    size_t size = 64 * 1024;
    char *text = malloc(size + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '\n', size + 1);
    put("one", text, size);
    assert_int_equal(config_read_file(path_of("one"), geteuid(), &policy, &error), 0);
    put("one", text, size + 1);
    assert_int_equal(config_read_file(path_of("one"), geteuid(), &policy, &error), -EFBIG);
    free(text);
}

/* --- nonsense ------------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 11) % n;
}

static size_t mutate(char *text, size_t len, size_t room)
{
    static const char marks[] = "{}=\"'#/*+,;\n\t $()0123456789KMGTrunloge.-_\\\xff";
    uint32_t at = random_below((uint32_t)len + 1), n = random_below(20) + 1;

    switch (random_below(5)) {
    case 0:
        if (at < len)
            text[at] = marks[random_below(sizeof(marks) - 1)];
        return len;
    case 1: /* take away */
        if (at + n > len)
            n = (uint32_t)len - at;
        memmove(text + at, text + at + n, len - at - n);
        return len - n;
    case 2: /* put in */
        if (len + 1 > room)
            return len;
        memmove(text + at + 1, text + at, len - at);
        text[at] = marks[random_below(sizeof(marks) - 1)];
        return len + 1;
    case 3: /* a part twice */
        if (at + n > len || len + n > room)
            return len;
        memmove(text + at + n, text + at, len - at);
        return len + n;
    default:
        return random_below(8) == 0 ? at : len;
    }
}

static void no_file_is_too_wrong(void **state)
{
    const uint32_t rounds = 4000;
    uint32_t good = 0;
    char text[8192];

    (void)state;
    for (uint32_t i = 0; i < rounds; i++) {
        size_t len = sizeof(course) - 1;
        int r;

        memcpy(text, course, len);
        for (uint32_t k = random_below(8) + 1; k > 0; k--)
            len = mutate(text, len, sizeof(text));
        put("one", text, len);
        policy_defaults(&policy);
        other = policy;
        error.text[0] = '\0';
        r = config_read_file(path_of("one"), geteuid(), &policy, &error);
        assert_true(r == 0 || r == -EINVAL);
        good += r == 0;
        if (r < 0) {
            assert_memory_equal(&policy, &other, sizeof(policy));
            assert_memory_equal(error.text, path_of("one"), strlen(path_of("one")));
            assert_true(strlen(error.text) > strlen(path_of("one")) + 4);
        }
    }
    assert_true(good > 0 && good < rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_what_is_shipped),
        cmocka_unit_test(each_value_has_two_ends_and_a_unit),
        cmocka_unit_test(a_value_is_the_same_in_every_unit),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(a_tree_uncovers_nothing),
        cmocka_unit_test(a_profile_has_what_its_base_has),
        cmocka_unit_test(a_uid_comes_before_a_group_and_the_first_profile_first),
        cmocka_unit_test(what_is_shown_is_read_back_as_the_same),
        cmocka_unit_test(of_several_files_the_last_counts_key_by_key),
        cmocka_unit_test(only_its_owner_may_write_to_a_policy),
        cmocka_unit_test(a_policy_is_a_regular_file),
        cmocka_unit_test(a_file_has_an_end),
        cmocka_unit_test(no_file_is_too_wrong),
    };

    return cmocka_run_group_tests(tests, config_setup, config_teardown);
}

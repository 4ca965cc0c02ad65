/* SPDX-License-Identifier: ISC */
/* config_fixture.c - files of a policy in a directory of their own. */
#include "tests/unit/config_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/banned.h"

char dir[] = "/tmp/atelier-config-XXXXXX";
struct policy policy, other;
struct config_error error;

int config_setup(void **state)
{
    (void)state;
    return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

const char *path_of(const char *name)
{
    static char path[4][sizeof(dir) + 64];
    static unsigned turn;

    turn = (turn + 1) % 4;
    (void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
    return path[turn];
}

void put(const char *name, const char *text, size_t size)
{
    FILE *f = fopen(path_of(name), "we");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path_of(name), 0644), 0);
}

void away(const char *name)
{
    assert_true(unlink(path_of(name)) == 0 || rmdir(path_of(name)) == 0);
}

int config_teardown(void **state)
{
    (void)state;
    (void)unlink(path_of("one"));
    return rmdir(dir);
}

int read_text(const char *text, struct policy *ret_policy)
{
    put("one", text, strlen(text));
    return config_read_file(path_of("one"), geteuid(), ret_policy, &error);
}

const struct policy_profile *profile_of(const struct policy *p, const char *name)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (strcmp(p->profiles[i].name, name) == 0)
            return &p->profiles[i];
    }
    fail_msg("there is no profile %s", name);
    abort();
}

/* "FILE:" and the rest. */
void assert_error(const char *file, const char *rest)
{
    size_t n = strlen(path_of(file));

    assert_memory_equal(error.text, path_of(file), n);
    assert_string_equal(error.text + n, rest);
}

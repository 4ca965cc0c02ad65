/* SPDX-License-Identifier: ISC */
/* test_holder.c - which group is ours? The rest of atelier-holder needs a service manager. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int holder_main(void);
#define main holder_main
#include "sessiond/holder/holder.c"
#undef main

#include "common/banned.h"

static void the_own_group_is_that_of_the_unified_hierarchy(void **state)
{
    static const struct {
        const char *text, *path;
        int r;
    } cases[] = {
        {"0::/atelier.slice/atelier-holder.service\n", "/atelier.slice/atelier-holder.service", 0},
        {"0::/a", "/a", 0},
        /* A hierarchy that only has a name takes no controller away. */
        {"1:name=systemd:/x\n0::/a\n", "/a", 0},
        /* Hybrid: the controllers are elsewhere. */
        {"5:memory:/x\n1:name=systemd:/x\n0::/a\n", NULL, -ENOTUNIQ},
        {"0::/a\n9:cpu,cpuacct:/x\n", NULL, -ENOTUNIQ},
        {"9:cpu,cpuacct:/x\n1:name=systemd:/x\n", NULL, -ENOENT},
        {"", NULL, -ENOENT},
        {"10::/a\n", NULL, -ENOENT},
        /* Not started as a service: everybody's group is not ours. */
        {"0::/\n", NULL, -EPERM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = NULL;
        char text[128];

        (void)snprintf(text, sizeof(text), "%s", cases[i].text);
        assert_int_equal(own_group(text, &path), cases[i].r);
        if (cases[i].path)
            assert_string_equal(path, cases[i].path);
        else
            assert_null(path);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_group_is_that_of_the_unified_hierarchy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

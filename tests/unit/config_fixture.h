/* SPDX-License-Identifier: ISC */
/* config_fixture.h - files of a policy in a directory of their own. */
#ifndef ATELIER_TEST_CONFIG_FIXTURE_H
#define ATELIER_TEST_CONFIG_FIXTURE_H

#include <stddef.h>

#include "policy/policy.h"

extern char dir[sizeof("/tmp/atelier-config-XXXXXX")];
extern struct policy policy, other;
extern struct config_error error; /* of the last reading */

/* cmocka set-up and tear-down. */
int config_setup(void **state);
int config_teardown(void **state);

/* Of a file in the directory; static, four at a time. */
const char *path_of(const char *name);

void put(const char *name, const char *text, size_t size);
void away(const char *name);

/* As the one file there is. Return: as config_read_file(). */
int read_text(const char *text, struct policy *ret_policy);

const struct policy_profile *profile_of(const struct policy *p, const char *name);

/* "FILE:" and the rest. */
void assert_error(const char *file, const char *rest);

#endif

/* SPDX-License-Identifier: ISC */
/* registry_fixture.h - a registry in a directory of its own, and eyes that are not the registry's.
 */
#ifndef ATELIER_TEST_REGISTRY_FIXTURE_H
#define ATELIER_TEST_REGISTRY_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/index_format.h"
#include "registry/registry.h"

struct fixture {
    char dir[64]; /* state directory, below the working directory */
    struct registry *reg;
};

/* cmocka set-up and tear-down: *state is an open struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* mkdir of registry/ and nss/ below @dir. Return: 0 or a negative errno. */
int state_dirs_make(const char *dir);

void fixture_close(struct fixture *f);
void fixture_open(struct fixture *f); /* asserts that it opens */

/* "DIR/NAME" in a buffer that the next call but seven overwrites. */
const char *path_of(const struct fixture *f, const char *name);

/* Run SQL on the closed database: result code of SQLite, and the first column of the last row. */
int sql_run(const struct fixture *f, const char *sql, int64_t *ret_value);
/* The same, asserted to work. */
int64_t sql_value(const struct fixture *f, const char *sql);

/* A host where nobody else has anything. */
int taken_none(void *arg, const char *name, uint32_t id);

/* Field by field: the struct has padding. */
bool counts_equal(const struct registry_counts *a, const struct registry_counts *b);

/* user_create() on a host where nobody has anything, asserted to return 0. */
enum user_verdict user_try(struct fixture *f, const struct user_spec *spec, struct user *ret_user);

/* user_create() by e-mail alone, asserted to give USER_CREATED. */
struct user user_new(struct fixture *f, const char *email);

/* The index of the fixture, read with TinyCDB's own reader. False if the key is not there. */
bool index_get_meta(const char *dir, struct index_meta *ret_meta);
bool index_get(const char *dir, const void *key, unsigned key_size, void *ret_data, unsigned size,
               unsigned *ret_size);
bool index_has_user(const char *dir, uint32_t uid, const char *name);

/*
 * Does the index agree with the open registry: generation, every user by name and by uid, private
 * groups, counts? Says on stderr what does not. No assert: also for forked children.
 */
bool index_agrees(const char *dir, struct registry *reg);

#endif

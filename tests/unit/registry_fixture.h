/* SPDX-License-Identifier: ISC */
/* registry_fixture.h - a registry in a directory of its own, and eyes that are not the registry's.
 */
#ifndef ATELIER_TEST_REGISTRY_FIXTURE_H
#define ATELIER_TEST_REGISTRY_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

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

/* The text of a file, malloc()ed. */
char *file_text(const char *path);
void file_copy(const char *from, const char *to); /* replaces @to */

/* A backup of the open registry as kept.db in the state directory. */
void backup_take(struct fixture *f);

/* SQL on a copy; the first column of the last row. */
int64_t copy_sql(const char *path, const char *sql);

/* Remove what restores kept: it would fill the disk in the end. Return: 0 or a negative errno. */
int kept_remove(const char *dir);

/* --- what fails, for real --- */

/* Asserts that this child ends with exit code 0. */
void child_succeeds(pid_t pid);

/* Largest file that this process may write from now on. Return: 0 or a negative errno. */
int limit_set(rlim_t bytes);

/* Fill the disk of @dir up to @spare_bytes, and undo it. Return: 0 or a negative errno. */
int filler_make(const char *dir, off_t spare_bytes);
int filler_remove(const char *dir);

/*
 * Run @child in a process of its own with a disk of 1 MiB at @dir, and assert that it returns 0.
 * Closes the fixture's registry. Skips the test without root.
 */
void on_small_disk(struct fixture *f, int (*child)(const char *dir));

unsigned random_below(unsigned n);

/* --- users and links --- */

/* A host where nobody else has anything. */
int taken_none(void *arg, const char *name, uint32_t id);

/* Field by field: the struct has padding. */
bool counts_equal(const struct registry_counts *a, const struct registry_counts *b);

/* user_create() on a host where nobody has anything, asserted to return 0. */
enum user_verdict user_try(struct fixture *f, const struct user_spec *spec, struct user *ret_user);

/* user_create() by e-mail alone, asserted to give USER_CREATED. */
struct user user_new(struct fixture *f, const char *email);

/* Links of the tests, by number: their hashes are text, so that they can be looked for. */
#define LINK_MADE_S 1700000000
#define LINK_OVER_S 4000000000
void hash_make(unsigned n, char form, uint8_t ret_hash[LINK_HASH_SIZE]); /* 't'oken, 'c'ode */
int link_store(struct registry *reg, unsigned n, uint32_t uid, enum link_purpose purpose);
struct link link_of(struct registry *reg, unsigned n); /* all 0 if there is none */

/* link_consume() at the door SSH. Return: the verdict, or a negative errno. */
int link_try(struct registry *reg, unsigned n, char form, const char *name, int64_t now_s);

/* --- index --- */

/* The index of the fixture, as NSS would see it. */
bool index_has_user(const char *dir, uint32_t uid, const char *name);
bool index_has_group(const char *dir, uint32_t gid, const char *name);

/* Is this, ascending, the whole list of a user's supplementary groups? */
bool index_has_gids(const char *dir, const char *name, const uint32_t *gids, size_t n);

/*
 * Does the index agree with the open registry: generation, every user by name and by uid with all
 * groups, every group, and nobody else? Says on stderr what does not. No assert: also for forked
 * children.
 */
bool index_agrees(const char *dir, struct registry *reg);

#define RESTORE_PATH "registry/" REGISTRY_RESTORE_NAME

/* Restore the backup that a test has kept as kept.db. Return: as registry_restore(). */
int restore_kept(struct fixture *f, bool is_rehearsal, struct registry_restored *ret);
/* The same in earnest; asserts that it succeeds and that the index agrees. */
struct registry_restored restored_kept(struct fixture *f);
uint64_t generation_of(struct fixture *f);

#endif

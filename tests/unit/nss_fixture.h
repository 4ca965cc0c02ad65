/* SPDX-License-Identifier: ISC */
/*
 * nss_fixture.h - the built module, opened by name as glibc does, over an index of its own.
 *
 * TEST_MODULE is the module's sources with one difference: the index is looked for below the
 * working directory. SHIPPED_MODULE is the one that is installed; only what needs no index can be
 * asked of it here.
 */
#ifndef ATELIER_TEST_NSS_FIXTURE_H
#define ATELIER_TEST_NSS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/index_format.h"
#include "nss_module/nss_atelier.h"
#include "tests/unit/index_build.h"

#define INDEX_DIR  "index-under-test"
#define INDEX_PATH INDEX_DIR "/" INDEX_FILE_NAME
#define USER_COUNT 100u
#define UID_FIRST  10001u
#define ROOM       4096u

/* The module's functions, found by name as glibc does. */
struct module {
    typeof(_nss_atelier_getpwnam_r) *getpwnam_r;
    typeof(_nss_atelier_getpwuid_r) *getpwuid_r;
    typeof(_nss_atelier_setpwent) *setpwent;
    typeof(_nss_atelier_getpwent_r) *getpwent_r;
    typeof(_nss_atelier_endpwent) *endpwent;
    typeof(_nss_atelier_getgrnam_r) *getgrnam_r;
    typeof(_nss_atelier_getgrgid_r) *getgrgid_r;
    typeof(_nss_atelier_setgrent) *setgrent;
    typeof(_nss_atelier_getgrent_r) *getgrent_r;
    typeof(_nss_atelier_endgrent) *endgrent;
    typeof(_nss_atelier_initgroups_dyn) *initgroups_dyn;
};

extern struct module nss, shipped;

/*
 * What nss_setup() fills in and index_publish() writes: user0, user1 ... with a private group each.
 * user1 has no shell, user2 a shell that the module does not know. groups[0] is atelier-users.
 */
extern struct index_user users[USER_COUNT];
extern struct index_group groups[USER_COUNT + 1];
/* The groups of user0; nobody else is in any but the own one. */
extern const uint32_t gids_of_first[5];

/* cmocka set-up and tear-down of a program: both modules, and a new directory to work in. */
int nss_setup(void **state);
int nss_teardown(void **state);

/* cmocka set-up of a test: an index of all users, listings at their start. */
int index_setup(void **state);

/* Replace the index by one of @count users from users[@first] on. Return: 0 or a negative errno. */
int index_publish(size_t first, size_t count, uint64_t generation);

/* Assert what is the same in every answer; that all of it lies in the caller's buffer as well. */
void passwd_check(const struct passwd *pw, const char *buffer, size_t size);
void group_check(const struct group *gr, const char *buffer, size_t size);

/* getpwuid_r of the module under test with a buffer of this thread's; a success is checked. */
enum nss_status uid_ask(uid_t uid, struct passwd *pw, int *errnop);

/*
 * Ask for ids and names that are not ours, by every call that takes a key. The gate must close in
 * front of these, whatever is asked. Return: number of other answers than NOTFOUND.
 */
int foreign_keys_ask(const struct module *m);

/* How many descriptors below 1024 are open. */
int fds_count(void);

/* xorshift32: the same bytes on every machine. */
uint32_t noise(uint32_t *seed);

#endif

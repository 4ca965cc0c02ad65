/* SPDX-License-Identifier: ISC */
/* ctl_place.h - a new directory with a home in it, for tests of what root does with trees. */
#ifndef ATELIER_TEST_CTL_PLACE_H
#define ATELIER_TEST_CTL_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#define OLD   54321u /* UIDs that nobody on the machine has */
#define NEW   54322u
#define OTHER 54323u

/* The home is homes/ada. */
struct place {
    char top[64];
    char homes[80], home[96];
    int fd; /* of the top */
};

/* cmocka set-up and tear-down: *state is a struct place. */
int place_setup(void **state);
int place_teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

/* Paths below the top. */
void file_make(const struct place *p, const char *name, uid_t uid);
uid_t owner(const struct place *p, const char *name);
bool is_there(const struct place *p, const char *name);

/* Skips the test unless it is run by root. */
void need_root(void);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * name_next.h - where the search for a free name goes on, within one change.
 *
 * A class of five thousand whose addresses begin with "info" and "kontakt" would ask for
 * "info2", "info3" ... twelve million times if each row began at the beginning. What was taken
 * stays taken for as long as the change lasts, so the next row goes on where the last one stopped.
 * Names are cut to make room for their number: "kontakt" and "kontaktb" have "kontak10" in common.
 * So what is remembered is not for a stem, but for what is left of it in front of so many digits.
 */
#ifndef ATELIER_NAME_NEXT_H
#define ATELIER_NAME_NEXT_H

#include <stddef.h>

#include "common/str.h"

/* Zeroed memory is an empty one. */
struct name_next {
    void *tree;
};

/* The numbers of a stem that have as many digits. */
struct name_class {
    unsigned *next; /* the first that was not tried yet; borrowed, the caller moves it on */
    unsigned last;
};

#define NAME_CLASSES 5u /* no number, and 1 to 4 digits: NAME_TRIES */

/**
 * name_next_get() - The numbers of @digits digits for a stem
 * @digits: 0 to NAME_CLASSES - 1; 0 is the stem itself, number 1
 *
 * Return: 0 or -ENOMEM.
 */
int name_next_get(struct name_next *next, const char *stem, size_t digits,
                  struct name_class *ret_class);

void name_next_done(struct name_next *next);

#endif

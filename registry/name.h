/* SPDX-License-Identifier: ISC */
/* name.h - names that are made from e-mail addresses, and names that nobody gets. */
#ifndef ATELIER_NAME_H
#define ATELIER_NAME_H

#include <stdbool.h>

#include "common/str.h"

/* ps(1) shows longer names cut, with a '+' at the end. */
#define NAME_GENERATED_MAX 8u
#define NAME_TRIES         9999u

/**
 * name_is_reserved() - Is this a name of the system, or one that a package may bring?
 *
 * A participant of such a name would own what the package's rules give to it (sudoers, polkit,
 * group docker). The list is reserved.def; compared in lower case only, as names are.
 */
bool name_is_reserved(const char *name);

/**
 * name_stem() - Make the beginning of a name from an e-mail address
 * @email:    In lower case; borrowed
 * @ret_stem: 1 to NAME_GENERATED_MAX characters, a valid name
 *
 * The part before '@' and before any '+', without what no name may hold; "u" is put in front if
 * it does not begin with a letter.
 */
void name_stem(const char *email, char ret_stem[NAME_SIZE]);

/**
 * name_candidate() - The @n-th name to try for a stem
 * @n: 1 is the stem itself; from 2 on the number is added, and the stem cut to make room
 *
 * A stem that ends in digits may give the same name for two @n.
 */
void name_candidate(const char *stem, unsigned n, char ret_name[NAME_SIZE]);

#endif

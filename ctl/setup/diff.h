/* SPDX-License-Identifier: ISC */
/* diff.h - what is different between two texts, for people. */
#ifndef ATELIER_CTL_SETUP_DIFF_H
#define ATELIER_CTL_SETUP_DIFF_H

#include "ctl/setup/text.h"

/**
 * diff_print() - Print the lines that go and come, as diff -U1 does
 * @old: Without bytes: the file is new
 * @new: Without bytes: it is removed
 *
 * Lines are escaped for a terminal and indented. Texts of many lines that have little in common are
 * printed as one block.
 */
void diff_print(FILE *out, const char *indent, const char *path, const struct text *old,
                const struct text *new);

#endif

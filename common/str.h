/* SPDX-License-Identifier: ISC */
/* str.h - names and numbers as text: checks and conversions without locale or allocation. */
#ifndef ATELIER_STR_H
#define ATELIER_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest user or group name, without the terminating NUL. */
#define NAME_MAX_LEN 31
#define NAME_SIZE    (NAME_MAX_LEN + 1)

/**
 * name_is_valid() - Check the syntax of a user or group name
 * @name: Text, borrowed; NULL is not a name
 *
 * Lower-case letter, then at most 30 of lower-case letters, digits and '-'. No case folding:
 * folding let names slip past counters elsewhere (linux-pam issue 1010).
 *
 * Return: true if it could be one of our names.
 */
bool name_is_valid(const char *name);

/**
 * name_is_valid_n() - name_is_valid() for a fixed field from a message or file
 * @field: @size bytes, borrowed; must hold a NUL, and only NULs after it
 * @size:  Size of the field in bytes
 */
bool name_is_valid_n(const char *field, size_t size);

/**
 * str_copy() - Copy a string into a fixed field, or fail
 * @dst:  Field of @size bytes; filled with NULs after the text
 * @size: Size of the field in bytes
 * @src:  Text, borrowed
 *
 * Return: 0, or -ENAMETOOLONG with the field all NULs.
 */
int str_copy(char *dst, size_t size, const char *src);

/* Copy what fits of @src into a fixed field; the rest of the field is NULs. For messages. */
void str_cut(char *dst, size_t size, const char *src);

/**
 * str_to_u32() - Read a decimal number that is the whole string
 * @s:     Text, borrowed
 * @max:   Largest value accepted
 * @ret_v: The number; untouched on failure
 *
 * Digits only: no sign, no blanks, no leading zero but "0" itself.
 *
 * Return: 0, -EINVAL for anything that is not a number, -ERANGE above @max.
 */
int str_to_u32(const char *s, uint32_t max, uint32_t *ret_v);

#endif

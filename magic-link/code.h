/* SPDX-License-Identifier: ISC */
/* code.h - the short form of a link's secret, for typing. */
#ifndef ATELIER_MAGIC_LINK_CODE_H
#define ATELIER_MAGIC_LINK_CODE_H

#include <stdbool.h>

#include "magic-link/magic_link.h"
#include "magic-link/secret.h"

#define CODE_ALPHABET "0123456789ABCDEFGHJKMNPQRSTVWXYZ" /* Crockford's: no I, L, O, U */
#define CODE_SYMBOLS  12u
#define CODE_RANDOM   10u /* the first ones: 50 bits */

/* A new one: the random symbols, as values 0..31, and the text. */
void code_make(struct secret *ret_secret, char ret_text[static CODE_TEXT_SIZE]);

/* The text of CODE_RANDOM values. */
void code_write(const struct secret *secret, char ret_text[static CODE_TEXT_SIZE]);

/**
 * code_read() - The random symbols of a code
 * @text: @size bytes, borrowed, as typed or pasted
 *
 * Case does not matter; O is 0, I and L are 1; blanks, hyphens and what word processors make of
 * them are left out, wherever they are. Any one or two wrong symbols, and so two neighbours in
 * each other's place, are found out by the checksum.
 *
 * Return: true if it is a code.
 */
bool code_read(const char *text, size_t size, struct secret *ret_secret);

/**
 * separator_length() - Does the text begin with a blank or a dash, in UTF-8?
 * @size: Bytes that may be looked at
 *
 * Return: how many bytes it has, 0 if there is none.
 */
size_t separator_length(const char *text, size_t size);

#endif

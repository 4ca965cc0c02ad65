/* SPDX-License-Identifier: ISC */
/* token.h - the long form of a link's secret: text of 32 random bytes, with a checksum. */
#ifndef ATELIER_MAGIC_LINK_TOKEN_H
#define ATELIER_MAGIC_LINK_TOKEN_H

#include <stdbool.h>

#include "magic-link/magic_link.h"
#include "magic-link/secret.h"

#define TOKEN_PREFIX   "atl_"
#define TOKEN_TEXT_LEN (TOKEN_TEXT_SIZE - 1)

/* A new one: 32 random bytes, and their text. */
void token_make(struct secret *ret_secret, char ret_text[static TOKEN_TEXT_SIZE]);

/* The text of 32 bytes. */
void token_write(const struct secret *secret, char ret_text[static TOKEN_TEXT_SIZE]);

/**
 * token_read() - The bytes of a token
 * @text: @size bytes, borrowed, exactly the token
 *
 * There is one text for each token: what only decodes to the same bytes is none. The checksum
 * catches slips of pasting; it is no secret and proves nothing.
 *
 * Return: true if it is a token.
 */
bool token_read(const char *text, size_t size, struct secret *ret_secret);

#endif

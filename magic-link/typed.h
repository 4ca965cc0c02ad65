/* SPDX-License-Identifier: ISC */
/* typed.h - what did somebody type: a code, a token, a whole link, or nothing of the kind? */
#ifndef ATELIER_MAGIC_LINK_TYPED_H
#define ATELIER_MAGIC_LINK_TYPED_H

#include <stddef.h>

#include "magic-link/secret.h"

enum typed_kind {
    TYPED_NONE = 0, /* no secret */
    TYPED_TOKEN,
    TYPED_CODE,
};

/**
 * typed_read() - Find the secret in what was typed or pasted
 * @typed: @size bytes, borrowed; any bytes
 *
 * Blanks, line ends, brackets, quotes and the punctuation of a sentence around it do not matter. Of
 * a link what follows the first '#' counts, whatever stands before it.
 *
 * Return: the kind, with *@ret_secret set; TYPED_NONE with it empty.
 */
enum typed_kind typed_read(const char *typed, size_t size, struct secret *ret_secret);

#endif

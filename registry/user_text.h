/* SPDX-License-Identifier: ISC */
/* user_text.h - what may be a user's comment and login shell. */
#ifndef ATELIER_USER_TEXT_H
#define ATELIER_USER_TEXT_H

#include <stdbool.h>

/*
 * Fewer than COMMENT_SIZE bytes of UTF-8 without ':' (passwd's own separator) and without
 * characters that do something to a terminal or to the direction of what is beside them.
 */
bool comment_is_valid(const char *comment);

/* "", or an absolute path of fewer than SHELL_SIZE printable ASCII characters without ':'. */
bool shell_is_valid(const char *shell);

#endif

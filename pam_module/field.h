/* SPDX-License-Identifier: ISC */
/* field.h - what PAM knows of a login, as fields of a message. */
#ifndef ATELIER_PAM_FIELD_H
#define ATELIER_PAM_FIELD_H

#include <security/pam_modules.h>
#include <stddef.h>

/**
 * field_clean() - Copy foreign text into a field of a message
 * @dst:  Field of @size bytes; filled with NULs after the text
 * @size: Size of the field in bytes
 * @text: Borrowed; NULL is ""
 *
 * What is not printable ASCII becomes '?'; what does not fit is cut.
 */
void field_clean(char *dst, size_t size, const char *text);

/* field_clean() of a PAM item (PAM_SERVICE, PAM_TTY, PAM_RHOST); "" if it is not set. */
void field_item(pam_handle_t *pamh, int item, char *dst, size_t size);

#endif

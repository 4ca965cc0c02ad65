/* SPDX-License-Identifier: ISC */
/* email.h - what the registry takes for an e-mail address or a caller's own key. */
#ifndef ATELIER_EMAIL_H
#define ATELIER_EMAIL_H

#include <stdbool.h>

#include "registry/registry.h"

/**
 * email_normalize() - Check an e-mail address and write it in lower case
 *
 * One '@'; before it 1 to 64 characters of RFC 5322's atext or '.', after it 1 to 189 of labels
 * of letters, digits and '-', separated by single dots. No quoted forms, comments or UTF-8.
 *
 * Return: 0 or -EINVAL with @ret_email untouched.
 */
int email_normalize(const char *email, char ret_email[EMAIL_SIZE]);

/* 1 to 128 printable ASCII characters. */
bool external_id_is_valid(const char *id);

#endif

/* SPDX-License-Identifier: ISC */
/* text.h - bytes of a program as JSON text: where UTF-8 may be cut, and escaping. */
#ifndef ATELIER_API_TEXT_H
#define ATELIER_API_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Longest part of a character that can be waiting for its rest (RFC 3629 section 3). */
#define UTF8_TAIL_MAX 3u

/**
 * utf8_tail() - How many bytes at the end are the beginning of a character that is not whole yet
 *
 * Only what can still become a character counts: "\xe0\x80" cannot, so it is not held back.
 *
 * Return: 0..UTF8_TAIL_MAX.
 */
size_t utf8_tail(const char *s, size_t n);

/**
 * text_is_plain() - Can these bytes be sent as JSON text?
 *
 * Return: true if they are UTF-8 (no overlong forms, no surrogates) without NUL.
 */
bool text_is_plain(const char *s, size_t n);

/* Size of json_escape()'s result. At most six times @n. */
size_t json_escaped_size(const char *s, size_t n);

/**
 * json_escape() - Write bytes that text_is_plain() accepted as the inside of a JSON string
 * @dst: Room for json_escaped_size() bytes; no NUL is added
 *
 * Return: number of bytes written.
 */
size_t json_escape(char *dst, const char *s, size_t n);

#endif

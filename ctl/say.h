/* SPDX-License-Identifier: ISC */
/*
 * say.h - text of others on its way to a terminal, and our own error line.
 *
 * Names, e-mail addresses and messages come from people we do not know. A terminal obeys control
 * bytes, and text can be made to read backwards; so everything but plain visible text is shown as
 * an escape.
 */
#ifndef ATELIER_CTL_SAY_H
#define ATELIER_CTL_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * text_escape() - Make text safe and unambiguous for a terminal
 * @text:        Bytes, borrowed; any byte may be in it
 * @bytes:       Their number
 * @ret_columns: How many columns the result takes, one for each character; may be NULL
 *
 * Visible UTF-8 stays as it is. "\\", "\n", "\r", "\t"; "\xNN" for other control bytes and for
 * bytes that are not UTF-8; "\u{N}" for the C1 controls, line separators, and characters that are
 * invisible or turn the direction of writing.
 *
 * Return: heap string, free(3); never NULL (out of memory ends the program).
 */
char *text_escape(const char *text, size_t bytes, size_t *ret_columns);

/* Whether all of it is UTF-8 (RFC 3629). */
bool text_is_utf8(const char *text, size_t bytes);

/**
 * text_format() - printf(3) into a new string
 *
 * Return: heap string, free(3); never NULL (out of memory ends the program).
 */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_vformat(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* One line "atelier: ..." on standard error, escaped. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* There is no memory left: says so and exits. */
_Noreturn void say_no_memory(void);

#endif

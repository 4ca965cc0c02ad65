/* SPDX-License-Identifier: ISC */
/* disk_text.h - what a user holds in the home on disk, and of how much, as text. */
#ifndef ATELIER_DISK_TEXT_H
#define ATELIER_DISK_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define DISK_TEXT_SIZE 128

/**
 * disk_text() - "12M of 2G, 40 of 131072 files (quota)"
 * @uid:      Of the user
 * @name:     Of the user
 * @ret_text: "-" if it cannot be found out
 *
 * Asked of the kernel here, by root; no daemon is needed. Of a home that nothing limits it says
 * "no limit".
 */
void disk_text(uint32_t uid, const char *name, char ret_text[DISK_TEXT_SIZE]);

#define SIZE_TEXT_SIZE 24

/* "12M": up to four digits and a unit; rounded up, so that what is full does not look as if it were
 * not. @size: of @ret_text. */
void size_text(uint64_t bytes, char *ret_text, size_t size);

#endif

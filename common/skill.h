/* SPDX-License-Identifier: ISC */
/*
 * skill.h - names of skills: directories of scripts, kept below SKILL_STORE by the hash of what is
 * in them.
 *
 * NAME is that of a user or group; HASH are 64 lower-case hexadecimal digits. SKILL_STORE/NAME@HASH
 * is a directory that never changes, SKILL_STORE/NAME a symbolic link whose text is the NAME@HASH
 * that was added last.
 */
#ifndef ATELIER_SKILL_H
#define ATELIER_SKILL_H

#include <stdbool.h>

#include "common/str.h"

#define SKILL_STORE     ATELIER_STATE_DIR "/skills"
#define SKILL_HASH_HEX  64u
#define SKILL_HASH_SIZE (SKILL_HASH_HEX + 1)
#define SKILL_SIZE      (NAME_SIZE + SKILL_HASH_SIZE) /* NAME@HASH and its NUL */

/* NAME or NAME@HASH? */
bool skill_is_valid(const char *text);

/* NAME@HASH? */
bool skill_is_pinned(const char *text);

/* NAME of a valid text. */
void skill_name(const char *text, char ret_name[NAME_SIZE]);

/* Two valid texts: the same NAME? */
bool skill_name_is_same(const char *a, const char *b);

#endif

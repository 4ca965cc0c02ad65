/* SPDX-License-Identifier: ISC */
/*
 * keys.h - single settings in files of lines "KEY value" or "KEY=value", and back.
 *
 * A line is changed only in its value; a setting that is missing gets a line of its own. Taking
 * back goes by line: one that is still as we wrote it becomes what it was, another one is left
 * alone.
 */
#ifndef ATELIER_CTL_SETUP_KEYS_H
#define ATELIER_CTL_SETUP_KEYS_H

#include <stdint.h>

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

/* How a file writes its settings. */
enum keys_format {
    KEYS_BLANK,  /* login.defs(5): KEY, blanks, value */
    KEYS_ASSIGN, /* adduser.conf(5), environment files: KEY=value, quoted or not */
    KEYS_SSHD, /* sshd_config(5): as KEYS_BLANK, or with '='; the case of letters does not count */
};

/* A setting that has to be a number in a range, and what to write where it is not. */
struct key_rule {
    const char *key;
    uint32_t min, max;
    uint32_t value;
};

/**
 * keys_edit() - Bring settings into their ranges
 * @old:     The file
 * @rules:   Settings, each of which is there in the end
 * @ret_new: Owned by the caller; the same bytes if all is well already
 * @ret_why: Set for -EINVAL
 *
 * Return: 0, or -EINVAL for a value that is not a number.
 */
int keys_edit(const struct text *old, enum keys_format format, const struct key_rule *rules,
              size_t count, struct text *ret_new, struct complaint *ret_why);

/**
 * keys_check() - Refuse what a rule cannot mend
 * @rules: Settings that may be missing; @value is not used
 *
 * Return: 0, or -EINVAL with the first line that is outside.
 */
int keys_check(const struct text *file, enum keys_format format, const struct key_rule *rules,
               size_t count, struct complaint *ret_why);

/**
 * key_find() - The value of a setting, the last one if there are several
 * @ret_start: Borrowed from @file, without quotes
 *
 * Return: 0 or -ENOENT.
 */
int key_find(const struct text *file, enum keys_format format, const char *key,
             const char **ret_start, size_t *ret_size, size_t *ret_line);

/**
 * keys_unedit() - Take back what an edit did, in a file that others changed since
 * @now:      The file as it is
 * @before:   As it was before the edit; may be without bytes
 * @after:    As we wrote it
 * @ret_text: Owned by the caller
 * @ret_left: The first key whose line is no longer as we wrote it, borrowed from @keys, or NULL
 */
void keys_unedit(const struct text *now, const struct text *before, const struct text *after,
                 enum keys_format format, const char *const *keys, size_t count,
                 struct text *ret_text, const char **ret_left);

#endif

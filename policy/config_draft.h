/* SPDX-License-Identifier: ISC */
/* config_draft.h - what the files say, with where, before it is put together. For config_*.c. */
#ifndef ATELIER_CONFIG_DRAFT_H
#define ATELIER_CONFIG_DRAFT_H

#include <stdarg.h>

#include "policy/policy.h"

#define CONFIG_FILES_MAX 65u /* atelier.conf and those of conf.d */

/* Lines count from 1; 0: nowhere. */
struct config_place {
    unsigned file;
    unsigned line;
};

/* A section: the keys that it has, and where each was said last. */
struct config_draft {
    char name[NAME_SIZE];
    char base[NAME_SIZE];
    struct config_place made, base_at, trees_at, uids_at, gids_at;
    struct config_place at[POLICY_KEY__COUNT];
    struct policy_profile said;
    bool is_open; /* being put together: met again, it is its own base */
    int is_done;  /* index in the policy and 1 */
};

struct config_drafts {
    uint32_t count;
    struct config_draft drafts[POLICY_PROFILES_MAX]; /* the first are those of the kinds */
    char *files[CONFIG_FILES_MAX];                   /* paths, for messages */
    unsigned file_count;
    struct config_error *error; /* the first one stays */
};

/* Fill in the error, unless there is one. Return: -EINVAL. */
int config_fault(struct config_drafts *d, struct config_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * config_join() - Drafts to a policy: bases, and what has to fit together
 *
 * Return: 0, or -EINVAL with the error filled and @ret_policy untouched; -ENOMEM.
 */
int config_join(struct config_drafts *d, struct policy *ret_policy);

#endif

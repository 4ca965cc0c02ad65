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
    struct config_place made, base_at, required_at, trees_at, skills_at, uids_at, gids_at;
    struct config_place at[POLICY_KEY__COUNT];
    struct policy_profile said;
    bool is_open; /* being put together: met again, it is its own base */
    int is_done;  /* index in the policy and 1 */
};

/* Section network: what it says, and where. Of what no file says, what is shipped is there. */
struct config_net_draft {
    struct policy_net said;
    struct config_place at[POLICY_NET_KEY__COUNT]; /* of a list: its last entry */
    struct config_place deny_at[POLICY_DENY_MAX];
    struct config_place allow_at[POLICY_ALLOW_MAX];
};

/* The section `disk`. */
struct config_disk {
    struct policy_disk said;
    struct config_place backend_at, required_at, idle_at;
};

struct config_drafts {
    struct config_net_draft net;
    struct config_disk disk;
    uint32_t count;
    struct config_draft drafts[POLICY_PROFILES_MAX]; /* the first are those of the kinds */
    char *files[CONFIG_FILES_MAX];                   /* paths, for messages */
    unsigned file_count;
    struct config_error *error; /* the first one stays */
};

/* Fill in the error, unless there is one. Return: -EINVAL. */
int config_fault(struct config_drafts *d, struct config_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A key of the section `disk`, config_disk.c. Return: 0, or -EINVAL with the error filled. */
int config_disk_take(struct config_drafts *d, struct config_place at, const char *key,
                     const char *text);

/* The section over what is shipped. Return: 0, or -EINVAL with the error filled. */
int config_disk_join(struct config_drafts *d, struct policy_disk *disk);

/* May this be given to libconfuse? It is the last file. Return: 0, or -EINVAL with the error
 * filled.
 */
int config_text_check(struct config_drafts *d, const char *text, size_t size);

/* Take in the text of the last file. Return: 0, -EINVAL with the error filled, or -ENOMEM. */
int config_parse(struct config_drafts *d, const char *text, size_t size);

/**
 * config_net_value() - Take in one value of section network
 * @index: Of a list: which entry this is, from 0; what stood there and behind it is gone
 * @at:    Where it is said
 *
 * Return: 0, or -EINVAL with the error filled.
 */
int config_net_value(struct config_drafts *d, enum policy_net_key key, uint32_t index,
                     const char *text, struct config_place at);

/* An empty list: nothing is left of what was said before. */
void config_net_clear(struct config_drafts *d, enum policy_net_key key, struct config_place at);

/**
 * config_net_join() - What has to fit together in section network
 *
 * Return: 0, or -EINVAL with the error filled and @ret_net untouched.
 */
int config_net_join(struct config_drafts *d, struct policy_net *ret_net);

/**
 * config_join() - Drafts to a policy: bases, and what has to fit together
 *
 * Return: 0, or -EINVAL with the error filled and @ret_policy untouched; -ENOMEM.
 */
int config_join(struct config_drafts *d, struct policy *ret_policy);

#endif

/* SPDX-License-Identifier: ISC */
/* key.h - the key of all hashes: a file beside the database, and the hash that it keys. */
#ifndef ATELIER_MAGIC_LINK_KEY_H
#define ATELIER_MAGIC_LINK_KEY_H

#include "magic-link/secret.h"

#define KEY_DIR_NAME  "registry"
#define KEY_FILE_NAME "link.key"
#define KEY_TEMP_NAME "link.key.new"
#define KEY_SIZE      32u

struct key {
    uint8_t bytes[KEY_SIZE];
};

/**
 * key_load() - Read the key, or make it if there is none
 * @state_dir: As magic_link_open(), borrowed
 * @ret_key:   Wiped by the caller
 *
 * Two that make it at the same time get the same one. What a crash left half written is replaced.
 *
 * Return: 0; -EPERM if directory or file is not ours alone or no regular file; -EBADMSG if the
 * file has not KEY_SIZE bytes; or a negative errno.
 */
int key_load(const char *state_dir, struct key *ret_key);

/* What is hashed. The same bytes give another hash in each. */
enum key_domain {
    KEY_DOMAIN_TOKEN,
    KEY_DOMAIN_CODE,
    KEY_DOMAIN_NONE, /* of what is no secret: a hash that no link has */
};

/* BLAKE2b with the key and the domain. */
void key_hash(const struct key *key, enum key_domain domain, const struct secret *secret,
              struct secret_hash *ret_hash);

#endif

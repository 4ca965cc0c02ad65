/* SPDX-License-Identifier: ISC */
/*
 * secret.h - bytes that are never printed, and are wiped when their variable leaves its scope.
 *
 * A type of its own, and no string: it cannot be given to a format by mistake, and the compiler
 * keeps the wiping where it belongs, on every way out.
 */
#ifndef ATELIER_MAGIC_LINK_SECRET_H
#define ATELIER_MAGIC_LINK_SECRET_H

#include <sodium.h>
#include <stdint.h>

#include "registry/registry.h"

#define SECRET_BYTES 32u

/* What a token or a code says: raw bytes, @size of them, the rest zero. */
struct secret {
    uint8_t bytes[SECRET_BYTES];
    size_t size;
};

/* Keyed hash of a secret, as the registry has it. */
struct secret_hash {
    uint8_t bytes[LINK_HASH_SIZE];
};

static inline void secret_wipe(struct secret *secret)
{
    sodium_memzero(secret, sizeof(*secret));
}
#define cleanup_secret __attribute__((cleanup(secret_wipe)))

static inline void secret_hash_wipe(struct secret_hash *hash)
{
    sodium_memzero(hash, sizeof(*hash));
}
#define cleanup_hash __attribute__((cleanup(secret_hash_wipe)))

#endif

/* SPDX-License-Identifier: ISC */
/*
 * sha256.h - a name for a piece of data that others can compute as well: FIPS 180-4, SHA-256.
 *
 * Ours, because the root process links no library of cryptography, and decides nothing by it: what
 * has to be the same is compared byte by byte.
 */
#ifndef ATELIER_SHA256_H
#define ATELIER_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u

/**
 * sha256() - Hash of a whole piece of data
 * @data:     Borrowed
 * @size:     Its bytes
 * @ret_hash: The hash
 *
 * Source: FIPS 180-4, 4.1.2, 4.2.2, 5 and 6.2.
 */
void sha256(const void *data, size_t size, uint8_t ret_hash[SHA256_SIZE]);

#endif

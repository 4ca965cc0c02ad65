/* SPDX-License-Identifier: ISC */
/* sha256.c - SHA-256 of a whole piece of data. Names are those of FIPS 180-4. */
#include "sessiond/shared/sha256.h"

#include <string.h>

#include "common/banned.h"

#define BLOCK 64u

/* 4.2.2: of the cube roots of the first 64 primes, 32 bits of what is behind the point. */
static const uint32_t K[BLOCK] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* 6.2.2: one block of the message. */
static void block_add(uint32_t H[8], const uint8_t *M)
{
    uint32_t W[BLOCK], a[8]; /* a[0] to a[7] are a to h */

    for (unsigned t = 0; t < 16; t++)
        W[t] = word_at(M + (size_t)4 * t);
    for (unsigned t = 16; t < BLOCK; t++) {
        uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;

        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
    memcpy(a, H, sizeof(a));
    for (unsigned t = 0; t < BLOCK; t++) {
        uint32_t S1 = rotr(a[4], 6) ^ rotr(a[4], 11) ^ rotr(a[4], 25);
        uint32_t S0 = rotr(a[0], 2) ^ rotr(a[0], 13) ^ rotr(a[0], 22);
        uint32_t ch = (a[4] & a[5]) ^ (~a[4] & a[6]);
        uint32_t maj = (a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]);
        uint32_t T1 = a[7] + S1 + ch + K[t] + W[t];

        memmove(a + 1, a, 7 * sizeof(*a));
        a[4] += T1;
        a[0] = T1 + S0 + maj;
    }
    for (unsigned i = 0; i < 8; i++)
        H[i] += a[i];
}

void sha256(const void *data, size_t size, uint8_t ret_hash[SHA256_SIZE])
{
    uint32_t H[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    size_t whole = size - size % BLOCK, rest = size - whole;
    uint8_t tail[2 * BLOCK] = {0};
    size_t tail_size = rest + 9 <= BLOCK ? BLOCK : sizeof(tail);
    const uint8_t *at = data;

    for (size_t i = 0; i < whole; i += BLOCK)
        block_add(H, at + i);
    /* 5.1.1: a one, zeros, and the number of bits. */
    if (rest > 0)
        memcpy(tail, at + whole, rest);
    tail[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        tail[tail_size - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    for (size_t i = 0; i < tail_size; i += BLOCK)
        block_add(H, tail + i);
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < 4; k++)
            ret_hash[4 * i + k] = (uint8_t)(H[i] >> (24 - 8 * k));
    }
}

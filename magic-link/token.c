/* SPDX-License-Identifier: ISC */
/*
 * token.c - text of a token: "atl_", base64url of 32 bytes, checksum.
 *
 * The prefix lets scanners for leaked secrets find one. The checksum is the first 24 bits of
 * BLAKE2b of everything before it, in base64url too, without a key: anybody can compute it.
 * libsodium's base64 takes the same time for every text, and refuses unused bits that are set.
 */
#include "magic-link/token.h"

#include <assert.h>
#include <string.h>

#include "common/banned.h"

#define VARIANT       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define PREFIX_LEN    (sizeof(TOKEN_PREFIX) - 1)
#define PAYLOAD_LEN   43u /* base64 of SECRET_BYTES without padding */
#define BODY_LEN      (PREFIX_LEN + PAYLOAD_LEN)
#define CHECK_BYTES   3u
#define CHECK_LEN     4u
#define CHECK_PERSONA "atelier-check-v1"

_Static_assert(BODY_LEN + CHECK_LEN == TOKEN_TEXT_LEN, "length of a token");
_Static_assert(sodium_base64_ENCODED_LEN(SECRET_BYTES, VARIANT) == PAYLOAD_LEN + 1, "base64");
_Static_assert(sodium_base64_ENCODED_LEN(CHECK_BYTES, VARIANT) == CHECK_LEN + 1, "base64");
_Static_assert(sizeof(CHECK_PERSONA) - 1 == crypto_generichash_blake2b_PERSONALBYTES, "persona");

/* Checksum of the first BODY_LEN bytes of a text. */
static void check_write(const char *text, char ret_check[static CHECK_LEN + 1])
{
    unsigned char hash[crypto_generichash_BYTES];
    int r = crypto_generichash_blake2b_salt_personal(hash, sizeof(hash),
                                                     (const unsigned char *)text, BODY_LEN, NULL, 0,
                                                     NULL, (const unsigned char *)CHECK_PERSONA);

    assert(r == 0); /* fails for wrong sizes only */
    (void)r;
    (void)sodium_bin2base64(ret_check, CHECK_LEN + 1, hash, CHECK_BYTES, VARIANT);
    sodium_memzero(hash, sizeof(hash));
}

void token_write(const struct secret *secret, char ret_text[static TOKEN_TEXT_SIZE])
{
    memcpy(ret_text, TOKEN_PREFIX, PREFIX_LEN);
    (void)sodium_bin2base64(ret_text + PREFIX_LEN, PAYLOAD_LEN + 1, secret->bytes, SECRET_BYTES,
                            VARIANT);
    check_write(ret_text, ret_text + BODY_LEN);
}

void token_make(struct secret *ret_secret, char ret_text[static TOKEN_TEXT_SIZE])
{
    randombytes_buf(ret_secret->bytes, SECRET_BYTES);
    ret_secret->size = SECRET_BYTES;
    token_write(ret_secret, ret_text);
}

bool token_read(const char *text, size_t size, struct secret *ret_secret)
{
    cleanup_secret struct secret secret = {.size = SECRET_BYTES};
    char check[CHECK_LEN + 1];
    size_t n = 0;
    bool is_good;

    if (size != TOKEN_TEXT_LEN || memcmp(text, TOKEN_PREFIX, PREFIX_LEN) != 0)
        return false;
    check_write(text, check);
    is_good = sodium_memcmp(check, text + BODY_LEN, CHECK_LEN) == 0;
    sodium_memzero(check, sizeof(check));
    if (!is_good || sodium_base642bin(secret.bytes, SECRET_BYTES, text + PREFIX_LEN, PAYLOAD_LEN,
                                      NULL, &n, NULL, VARIANT) != 0)
        return false;
    if (n != SECRET_BYTES)
        return false;
    *ret_secret = secret;
    return true;
}

/* SPDX-License-Identifier: ISC */
/*
 * magic_link.h - the secrets that open a login: mint them, and check what somebody typed.
 *
 * A link is one random 256-bit token, `https://HOST/#TOKEN`, and one short code for typing,
 * `XXXX-XXXX-XXXX`. Both are one row of the registry, which has keyed BLAKE2b hashes of them only;
 * the key is in a file beside the database, so that a copy of the database opens nothing and
 * lets nobody guess codes offline. One use of either form uses up both.
 *
 *   token  atl_ + base64url of 32 random bytes (43 characters) + 4 characters of checksum
 *   code   10 random symbols (50 bits) + 2 of checksum, Crockford's base 32: no I, L, O, U
 *
 * Secrets are in memory only as long as needed and wiped after. Nothing here logs.
 */
#ifndef ATELIER_MAGIC_LINK_H
#define ATELIER_MAGIC_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "registry/registry.h"

#define TOKEN_TEXT_SIZE 52u /* "atl_", 43, 4, NUL */
#define CODE_TEXT_SIZE  15u /* three groups of four, two hyphens, NUL */
#define LINK_URL_SIZE   512u

#define LINK_LOGIN_S     (15 * 60)           /* how long a login link lives */
#define LINK_VALID_S_MAX (14 * 24 * 60 * 60) /* and an invitation, at most */
/* Wrong codes: for a name, known or not, from one address, and from all. Tokens need no limit. */
#define LINK_TRIES_A_MINUTE     20u
#define LINK_TRIES_ALL_A_MINUTE 1000u

struct magic_link;

/**
 * magic_link_open() - Load the key, or make it
 * @state_dir: As registry_open(); the key is registry/link.key, 32 bytes, 0600
 * @ret_ml:    Owned by the caller, magic_link_close()
 *
 * A key that is lost makes every open link worthless and is replaced; one that others can read, is
 * no regular file or has another size is refused.
 *
 * Return: 0, -EPERM, -EBADMSG (size), or a negative errno.
 */
int magic_link_open(const char *state_dir, struct magic_link **ret_ml);

/* Wipes the key. */
void magic_link_close(struct magic_link *ml);

/* The only moment at which a link's secrets are readable. minted_wipe() when they were given out.
 */
struct minted {
    struct link link;
    char token[TOKEN_TEXT_SIZE];
    char code[CODE_TEXT_SIZE];
};

/**
 * magic_link_mint() - Make a link for a user, durably
 * @valid_s:    1..LINK_VALID_S_MAX
 * @caller_uid: Who asked; 0 for the administrator
 * @now_s:      Unix seconds
 *
 * Return: 0, -ERANGE (valid_s), -ENOENT (no such user), or a negative errno.
 */
int magic_link_mint(struct magic_link *ml, struct registry *reg, uint32_t uid,
                    enum link_purpose purpose, int64_t valid_s, uint32_t caller_uid, int64_t now_s,
                    struct minted *ret_minted);

void minted_wipe(struct minted *minted);

enum magic_link_verdict {
    MAGIC_LINK_REFUSED = 0, /* wrong, used, expired, another's, not a secret at all, locked user */
    MAGIC_LINK_ACCEPTED = 1,
    MAGIC_LINK_THROTTLED = 2, /* too many wrong tries; nothing was looked at */
};

/**
 * magic_link_redeem() - Check what was typed for a name, and use it up if it is good
 * @name:        As typed; "" or anything that is no name is refused after the same work
 * @typed:       Code, token or whole link, as typed or pasted: spaces, line ends and the case of a
 *               code do not matter; @size bytes, borrowed, not NUL-terminated
 * @door:        SSH or WEB
 * @now_s:       Unix seconds, for expiry
 * @rhost:       Where it comes from, for the limit; "" if that is here
 * @now_ms:      Monotonic milliseconds, for the limit
 * @ret_link:    Set on ACCEPTED
 * @ret_verdict: Set when 0 is returned
 *
 * A wrong try is counted in memory only, and never touches a link. Counted by name and address, so
 * that a stranger who types wrong codes for a name keeps nobody out but those at his own address; a
 * far higher limit on the name alone keeps many addresses from guessing 50 bits. A token is looked
 * up whatever was tried before: 256 bits are not guessed.
 *
 * Return: 0, or a negative errno: could not find out, nothing was used up.
 */
int magic_link_redeem(struct magic_link *ml, struct registry *reg, const char *name,
                      const char *typed, size_t size, const char *rhost, enum link_purpose door,
                      int64_t now_s, int64_t now_ms, struct link *ret_link,
                      enum magic_link_verdict *ret_verdict);

/**
 * magic_link_url() - The link as text
 * @base: "https://HOST[:PORT][/PATH]", checked by magic_link_base_is_valid()
 *
 * Return: 0 or -ENAMETOOLONG.
 */
int magic_link_url(const char *base, const char *token, char *ret_url, size_t size);

/* http or https, a host, no query, fragment, blank or control character. */
bool magic_link_base_is_valid(const char *base);

/**
 * magic_link_qr() - A QR code for a terminal
 * @text:     What it says, at most LINK_URL_SIZE bytes
 * @ret_text: Heap: UTF-8 lines of half blocks with the quiet zone, dark modules drawn as blanks on
 *            a light ground, each line ended by a newline; without colour sequences
 *
 * Return: 0, -E2BIG or -ENOMEM.
 */
int magic_link_qr(const char *text, char **ret_text);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * link.c - mint a link, and redeem what was typed.
 *
 * Redeeming does the same for everything that is typed: one hash, one link_consume(), and before
 * them the limit, unless it is a token. What
 * is no secret, or is typed for what is no name, is hashed in a domain of its own: the registry is
 * asked for a hash that no link has. Who measures learns that the answer was no, as everybody does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "magic-link/code.h"
#include "magic-link/key.h"
#include "magic-link/limit.h"
#include "magic-link/magic_link.h"
#include "magic-link/token.h"
#include "magic-link/typed.h"

#include "common/banned.h"

#define LINK_ID_BYTES 8u
#define MINT_TRIES    3

_Static_assert(LINK_ID_SIZE == 2 * LINK_ID_BYTES + 1, "hex digits of an id");

struct magic_link {
    struct key key;
    struct limit *by_source; /* a name from one address */
    struct limit *by_name;
};

int magic_link_open(const char *state_dir, struct magic_link **ret_ml)
{
    struct magic_link *ml;
    int r;

    if (sodium_init() < 0)
        return -EIO;
    /* Guarded, locked in memory if the limit allows it, and not in core dumps. */
    ml = sodium_malloc(sizeof(*ml));
    if (!ml)
        return -ENOMEM;
    *ml = (struct magic_link){.by_source = limit_new(LINK_TRIES_A_MINUTE),
                              .by_name = limit_new(LINK_TRIES_ALL_A_MINUTE)};
    r = ml->by_source && ml->by_name ? key_load(state_dir, &ml->key) : -ENOMEM;
    if (r < 0) {
        magic_link_close(ml);
        return r;
    }
    *ret_ml = ml;
    return 0;
}

void magic_link_close(struct magic_link *ml)
{
    if (!ml)
        return;
    limit_free(ml->by_source);
    limit_free(ml->by_name);
    sodium_free(ml); /* wipes it */
}

void minted_wipe(struct minted *minted)
{
    sodium_memzero(minted, sizeof(*minted));
}

/* --- mint ---------------------------------------------------------------------------------- */

static void id_make(char ret_id[static LINK_ID_SIZE])
{
    unsigned char bytes[LINK_ID_BYTES];

    randombytes_buf(bytes, sizeof(bytes));
    (void)sodium_bin2hex(ret_id, LINK_ID_SIZE, bytes, sizeof(bytes));
}

/* New secrets for a link, stored. */
static int minted_store(struct magic_link *ml, struct registry *reg, struct minted *minted)
{
    cleanup_secret struct secret token = {0}, code = {0};
    struct secret_hash token_hash, code_hash;

    id_make(minted->link.link_id);
    token_make(&token, minted->token);
    code_make(&code, minted->code);
    key_hash(&ml->key, KEY_DOMAIN_TOKEN, &token, &token_hash);
    key_hash(&ml->key, KEY_DOMAIN_CODE, &code, &code_hash);
    return link_add(reg, &minted->link, token_hash.bytes, code_hash.bytes);
}

int magic_link_mint(struct magic_link *ml, struct registry *reg, uint32_t uid,
                    enum link_purpose purpose, int64_t valid_s, uint32_t caller_uid, int64_t now_s,
                    struct minted *ret_minted)
{
    struct minted minted = {
        .link = {.uid = uid, .purpose = purpose, .caller_uid = caller_uid, .created_s = now_s}};
    struct user user;
    int r;

    if (valid_s < 1 || valid_s > LINK_VALID_S_MAX)
        return -ERANGE;
    minted.link.expires_s = now_s + valid_s;
    r = user_by_uid(reg, uid, &user);
    if (r < 0)
        return r;
    (void)str_copy(minted.link.name, sizeof(minted.link.name), user.name);
    /* An id or a code that is there already: of 64 or 50 random bits that will not happen twice. */
    r = -EEXIST;
    for (int i = 0; r == -EEXIST && i < MINT_TRIES; i++)
        r = minted_store(ml, reg, &minted);
    if (r == 0)
        *ret_minted = minted;
    minted_wipe(&minted);
    return r;
}

/* --- redeem -------------------------------------------------------------------------------- */

static enum key_domain domain_of(enum typed_kind kind)
{
    switch (kind) {
    case TYPED_TOKEN:
        return KEY_DOMAIN_TOKEN;
    case TYPED_CODE:
        return KEY_DOMAIN_CODE;
    case TYPED_NONE:
        break;
    }
    return KEY_DOMAIN_NONE;
}

/* A name and an address as one word; an address that does not fit is cut. */
#define SOURCE_SIZE 160u
static void source_write(const char *who, const char *rhost, char ret_source[static SOURCE_SIZE])
{
    (void)snprintf(ret_source, SOURCE_SIZE, "%s@%s", who, rhost);
}

static bool tries_take(struct magic_link *ml, const char *who, const char *rhost, int64_t now_ms)
{
    char source[SOURCE_SIZE];

    source_write(who, rhost, source);
    return limit_take(ml->by_source, source, now_ms) && limit_take(ml->by_name, who, now_ms);
}

static void tries_give_back(struct magic_link *ml, const char *who, const char *rhost)
{
    char source[SOURCE_SIZE];

    source_write(who, rhost, source);
    limit_give_back(ml->by_source, source);
    limit_give_back(ml->by_name, who);
}

int magic_link_redeem(struct magic_link *ml, struct registry *reg, const char *name,
                      const char *typed, size_t size, const char *rhost, enum link_purpose door,
                      int64_t now_s, int64_t now_ms, struct link *ret_link,
                      enum magic_link_verdict *ret_verdict)
{
    cleanup_hash struct secret_hash hash;
    cleanup_secret struct secret secret = {0};
    bool is_name = name_is_valid(name), is_counted;
    const char *who = is_name ? name : ""; /* all that is no name shares one bucket */
    enum link_verdict verdict = LINK_REFUSED;
    enum typed_kind kind;
    struct link link = {0};
    int r;

    kind = typed_read(typed, size, &secret);
    is_counted = kind != TYPED_TOKEN;
    if (is_counted && !tries_take(ml, who, rhost, now_ms)) {
        *ret_verdict = MAGIC_LINK_THROTTLED;
        return 0;
    }
    if (!is_name) {
        secret_wipe(&secret);
        kind = TYPED_NONE;
    }
    key_hash(&ml->key, domain_of(kind), &secret, &hash);
    r = link_consume(reg, hash.bytes, who, door, now_s, &link, &verdict);
    if (is_counted && (r < 0 || verdict == LINK_ACCEPTED))
        tries_give_back(ml, who, rhost); /* only what was looked at and wrong counts */
    if (r < 0)
        return r;
    if (verdict == LINK_ACCEPTED)
        *ret_link = link;
    *ret_verdict = verdict == LINK_ACCEPTED ? MAGIC_LINK_ACCEPTED : MAGIC_LINK_REFUSED;
    return 0;
}

/* SPDX-License-Identifier: ISC */
/* minted.h - a link that was just made: ask for it, and print it once, on standard output. */
#ifndef ATELIER_CTL_MINTED_H
#define ATELIER_CTL_MINTED_H

#include <jansson.h>

#include "ctl/answer.h"

struct minted {
    const char *id, *user, *link, *code, *expires_at, *purpose;
    const char *qr; /* lines of half blocks; NULL if none was asked for */
    json_int_t uid;
    struct answer answer; /* owns the strings */
};

/**
 * minted_get() - POST /v1/links
 * @body:       Object to send, borrowed
 * @who:        Stands before the sentence if the answer is an error: "" or "NAME: "
 * @ret_minted: minted_done(), if CTL_OK is returned
 *
 * With --json an error object is printed, but not the link.
 */
enum ctl_exit minted_get(const struct options *opt, const json_t *body, const char *who,
                         struct minted *ret_minted);

void minted_done(struct minted *m);
#define cleanup_minted __attribute__((cleanup(minted_done)))

/**
 * minted_print() - For people, or with --json one line: user, uid, link, code, expires_at, id
 * @who: What the first line begins with; the user's name and UID follow. "" for nothing
 */
void minted_print(const struct options *opt, const struct minted *m, const char *who);

/**
 * host_of_link() - The host in a link, for the ssh command
 *
 * Return: heap; without the brackets of an IPv6 address; "HOST" if there is none to be found.
 */
char *host_of_link(const char *link);

#endif

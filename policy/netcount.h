/* SPDX-License-Identifier: ISC */
/*
 * netcount.h - who reached what, and how many connections one user may have, as input for nft.
 *
 * One table of ours, beside the rules of netrules.h and independent of them: what is refused is
 * decided by those alone, but for the number of connections, which they cannot count by user.
 */
#ifndef ATELIER_NETCOUNT_H
#define ATELIER_NETCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define NETCOUNT_TABLE       "atelier" /* of the family inet */
#define NETCOUNT_CONNECTIONS 2048u     /* of one user, shipped */
/*
 * Destinations that are remembered, of each family, and for how long: all sets together have to be
 * printed and read in the time that net_count.c gives it, whatever users fill them with.
 */
#define NETCOUNT_REFUSED_MAX 8192u
#define NETCOUNT_REFUSED_S   3600u

struct netcount_spec {
    const char *rules4, *rules6; /* borrowed; netrules_text() of each family */
    uint32_t connections;        /* the most that one user may have, 1 or more */
    uint32_t table_size;         /* of the kernel's table of connections; 0: not known */
    bool keeps_counts; /* the table is there with the same connections: what it has counted stays */
};

/**
 * netcount_text() - All of the table
 * @ret_text:  NUL-terminated text for `nft -f -`, heap, free() it
 * @ret_whole: False: there was a rule that could not be translated; destinations are not listed
 *
 * One transaction, which deletes the table first, or with keeps_counts its rules alone. Sets and
 * chains are the same whatever the rules are, so that what they have counted can be kept.
 *
 * Return: 0 or -ENOMEM.
 */
int netcount_text(const struct netcount_spec *spec, char **ret_text, bool *ret_whole);

/* The same for the end: the table goes, whether there is one or not. Static. */
const char *netcount_removal(void);

#endif

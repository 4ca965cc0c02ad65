/* SPDX-License-Identifier: ISC */
/* nftables.h - the table that iptables makes on its first use and never removes. */
#ifndef ATELIER_CTL_SETUP_NFTABLES_H
#define ATELIER_CTL_SETUP_NFTABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/setup/text.h"

/* What iptables-save(8) says about its table "filter". */
enum filter_table {
    FILTER_ABSENT,
    FILTER_EMPTY, /* nothing but the built-in chains, with policy ACCEPT */
    FILTER_USED,
};

enum filter_table filter_table_of(const struct text *saved);

/* Whether the first rule of OUTPUT leads into our chain. */
bool rules_are_first(const struct text *saved);

/**
 * filter_table_delete() - Remove the table "filter" of a family
 * @family: NFPROTO_IPV4 or NFPROTO_IPV6
 *
 * With everything in it: only for a table that was just seen to be empty. There is no option of
 * iptables for it, and nft(8) need not be installed.
 *
 * Return: 0, -ENOENT if there is none (or it is not nftables'), or another errno.
 */
int filter_table_delete(uint8_t family);

/* Whether iptables-save shows a chain of ours, or a rule that leads to it. */
bool rules_are_left(const struct text *saved);

#endif

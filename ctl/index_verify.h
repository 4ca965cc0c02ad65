/* SPDX-License-Identifier: ISC */
/* index_verify.h - every answer of NSS, beside the registry. */
#ifndef ATELIER_CTL_INDEX_VERIFY_H
#define ATELIER_CTL_INDEX_VERIFY_H

#include <jansson.h>
#include <stddef.h>

#include "ctl/args.h"
#include "ctl/exit.h"

struct index_verdict {
    json_t *found; /* array of {"question", "registry", "nss"}, escaped for a terminal; owned */
    size_t users, groups;
    json_int_t generation;
};

/**
 * index_verify() - Ask NSS everything, in all the ways in which it can be asked
 * @ret: Set if CTL_OK is returned, whatever was found
 *
 * Return: CTL_OK; CTL_BUSY if the registry changes all the time, or another code; it has been said
 * why.
 */
enum ctl_exit index_verify(const struct options *opt, struct index_verdict *ret);

#endif

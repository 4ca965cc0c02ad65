/* SPDX-License-Identifier: ISC */
/* caller_input.h - bodies about callers, checked. */
#ifndef ATELIER_API_CALLER_INPUT_H
#define ATELIER_API_CALLER_INPUT_H

#include <jansson.h>
#include <stdint.h>

#include "sessiond/api/error.h"

/* POST /v1/callers; *ret_groups is borrowed from the body and has 1..CALLER_GROUPS_MAX strings. */
int caller_input_parse(const json_t *body, uint32_t *ret_uid, uint32_t *ret_verbs,
                       const json_t **ret_groups, struct error *e);

#endif

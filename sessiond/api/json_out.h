/* SPDX-License-Identifier: ISC */
/* json_out.h - rows and messages as JSON. Each returns a new value, or NULL without memory. */
#ifndef ATELIER_API_JSON_OUT_H
#define ATELIER_API_JSON_OUT_H

#include <jansson.h>
#include <stddef.h>

#include "common/wire.h"
#include "registry/registry.h"
#include "sessiond/api/outcome.h"

/* "" is null. */
json_t *json_of_text(const char *text);

/* {"name", "gid"} */
json_t *json_of_group(const struct group *group);

/* ["name", ...] */
json_t *json_of_group_names(const struct group *groups, size_t n);

/* Without e-mail and external ids: what a caller gets who created the user. */
json_t *json_of_new_user(const struct user *user, bool is_created);

/* {"caller", "external_id"} */
json_t *json_of_external_id(uint32_t owner_uid, const char *external_id);

/* The admin's view, with the names of the groups. @external_ids: an array, taken over. */
json_t *json_of_user(const struct user *user, json_t *external_ids, const struct group *groups,
                     size_t n);

json_t *json_of_caller(const struct caller *caller);

json_t *json_of_receipt(const struct wire_receipt *receipt);

/* All but ev, seq and t_ms of an `end` event. */
json_t *json_of_outcome(const struct outcome *outcome, uint64_t out_bytes);

const char *json_cgroup_mode(uint32_t mode);
const char *json_canary(uint32_t canary);

#endif

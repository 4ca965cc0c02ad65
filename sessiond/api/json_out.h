/* SPDX-License-Identifier: ISC */
/* json_out.h - rows and messages as JSON. Each returns a new value, or NULL without memory. */
#ifndef ATELIER_API_JSON_OUT_H
#define ATELIER_API_JSON_OUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"
#include "magic-link/magic_link.h"
#include "registry/registry.h"
#include "sessiond/api/outcome.h"

/* "" is null. */
json_t *json_of_text(const char *text);

/* Unix seconds as RFC 3339; 0 is null. */
json_t *json_of_time(int64_t s);

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

/* @state of a link: whatever came first. @now_s decides between open and expired. */
const char *json_link_state(const struct link *link, int64_t now_s);

/* Without secrets: what a list of links has. */
json_t *json_of_link(const struct link *link, int64_t now_s);

/**
 * json_of_minted() - What is given out once: the value holds secrets, for request_answer_secret()
 * @user: Name of the user
 * @url:  The link
 * @qr:   For a terminal, or NULL
 */
json_t *json_of_minted(const struct minted *minted, const char *user, const char *url,
                       const char *qr);

/* @user: name of the user. */
json_t *json_of_session(const char *user, const struct wire_session_started *session);

json_t *json_of_receipt(const struct wire_receipt *receipt);

/* What sessiond keeps by looking, where no control group limits. */
json_t *json_of_watch(const struct wire_watch *watch);

/* All but ev, seq and t_ms of an `end` event. */
json_t *json_of_outcome(const struct outcome *outcome, uint64_t out_bytes);

const char *json_cgroup_mode(uint32_t mode);
const char *json_disk_mode(uint64_t disk);

/* "kernel", "loaded" or "unknown": how it is known which filter there is. Static. */
const char *json_filter_how(uint32_t how);
const char *json_canary(uint32_t canary);

#endif

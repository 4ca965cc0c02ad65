/* SPDX-License-Identifier: ISC */
/* network_view.h - rows of common/wire_net.h as JSON. */
#ifndef ATELIER_API_NETWORK_VIEW_H
#define ATELIER_API_NETWORK_VIEW_H

#include <jansson.h>

#include "common/wire_net.h"

/* @user: a name, or NULL for a UID that is nobody's. */
json_t *json_of_net_user(const struct wire_net_user *row, const char *user);
json_t *json_of_net_refused(const struct wire_net_refused *row, const char *user);
json_t *json_of_net_rule(const struct wire_net_rule *row);

#endif

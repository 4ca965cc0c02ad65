/* SPDX-License-Identifier: ISC */
/* link_input.h - the body of POST /v1/links, checked, and ids of links. */
#ifndef ATELIER_API_LINK_INPUT_H
#define ATELIER_API_LINK_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "registry/registry.h"
#include "sessiond/api/error.h"

struct link_input {
    const char *user; /* borrowed from the body */
    enum link_purpose purpose;
    uint32_t valid_s;
    bool wants_qr;
};

/* A user that cannot exist is 404 unknown_user. Return: 0, or -EINVAL with *e filled. */
int link_input_parse(const json_t *body, struct link_input *ret_in, struct error *e);

/* Could this be the id of a link? */
bool link_id_is_valid(const char *id);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * json_in.h - read a request strictly: what is unknown, missing or of the wrong type is an error
 * that names the field.
 *
 * All functions return 0, or -EINVAL with *e filled. Optional outputs keep their value when the
 * key is absent, so defaults are set before. Strings are borrowed from the JSON value.
 */
#ifndef ATELIER_API_JSON_IN_H
#define ATELIER_API_JSON_IN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessiond/api/error.h"

/* The whole body as one object; *ret_obj is owned by the caller. */
int json_in_parse(const char *body, size_t size, json_t **ret_obj, struct error *e);

/* One object of a request, and how its keys are called in errors: "" or "limits.". */
struct json_in {
    const json_t *obj;
    const char *prefix;
    struct error *e;
};

/* Refuse every key that is not in the NULL-terminated list. */
int json_in_only(const struct json_in *in, const char *const keys[]);

/* Refuse the absence of a key. */
int json_in_require(const struct json_in *in, const char *key);

/* A string of 1..@max_bytes bytes; @ret_s is untouched if it is absent. */
int json_in_string(const struct json_in *in, const char *key, size_t max_bytes, const char **ret_s);

/* The same of 0..@max_bytes bytes. */
int json_in_text(const struct json_in *in, const char *key, size_t max_bytes, const char **ret_s);

/* A whole number in @min..@max; @ret_v is untouched if it is absent. */
int json_in_u32(const struct json_in *in, const char *key, uint32_t min, uint32_t max,
                uint32_t *ret_v);

/* true or false; @ret_v is untouched if it is absent. */
int json_in_bool(const struct json_in *in, const char *key, bool *ret_v);

/* An array of at most @max_count strings; @ret_v is untouched if it is absent. */
int json_in_strings(const struct json_in *in, const char *key, size_t max_count,
                    const json_t **ret_v);

/* An array of at most @max_count objects; @ret_v is untouched if it is absent. */
int json_in_objects(const struct json_in *in, const char *key, size_t max_count,
                    const json_t **ret_v);

/* An object; @ret_v is untouched if it is absent. */
int json_in_object(const struct json_in *in, const char *key, const json_t **ret_v);

#endif

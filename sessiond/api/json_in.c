/* SPDX-License-Identifier: ISC */
/* json_in.c - read a request strictly. */
#include "sessiond/api/json_in.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/near.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

/* jansson's own text quotes the input; this says as much and is always one printable sentence. */
static const char *parse_problem(const json_error_t *err)
{
    switch (json_error_code(err)) {
    case json_error_duplicate_key:
        return "a key is there twice";
    case json_error_null_byte_in_key:
    case json_error_null_character:
        return "NUL is not allowed";
    case json_error_invalid_utf8:
        return "it is not UTF-8";
    case json_error_numeric_overflow:
        return "a number is too large";
    case json_error_stack_overflow:
        return "it is nested too deeply";
    case json_error_premature_end_of_input:
        return "it ends too early";
    case json_error_end_of_input_expected:
        return "there is something after its end";
    default:
        return "it is not JSON";
    }
}

int json_in_parse(const char *body, size_t size, json_t **ret_obj, struct error *e)
{
    json_error_t err;
    json_t *obj;

    if (size == 0)
        return error_field(e, NULL, "The body must be a JSON object.");
    obj = json_loadb(body, size, JSON_REJECT_DUPLICATES, &err);
    if (!obj)
        return error_field(e, NULL, "The body cannot be read at line %d, column %d: %s.", err.line,
                           err.column, parse_problem(&err));
    if (!json_is_object(obj)) {
        json_decref(obj);
        return error_field(e, NULL, "The body must be a JSON object.");
    }
    *ret_obj = obj;
    return 0;
}

static int refuse(const struct json_in *in, const char *key, const char *what)
{
    char field[ERROR_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "%s%s", in->prefix, key);
    return error_field(in->e, field, "%s %s.", field, what);
}

static int refuse_value(const struct json_in *in, const char *key, const json_t *v,
                        const char *what)
{
    char field[ERROR_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "%s%s", in->prefix, key);
    return error_field(in->e, field, "%s %s, not %s.", field, what, VALUE_JSON(v));
}

static int refuse_long(const struct json_in *in, const char *key, const json_t *v, size_t max_bytes)
{
    char field[ERROR_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "%s%s", in->prefix, key);
    return error_field(in->e, field, "%s is too long: %s has %zu bytes, at most %zu are allowed.",
                       field, VALUE_JSON(v), json_string_length(v), max_bytes);
}

/* The key is foreign text itself. */
static int refuse_key(const struct json_in *in, const char *key, const char *const keys[])
{
    char field[ERROR_FIELD_SIZE], hint[NEAR_HINT_SIZE];
    size_t count = 0;

    while (keys[count])
        count++;
    (void)near_hint(key, keys, count, hint);
    (void)snprintf(field, sizeof(field), "%s%s", in->prefix, key);
    return error_field(in->e, field, "%s%s is not a known key%s%s%s.", in->prefix, VALUE(key),
                       hint[0] ? " (" : "", hint, hint[0] ? ")" : "");
}

static bool is_listed(const char *key, const char *const keys[])
{
    for (size_t i = 0; keys[i]; i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return false;
}

/* jansson's iterators want a value that is not const, and do not change it. */
static json_t *unconst(const json_t *v)
{
    return (json_t *)(uintptr_t)v;
}

int json_in_only(const struct json_in *in, const char *const keys[])
{
    const char *key;
    json_t *value;

    json_object_foreach(unconst(in->obj), key, value)
    {
        if (!is_listed(key, keys))
            return refuse_key(in, key, keys);
    }
    return 0;
}

int json_in_require(const struct json_in *in, const char *key)
{
    return json_object_get(in->obj, key) ? 0 : refuse(in, key, "is missing");
}

int json_in_text(const struct json_in *in, const char *key, size_t max_bytes, const char **ret_s)
{
    const json_t *v = json_object_get(in->obj, key);

    if (!v)
        return 0;
    if (!json_is_string(v))
        return refuse_value(in, key, v, "must be a string");
    if (json_string_length(v) > max_bytes)
        return refuse_long(in, key, v, max_bytes);
    *ret_s = json_string_value(v);
    return 0;
}

int json_in_string(const struct json_in *in, const char *key, size_t max_bytes, const char **ret_s)
{
    const json_t *v = json_object_get(in->obj, key);

    if (json_is_string(v) && json_string_length(v) == 0)
        return refuse(in, key, "must not be empty");
    return json_in_text(in, key, max_bytes, ret_s);
}

int json_in_u32(const struct json_in *in, const char *key, uint32_t min, uint32_t max,
                uint32_t *ret_v)
{
    const json_t *v = json_object_get(in->obj, key);
    char what[64];

    if (!v)
        return 0;
    if (!json_is_integer(v))
        return refuse_value(in, key, v, "must be a whole number");
    if (json_integer_value(v) < (json_int_t)min || json_integer_value(v) > (json_int_t)max) {
        (void)snprintf(what, sizeof(what), "must be from %u to %u", min, max);
        return refuse_value(in, key, v, what);
    }
    *ret_v = (uint32_t)json_integer_value(v);
    return 0;
}

int json_in_bool(const struct json_in *in, const char *key, bool *ret_v)
{
    const json_t *v = json_object_get(in->obj, key);

    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return refuse_value(in, key, v, "must be true or false");
    *ret_v = json_is_true(v);
    return 0;
}

/* @is_kind: what each entry must be; @kind: that in words, "a string" */
static int array_in(const struct json_in *in, const char *key, size_t max_count,
                    bool (*is_kind)(const json_t *item), const char *kind, const json_t **ret_v)
{
    const json_t *v = json_object_get(in->obj, key), *item;
    char name[64], what[80];
    size_t i;

    if (!v)
        return 0;
    (void)snprintf(what, sizeof(what), "must be an array of %ss", kind + strcspn(kind, " ") + 1);
    if (!json_is_array(v))
        return refuse_value(in, key, v, what);
    if (json_array_size(v) > max_count) {
        (void)snprintf(what, sizeof(what), "has %zu entries, at most %zu are allowed",
                       json_array_size(v), max_count);
        return refuse(in, key, what);
    }
    (void)snprintf(what, sizeof(what), "must be %s", kind);
    json_array_foreach(v, i, item)
    {
        if (!is_kind(item)) {
            (void)snprintf(name, sizeof(name), "%s[%zu]", key, i);
            return refuse_value(in, name, item, what);
        }
    }
    *ret_v = v;
    return 0;
}

static bool is_string(const json_t *item)
{
    return json_is_string(item);
}

static bool is_object(const json_t *item)
{
    return json_is_object(item);
}

int json_in_strings(const struct json_in *in, const char *key, size_t max_count,
                    const json_t **ret_v)
{
    return array_in(in, key, max_count, is_string, "a string", ret_v);
}

int json_in_objects(const struct json_in *in, const char *key, size_t max_count,
                    const json_t **ret_v)
{
    return array_in(in, key, max_count, is_object, "an object", ret_v);
}

int json_in_object(const struct json_in *in, const char *key, const json_t **ret_v)
{
    const json_t *v = json_object_get(in->obj, key);

    if (!v)
        return 0;
    if (!json_is_object(v))
        return refuse_value(in, key, v, "must be an object");
    *ret_v = v;
    return 0;
}

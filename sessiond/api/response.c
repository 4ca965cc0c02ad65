/* SPDX-License-Identifier: ISC */
/* response.c - bodies of answers, as libmicrohttpd takes them. */
#include "sessiond/api/response.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

/* Heap text of @ret_len bytes and a NUL; the line break is for people with a terminal. */
static char *text_of_json(const json_t *body, size_t *ret_len)
{
    size_t len = json_dumpb(body, NULL, 0, JSON_COMPACT);
    char *text = len > 0 ? malloc(len + 2) : NULL;

    if (!text)
        return NULL;
    /* Into memory of ours: json_dumps() would leave copies behind while it grows. */
    (void)json_dumpb(body, text, len, JSON_COMPACT);
    text[len] = '\n';
    text[len + 1] = '\0';
    *ret_len = len + 1;
    return text;
}

static struct MHD_Response *response_of_text(char *text, size_t len,
                                             MHD_ContentReaderFreeCallback release)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(len, text, release);

    if (!response) {
        release(text);
        return NULL;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    return response;
}

struct MHD_Response *response_of_json(json_t *body)
{
    size_t len = 0;
    char *text = body ? text_of_json(body, &len) : NULL;

    json_decref(body);
    return text ? response_of_text(text, len, free) : NULL;
}

static void free_wiped(void *text)
{
    sodium_memzero(text, strlen(text));
    free(text);
}

/* jansson keeps its own copy of each string, and lets us have it to read only. */
static void wipe_strings(json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (json_is_string(value))
            sodium_memzero((char *)(uintptr_t)json_string_value(value), json_string_length(value));
    }
}

struct MHD_Response *response_of_secret(json_t *body)
{
    size_t len = 0;
    char *text = body ? text_of_json(body, &len) : NULL;
    struct MHD_Response *response;

    wipe_strings(body);
    json_decref(body);
    response = text ? response_of_text(text, len, free_wiped) : NULL;
    if (response)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return response;
}

/* SPDX-License-Identifier: ISC */
/* response.h - bodies of answers, as libmicrohttpd takes them. */
#ifndef ATELIER_API_RESPONSE_H
#define ATELIER_API_RESPONSE_H

#include <jansson.h>
#include <microhttpd.h>

/* @body: taken over; NULL gives NULL. Return: owned by the caller, or NULL without memory. */
struct MHD_Response *response_of_json(json_t *body);

/**
 * response_of_secret() - response_of_json() for what must be neither kept nor cached
 * @body: An object, taken over; its strings are wiped
 *
 * The text is wiped when libmicrohttpd is done with it. What the kernel and libmicrohttpd copy for
 * themselves is out of our reach.
 */
struct MHD_Response *response_of_secret(json_t *body);

#endif

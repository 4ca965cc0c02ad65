/* SPDX-License-Identifier: ISC */
/* client.h - one HTTP request over the admin socket. */
#ifndef ATELIER_CTL_CLIENT_H
#define ATELIER_CTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "ctl/args.h"
#include "ctl/exit.h"

/* The API takes no longer body, but for imports. */
#define CLIENT_BODY_MAX   (1u << 20)
#define CLIENT_IMPORT     "/v1/imports"
#define CLIENT_IMPORT_MAX (4u << 20)

struct client_request {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* "/v1/..."; the parts of it are names or numbers, nothing to escape */
    const json_t *body; /* NULL for none; borrowed */
    long timeout_s;     /* for the whole exchange; 0 for none */

    /**
     * Called for each piece of the body as it arrives
     * @http: Status code of the answer
     *
     * Return: 0 to go on; anything else closes the connection.
     */
    int (*piece)(void *arg, long http, const char *data, size_t size);
    void *arg;
};

struct client_result {
    long http;          /* status code; 0 if there was no answer */
    enum ctl_exit code; /* CTL_OK: a whole answer arrived, whatever it says */
    char why[320];      /* a sentence if not; "" if piece() ended it */
};

/**
 * client_perform() - Send a request and hand over the answer
 * @opt:        Socket, borrowed
 * @req:        What to send, borrowed
 * @ret_result: How it went
 *
 * Speaks HTTP/1.1 to the socket and nothing else: no proxy, no redirect, no environment.
 */
void client_perform(const struct options *opt, const struct client_request *req,
                    struct client_result *ret_result);

#endif

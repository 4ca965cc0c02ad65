/* SPDX-License-Identifier: ISC */
/* client.c - one HTTP request over the admin socket, with libcurl. */
#include "ctl/client.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

#define CONNECT_TIMEOUT_S 10L

struct exchange {
    CURL *curl;
    const struct client_request *req;
    bool is_stopped; /* by piece() */
};

static void curl_cleanup_p(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

static void slist_free_p(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    long http = 0;

    (void)curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &http);
    if (x->req->piece(x->req->arg, http, data, size * count) != 0) {
        x->is_stopped = true;
        return size * count == 0 ? 1 : 0; /* any other number than was given ends the transfer */
    }
    return size * count;
}

static bool options_set(CURL *curl, const struct options *opt, const struct client_request *req,
                        const char *url, const char *body, struct curl_slist *headers)
{
    bool ok = true;

#define SET(option, value) (ok = ok && curl_easy_setopt(curl, option, value) == CURLE_OK)
    SET(CURLOPT_UNIX_SOCKET_PATH, opt->socket);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CUSTOMREQUEST, req->method);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_USERAGENT, "atelier/" PACKAGE_VERSION);
    if (body) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        SET(CURLOPT_POSTFIELDS, body);
    }
    /* Nothing from the environment or the answer may lead anywhere else. */
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_PROTOCOLS_STR, "http");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "http");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    SET(CURLOPT_TIMEOUT, req->timeout_s);
    SET(CURLOPT_WRITEFUNCTION, on_body);
#undef SET
    return ok;
}

__attribute__((format(printf, 3, 4))) static void
result_set(struct client_result *result, enum ctl_exit code, const char *format, ...)
{
    va_list args;

    result->code = code;
    va_start(args, format);
    (void)vsnprintf(result->why, sizeof(result->why), format, args);
    va_end(args);
}

/* The sentence for each way in which a connection to a socket can fail. */
static void failure_explain(CURL *curl, CURLcode failed, const struct options *opt,
                            const struct client_request *req, struct client_result *result)
{
    long error = 0;

    switch (failed) {
    case CURLE_COULDNT_CONNECT:
        (void)curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
        result_set(result, exit_of_connect((int)error), "cannot reach sessiond-api at %s: %s",
                   opt->socket, error ? strerror((int)error) : "no connection");
        break;
    case CURLE_OPERATION_TIMEDOUT:
        result_set(
            result, CTL_UNAVAILABLE,
            "sessiond-api at %s did not answer within %ld seconds ('systemctl status sessiond-api' "
            "says more)",
            opt->socket, req->timeout_s ? req->timeout_s : CONNECT_TIMEOUT_S);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        result_set(result, CTL_UNAVAILABLE,
                   "sessiond-api at %s closed the connection before the answer was complete",
                   opt->socket);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        result_set(result, CTL_INTERNAL, "what answers at %s does not speak HTTP", opt->socket);
        break;
    case CURLE_OUT_OF_MEMORY:
        say_no_memory();
    default:
        result_set(result, CTL_INTERNAL, "the request to %s failed: %s", opt->socket,
                   curl_easy_strerror(failed));
        break;
    }
}

static char *body_dump(const struct client_request *req, struct client_result *result)
{
    size_t most = strcmp(req->path, CLIENT_IMPORT) == 0 ? CLIENT_IMPORT_MAX : CLIENT_BODY_MAX;
    char *body = json_dumps(req->body, JSON_COMPACT);

    if (!body)
        say_no_memory();
    if (strlen(body) > most) {
        result_set(result, CTL_USAGE, "the request has %zu bytes, %zu are allowed", strlen(body),
                   most);
        free(body);
        return NULL;
    }
    return body;
}

void client_perform(const struct options *opt, const struct client_request *req,
                    struct client_result *ret_result)
{
    __attribute__((cleanup(curl_cleanup_p))) CURL *curl = NULL;
    __attribute__((cleanup(slist_free_p))) struct curl_slist *headers = NULL;
    cleanup_free char *url = NULL;
    cleanup_free char *body = NULL;
    struct exchange x = {.req = req};
    CURLcode r;

    *ret_result = (struct client_result){0};
    if (req->body && !(body = body_dump(req, ret_result)))
        return;
    /* The host is only a Host header: the connection goes to the socket. */
    if (asprintf(&url, "http://localhost%s", req->path) < 0)
        say_no_memory();
    if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK || !(curl = curl_easy_init()))
        say_no_memory();
    headers = curl_slist_append(NULL, "Content-Type: application/json");
    x.curl = curl;
    if (!headers || !options_set(curl, opt, req, url, body, headers) ||
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &x) != CURLE_OK) {
        result_set(ret_result, CTL_INTERNAL, "libcurl does not have an option that is needed");
        return;
    }

    r = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret_result->http);
    if (x.is_stopped)
        ret_result->code = CTL_INTERNAL;
    else if (r != CURLE_OK)
        failure_explain(curl, r, opt, req, ret_result);
}

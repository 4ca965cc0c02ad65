/* SPDX-License-Identifier: ISC */
/* answer.c - a request with one JSON object as its answer. */
#include "ctl/answer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "ctl/client.h"
#include "ctl/say.h"

#include "common/banned.h"

/* 50,000 users at the longest names, e-mails and groups stay below it. */
#define ANSWER_MAX ((size_t)128 << 20)
/* The api waits for the password lock (2 s) and for the disk. */
#define ANSWER_TIMEOUT_S 60L
#define LOOK_TIMEOUT_S   20L /* changes nothing; longer than any change makes it wait */

struct collected {
    char *data;
    size_t used, room;
    bool is_too_long;
};

static int on_piece(void *arg, long http, const char *data, size_t size)
{
    struct collected *c = arg;

    (void)http;
    if (size > ANSWER_MAX - c->used) {
        c->is_too_long = true;
        return -1;
    }
    if (size > c->room - c->used) {
        size_t room = (c->used + size) * 2;
        char *grown = realloc(c->data, room);

        if (!grown)
            say_no_memory();
        c->data = grown;
        c->room = room;
    }
    if (size > 0)
        memcpy(c->data + c->used, data, size);
    c->used += size;
    return 0;
}

enum ctl_exit answer_fetch(const struct options *opt, const char *method, const char *path,
                           const json_t *body, struct answer *ret_answer)
{
    struct collected c = {0};
    struct client_request req = {.method = method,
                                 .path = path,
                                 .body = body,
                                 .timeout_s =
                                     strcmp(method, "GET") == 0 ? LOOK_TIMEOUT_S : ANSWER_TIMEOUT_S,
                                 .piece = on_piece,
                                 .arg = &c};
    struct client_result result;
    struct answer a = {0};
    json_error_t error = {0};
    enum ctl_exit code;

    client_perform(opt, &req, &result);
    code = result.code;
    if (c.is_too_long) {
        code = answer_is_strange("it does not end");
    } else if (code != CTL_OK) {
        say_error("%s", result.why);
    } else if (c.used > 0) {
        a.json = json_loadb(c.data, c.used, JSON_REJECT_DUPLICATES, &error);
        if (!json_is_object(a.json)) {
            json_decref(a.json);
            code = answer_is_strange(error.text[0] ? error.text : "it is not an object");
        }
    }
    free(c.data);
    if (code != CTL_OK)
        return code;
    a.http = result.http;
    *ret_answer = a;
    return CTL_OK;
}

enum ctl_exit answer_judge(const struct options *opt, const struct answer *a)
{
    const char *word = json_string_value(json_object_get(a->json, "status"));
    enum ctl_exit code = exit_of_http(a->http, word);

    if (opt->json && a->json)
        json_print_line(a->json);
    if (code != CTL_OK)
        error_say("", a->json, a->http);
    return code;
}

enum ctl_exit answer_get(const struct options *opt, const char *method, const char *path,
                         const json_t *body, struct answer *ret_answer)
{
    enum ctl_exit code = answer_fetch(opt, method, path, body, ret_answer);

    return code == CTL_OK ? answer_judge(opt, ret_answer) : code;
}

void answer_done(struct answer *a)
{
    json_decref(a->json);
    a->json = NULL;
}

bool answer_is_busy(struct answer *a, int64_t deadline_s)
{
    static const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    const char *word = json_string_value(json_object_get(a->json, "status"));

    if (exit_of_http(a->http, word) != CTL_BUSY || (int64_t)time(NULL) >= deadline_s)
        return false;
    answer_done(a);
    (void)nanosleep(&pause, NULL);
    return true;
}

void json_print_line(const json_t *json)
{
    cleanup_free char *text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);

    if (!text)
        say_no_memory();
    (void)puts(text);
}

void error_say(const char *prefix, const json_t *error, long http)
{
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *field = json_string_value(json_object_get(error, "field"));

    if (!message)
        say_error("%ssessiond-api answered with HTTP status %ld", prefix, http);
    else if (field)
        say_error("%s%s (field %s)", prefix, message, field);
    else
        say_error("%s%s", prefix, message);
}

enum ctl_exit answer_is_strange(const char *detail)
{
    say_error("the answer of sessiond-api makes no sense: %s", detail);
    return CTL_INTERNAL;
}

const char *json_text(const json_t *value)
{
    const char *text = json_string_value(value);

    return text && text[0] ? text : "-";
}

char *json_join(const json_t *array)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        say_no_memory();
    if (json_array_size(array) == 0)
        (void)fputc('-', out);
    for (size_t i = 0; i < json_array_size(array); i++)
        (void)fprintf(out, "%s%s", i > 0 ? "," : "", json_text(json_array_get(array, i)));
    if (fclose(out) != 0 || !text)
        say_no_memory();
    return text;
}

json_t *limits_unmet(const json_t *health)
{
    const json_t *required = json_object_get(health, "limits_required");
    const json_t *by = json_object_get(health, "limits");
    json_t *unmet = json_array();

    for (size_t i = 0; i < json_array_size(required); i++) {
        json_t *one = json_array_get(required, i);

        if (strcmp(json_text(json_object_get(by, json_text(one))), "group") != 0 &&
            json_array_append(unmet, one) < 0)
            say_no_memory();
    }
    return unmet;
}

const char *time_text(json_int_t seconds, char buf[static TIME_TEXT_SIZE])
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&t, &tm) || strftime(buf, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return "-";
    return buf;
}

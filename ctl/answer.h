/* SPDX-License-Identifier: ISC */
/* answer.h - a request with one JSON object as its answer: everything but `run`. */
#ifndef ATELIER_CTL_ANSWER_H
#define ATELIER_CTL_ANSWER_H

#include <jansson.h>

#include "ctl/args.h"
#include "ctl/exit.h"

struct answer {
    long http;
    json_t *json; /* an object; NULL if the body is empty; owned, answer_done() */
};

/**
 * answer_fetch() - Ask, and read the answer as JSON
 * @opt:        Socket, borrowed
 * @method:     HTTP method
 * @path:       Path
 * @body:       Object to send, or NULL; borrowed
 * @ret_answer: Set if CTL_OK is returned
 *
 * Return: CTL_OK if there is an answer, whatever it says; else it has been said why not.
 */
enum ctl_exit answer_fetch(const struct options *opt, const char *method, const char *path,
                           const json_t *body, struct answer *ret_answer);

/**
 * answer_judge() - Print what --json asks for, and say what the error is if it is one
 *
 * Return: CTL_OK for a success; else the exit code, and it has been said why.
 */
enum ctl_exit answer_judge(const struct options *opt, const struct answer *a);

/* answer_fetch() and answer_judge(). */
enum ctl_exit answer_get(const struct options *opt, const char *method, const char *path,
                         const json_t *body, struct answer *ret_answer);

void answer_done(struct answer *a);

/**
 * answer_is_busy() - Whether to ask the same again, after a short sleep in here
 * @a:          Released if so
 * @deadline_s: By time(2); afterwards an answer that is "busy" is taken as it is
 */
bool answer_is_busy(struct answer *a, int64_t deadline_s);

#define cleanup_answer __attribute__((cleanup(answer_done)))

/* Print an object on one line, in ASCII. */
void json_print_line(const json_t *json);

/**
 * error_say() - One sentence from an error body {"status", "field", "message"}
 * @prefix: Put in front, may be ""
 *
 * Also for a body that is something else: then the HTTP status code is all there is to say.
 */
void error_say(const char *prefix, const json_t *error, long http);

/* Say that the answer lacks something. Return: CTL_INTERNAL. */
enum ctl_exit answer_is_strange(const char *detail);

/* A string, or "-" for null and for a member that is not there. Borrowed. */
const char *json_text(const json_t *value);

/* The strings of an array with commas between them, "-" if there are none. Heap. */
char *json_join(const json_t *array);

/* Of healthz: the limits that the policy requires and no control group keeps. New array. */
json_t *limits_unmet(const json_t *health);

/* "2026-03-01T09:30:00Z", the way RFC 3339 writes Unix seconds; buf has 32 bytes. */
#define TIME_TEXT_SIZE 32
const char *time_text(json_int_t seconds, char buf[static TIME_TEXT_SIZE]);

static inline void json_decref_p(json_t **json)
{
    json_decref(*json);
}
#define cleanup_json __attribute__((cleanup(json_decref_p)))

#endif

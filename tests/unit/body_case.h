/* SPDX-License-Identifier: ISC */
/* body_case.h - bodies of requests, and what is said of each. */
#ifndef ATELIER_TEST_BODY_CASE_H
#define ATELIER_TEST_BODY_CASE_H

#include <jansson.h>
#include <stddef.h>

#include "sessiond/api/error.h"

/* A body, and the code and field of its error; http 0: it is good. */
struct body_case {
    const char *body;
    unsigned http;
    const char *field;
};

typedef int (*parse_fn)(const json_t *body, struct error *e);

/* Asserts code and field of each, and that every error is a sentence. */
void check_cases(parse_fn parse, const struct body_case *cases, size_t n);

#define CHECK(parse, cases) check_cases(parse, cases, sizeof(cases) / sizeof((cases)[0]))

/* The object, asserted to be one; the caller's. */
json_t *body_of(const char *text);

#endif

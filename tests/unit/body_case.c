/* SPDX-License-Identifier: ISC */
/* body_case.c - bodies of requests, and what is said of each. */
#include "tests/unit/body_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sessiond/api/json_in.h"

#include "common/banned.h"

static void check_case(parse_fn parse, const struct body_case *c)
{
    struct error e = {0};
    json_t *body = NULL;
    int r = json_in_parse(c->body, strlen(c->body), &body, &e);

    if (r == 0)
        r = parse(body, &e);
    if ((r < 0) != (c->http != 0) || e.http != c->http || strcmp(e.field, c->field) != 0)
        fail_msg("%s: %u \"%s\" (%s)", c->body, e.http, e.field, e.message);
    if (r < 0) {
        assert_true(strlen(e.message) > 5);
        assert_int_equal(e.message[strlen(e.message) - 1], '.');
    }
    json_decref(body);
}

void check_cases(parse_fn parse, const struct body_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_case(parse, &cases[i]);
}

json_t *body_of(const char *text)
{
    struct error e;
    json_t *body = NULL;

    if (json_in_parse(text, strlen(text), &body, &e) < 0)
        fail_msg("%s: %s", text, e.message);
    return body;
}

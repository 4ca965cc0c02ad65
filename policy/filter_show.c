/* SPDX-License-Identifier: ISC */
/* filter_show.c - the rows of syscalls.def in words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/filter.h"

#include "common/banned.h"

/* From here on numbers are written in hexadecimal: flags, and the requests of ioctl(2). */
#define HEX_FROM 0x1000u

/* Names of the arguments that conditions are about, as in the manual pages of these calls. */
static const struct {
    const char *call;
    const char *arguments[3];
} calls[] = {
    {"clone", {"flags", NULL, NULL}},           {"fcntl", {"fd", "op", NULL}},
    {"ioctl", {"fd", "request", NULL}},         {"prlimit64", {"pid", "resource", "new_limit"}},
    {"setrlimit", {"resource", NULL, NULL}},    {"setsockopt", {"fd", "level", "option"}},
    {"socket", {"family", "type", "protocol"}}, {"socketpair", {"family", "type", "protocol"}},
};

static const char *argument_name(const char *call, unsigned int arg)
{
    for (size_t i = 0; arg < 3 && i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].call, call) == 0)
            return calls[i].arguments[arg];
    }
    return NULL;
}

static void number_put(uint32_t v, FILE *to)
{
    (void)fprintf(to, v >= HEX_FROM ? "0x%x" : "%u", v);
}

/* INT, BITS, FIELD and POINTER of syscalls.def, told apart by what filter.c makes of them. */
static int cmp_put(const char *call, const struct filter_cmp *c, FILE *to)
{
    const char *name = argument_name(call, c->arg);

    if (!name)
        return -ENOENT;
    (void)fputs(name, to);
    if (c->is_nonzero) {
        (void)fputs(" is not NULL", to);
        return 0;
    }
    if (c->mask == c->first && c->first == c->last) {
        (void)fprintf(to, " has the bits 0x%x", c->first);
        return 0;
    }
    if (c->mask != UINT32_MAX)
        (void)fprintf(to, " & 0x%llx", (unsigned long long)c->mask);
    (void)fputs(" is ", to);
    number_put(c->first, to);
    if (c->first != c->last) {
        (void)fputs(" to ", to);
        number_put(c->last, to);
    }
    return 0;
}

int filter_when_put(const struct filter_rule *r, FILE *to)
{
    int err;

    if (r->cmp_count == 0)
        (void)fputs("always", to);
    for (size_t i = 0; i < r->cmp_count; i++) {
        if (i > 0)
            (void)fputs(" and ", to);
        err = cmp_put(r->name, &r->cmp[i], to);
        if (err < 0)
            return err;
    }
    return ferror(to) ? -EIO : 0;
}

const char *filter_error_name(const struct filter_rule *r)
{
    return r->error == 0 ? "success" : strerrorname_np(r->error);
}

int filter_show(enum filter_profile profile, FILE *to)
{
    const struct filter_rule *r;
    int err;

    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        if (!(r->profiles & FILTER_IN(profile)) || r->nr_first < 0)
            continue;
        if (r->nr_first == r->nr_last)
            (void)fprintf(to, "%s\t", r->name);
        else
            (void)fprintf(to, "%d-%d\t", r->nr_first, r->nr_last);
        err = filter_when_put(r, to);
        if (err < 0)
            return err;
        (void)fprintf(to, "\t%s\t%s\t%s\n", filter_error_name(r), r->reason, r->source);
    }
    return ferror(to) ? -EIO : 0;
}

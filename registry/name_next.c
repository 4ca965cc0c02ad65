/* SPDX-License-Identifier: ISC */
/* name_next.c - where the search for a free name goes on, within one change. */
#include "registry/name_next.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "registry/name.h"

#include "common/banned.h"

struct counted {
    char left[NAME_SIZE]; /* of the stem */
    size_t digits;
    unsigned next;
};

static const struct {
    unsigned first, last;
} numbers[NAME_CLASSES] = {{1, 1}, {2, 9}, {10, 99}, {100, 999}, {1000, NAME_TRIES}};

_Static_assert(NAME_TRIES == 9999, "the last number of four digits");

static int counted_compare(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    int r = strcmp(x->left, y->left);

    if (r != 0)
        return r;
    return x->digits < y->digits ? -1 : x->digits > y->digits;
}

/* NULL without memory. */
static struct counted *counted_get(struct name_next *next, const struct counted *key)
{
    void *node = tfind(key, &next->tree, counted_compare);
    struct counted *new;

    if (node)
        return *(struct counted **)node;
    new = malloc(sizeof(*new));
    if (!new)
        return NULL;
    *new = *key;
    if (tsearch(new, &next->tree, counted_compare))
        return new;
    free(new);
    return NULL;
}

int name_next_get(struct name_next *next, const char *stem, size_t digits,
                  struct name_class *ret_class)
{
    struct counted key = {.digits = digits, .next = numbers[digits].first}, *e;

    memcpy(key.left, stem, strnlen(stem, NAME_GENERATED_MAX - digits));
    e = counted_get(next, &key);
    if (!e)
        return -ENOMEM;
    *ret_class = (struct name_class){.next = &e->next, .last = numbers[digits].last};
    return 0;
}

void name_next_done(struct name_next *next)
{
    tdestroy(next->tree, free);
    next->tree = NULL;
}

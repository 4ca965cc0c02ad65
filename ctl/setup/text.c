/* SPDX-License-Identifier: ISC */
/* text.c - whole texts of configuration files, and their lines. */
#include "ctl/setup/text.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/say.h"

#include "common/banned.h"

void text_done(struct text *t)
{
    free(t->bytes);
    *t = (struct text){0};
}

struct text text_of(const char *bytes, size_t size)
{
    struct text t = {.bytes = malloc(size + 1), .size = size};

    if (!t.bytes)
        say_no_memory();
    if (size > 0)
        memcpy(t.bytes, bytes, size);
    t.bytes[size] = '\0';
    return t;
}

bool text_is_same(const struct text *a, const struct text *b)
{
    if (!a->bytes || !b->bytes)
        return !a->bytes && !b->bytes;
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

struct text text_take(struct text *t)
{
    struct text taken = *t;

    *t = (struct text){0};
    return taken;
}

FILE *text_begin(struct text *t)
{
    FILE *out;

    *t = (struct text){0};
    out = open_memstream(&t->bytes, &t->size);
    if (!out)
        say_no_memory();
    return out;
}

void text_end(struct text *t, FILE *out)
{
    if (fclose(out) != 0 || !t->bytes)
        say_no_memory();
}

bool line_next(const struct text *t, struct line *line)
{
    const char *start = line->start ? line->start + line->full : t->bytes;
    const char *end = t->bytes ? t->bytes + t->size : NULL;
    const char *newline;

    if (!start || start >= end)
        return false;
    newline = memchr(start, '\n', (size_t)(end - start));
    line->start = start;
    line->size = (size_t)((newline ? newline : end) - start);
    line->full = line->size + (newline ? 1 : 0);
    line->number++;
    return true;
}

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool line_is_idle(const struct line *line)
{
    struct word word = {.end = line->start};

    return !word_next(&word, line->start + line->size) || word.start[0] == '#';
}

bool line_is_same(const struct line *a, const struct line *b)
{
    return a->size == b->size && memcmp(a->start, b->start, a->size) == 0;
}

void line_write(FILE *out, const struct line *line)
{
    (void)fwrite(line->start, 1, line->full, out);
}

bool word_next(struct word *word, const char *limit)
{
    const char *s = word->end;

    while (s < limit && is_blank(*s))
        s++;
    if (s >= limit)
        return false;
    word->start = s;
    while (s < limit && !is_blank(*s))
        s++;
    word->end = s;
    return true;
}

bool word_is(const struct word *word, const char *text)
{
    size_t size = (size_t)(word->end - word->start);

    return strlen(text) == size && memcmp(word->start, text, size) == 0;
}

/* SPDX-License-Identifier: ISC */
/* diff.c - what is different between two texts, for people. */
#include "ctl/setup/diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

/* Above it the table of common lines would be too big: one block instead. */
#define CELLS_MAX (4u << 20)

struct lines {
    struct line *line;
    size_t count;
};

static struct lines lines_of(const struct text *t)
{
    struct lines all = {0};
    struct line line = {0};

    while (line_next(t, &line)) {
        all.line = reallocarray(all.line, all.count + 1, sizeof(line));
        if (!all.line)
            say_no_memory();
        all.line[all.count++] = line;
    }
    return all;
}

/* Tabs are part of how such files look; everything else that moves a cursor is escaped. */
static void line_print(FILE *out, const char *indent, char sign, const struct line *line)
{
    const char *start = line->start, *end = line->start + line->size;

    (void)fprintf(out, "%s%c", indent, sign);
    while (start < end) {
        const char *tab = memchr(start, '\t', (size_t)(end - start));
        cleanup_free char *text = text_escape(start, (size_t)((tab ? tab : end) - start), NULL);

        (void)fprintf(out, "%s%s", text, tab ? "\t" : "");
        start = tab ? tab + 1 : end;
    }
    (void)fputc('\n', out);
}

/* The part between the equal beginning and the equal end. */
struct middle {
    const struct line *a, *b;
    size_t n, m; /* lines of a and of b */
};

/* cell[i * (m + 1) + j]: how many lines a[i..] and b[j..] have in common. */
static uint16_t *common_table(const struct middle *mid)
{
    size_t n = mid->n, m = mid->m;
    uint16_t *cell;

    if (n > UINT16_MAX || m > UINT16_MAX || (n + 1) * (m + 1) > CELLS_MAX)
        return NULL;
    cell = calloc((n + 1) * (m + 1), sizeof(*cell));
    if (!cell)
        say_no_memory();
    for (size_t i = n; i-- > 0;) {
        for (size_t j = m; j-- > 0;) {
            uint16_t down = cell[(i + 1) * (m + 1) + j], right = cell[i * (m + 1) + j + 1];

            if (line_is_same(&mid->a[i], &mid->b[j]))
                cell[i * (m + 1) + j] = (uint16_t)(cell[(i + 1) * (m + 1) + j + 1] + 1);
            else
                cell[i * (m + 1) + j] = down >= right ? down : right;
        }
    }
    return cell;
}

static void middle_print(FILE *out, const char *indent, const struct middle *mid)
{
    cleanup_free uint16_t *cell = common_table(mid);
    size_t i = 0, j = 0, m = mid->m, kept = 0;

    while (i < mid->n || j < mid->m) {
        if (cell && i < mid->n && j < mid->m && line_is_same(&mid->a[i], &mid->b[j])) {
            /* One line on each side of a change is enough to find it. */
            bool is_edge = kept == 0 || cell[i * (m + 1) + j] == 0;
            bool is_last =
                !(i + 1 < mid->n && j + 1 < mid->m && line_is_same(&mid->a[i + 1], &mid->b[j + 1]));

            if (is_edge || is_last)
                line_print(out, indent, ' ', &mid->a[i]);
            else if (kept == 1)
                (void)fprintf(out, "%s ...\n", indent);
            kept++;
            i++;
            j++;
            continue;
        }
        kept = 0;
        if (i < mid->n &&
            (!cell || j >= mid->m || cell[(i + 1) * (m + 1) + j] >= cell[i * (m + 1) + j + 1]))
            line_print(out, indent, '-', &mid->a[i++]);
        else
            line_print(out, indent, '+', &mid->b[j++]);
    }
}

void diff_print(FILE *out, const char *indent, const char *path, const struct text *old,
                const struct text *new)
{
    struct lines a = lines_of(old), b = lines_of(new);
    size_t head = 0, tail = 0, least = a.count < b.count ? a.count : b.count;
    struct middle mid;

    while (head < least && line_is_same(&a.line[head], &b.line[head]))
        head++;
    while (tail < least - head &&
           line_is_same(&a.line[a.count - 1 - tail], &b.line[b.count - 1 - tail]))
        tail++;
    mid = (struct middle){.a = a.line + head,
                          .b = b.line + head,
                          .n = a.count - head - tail,
                          .m = b.count - head - tail};
    (void)fprintf(out, "%s--- %s\n%s+++ %s\n", indent, old->bytes ? path : "/dev/null", indent,
                  new->bytes ? path : "/dev/null");
    (void)fprintf(out, "%s@@ line %zu @@\n", indent, head + 1);
    if (head > 0)
        line_print(out, indent, ' ', &a.line[head - 1]);
    middle_print(out, indent, &mid);
    if (tail > 0)
        line_print(out, indent, ' ', &a.line[a.count - tail]);
    free(a.line);
    free(b.line);
}

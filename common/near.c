/* SPDX-License-Identifier: ISC */
/* near.c - which known word a mistyped one most likely was. */
#include "common/near.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/banned.h"

#define WORD_MAX   40u /* a longer one is no slip of the finger */
#define PREFIX_MIN 3u
#define FAR        (WORD_MAX + 1)

/* ASCII alone, whatever the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Steps from one word to the other: a letter more, less, another, or two that changed places.
 * Source: optimal string alignment; L. Boytsov, Indexing methods for approximate dictionary
 * searching, 2011, section 2.
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX + 1];

    for (size_t k = 0; k <= b_len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        const size_t *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];

        row[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            bool is_same = lower(a[i - 1]) == lower(b[k - 1]);

            row[k] = least(above[k - 1] + (is_same ? 0 : 1), least(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
                lower(a[i - 2]) == lower(b[k - 1]))
                row[k] = least(row[k], above2[k - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* How far they are from each other; FAR: neither is a slip of the other. */
static size_t slip(const char *word, const char *known)
{
    size_t a = strnlen(word, WORD_MAX + 1), b = strnlen(known, WORD_MAX + 1);
    size_t shorter = least(a, b), longer = a + b - shorter, most, d;

    if (shorter == 0 || longer > WORD_MAX)
        return FAR;
    most = longer < 3 ? 0 : longer / 3;
    d = distance(word, a, known, b);
    if (d <= most)
        return d;
    /* "mem", "memory_max": behind whatever is a slip. */
    return shorter >= PREFIX_MIN && distance(word, shorter, known, shorter) == 0
               ? least(d + WORD_MAX / 2, WORD_MAX)
               : FAR;
}

const char *near_find(const char *word, const char *const known[], size_t count)
{
    const char *found = NULL;
    size_t best = FAR;

    for (size_t i = 0; i < count; i++) {
        size_t d = known[i] ? slip(word, known[i]) : FAR;

        if (d < best) {
            best = d;
            found = known[i];
        }
    }
    return found;
}

const char *near_hint(const char *word, const char *const known[], size_t count,
                      char ret_text[NEAR_HINT_SIZE])
{
    static const char more[] = ", ...";
    const char *found = near_find(word, known, count);
    size_t n = 0;

    ret_text[0] = '\0';
    if (found) {
        (void)snprintf(ret_text, NEAR_HINT_SIZE, "did you mean %.*s?", (int)WORD_MAX, found);
        return ret_text;
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = known[i] ? strlen(known[i]) : 0;

        if (!known[i])
            continue;
        if (n + sizeof("known: ") + size + sizeof(more) > NEAR_HINT_SIZE) {
            (void)snprintf(ret_text + n, NEAR_HINT_SIZE - n, "%s", n > 0 ? more : "");
            break;
        }
        n += (size_t)snprintf(ret_text + n, NEAR_HINT_SIZE - n, "%s%s",
                              n > 0 ? ", " : "known: ", known[i]);
    }
    return ret_text;
}

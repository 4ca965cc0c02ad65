/* SPDX-License-Identifier: ISC */
/* nsswitch.c - the word "atelier" in nsswitch.conf(5), and out of it again. */
#include "ctl/setup/nsswitch.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/banned.h"

#define OURS "atelier"

/* The databases that our module serves; the last one only where the file has it. */
static const char *const databases[] = {"passwd", "group", "initgroups"};
#define DATABASE_COUNT  3u
#define DATABASE_NEEDED 2u

/* The list of sources on a line: what stands between the colon and the comment. */
struct sources {
    size_t database; /* index in databases */
    const char *start, *end;
};

/*
 * Source: nsswitch.conf(5) and glibc 2.36 nss/nss_database.c: blanks may stand before the name and
 * the colon; a number sign begins a comment anywhere in the line.
 */
static bool sources_find(const struct line *line, struct sources *ret)
{
    const char *end = line->start + line->size;
    const char *comment = memchr(line->start, '#', line->size);
    const char *colon, *name = line->start, *name_end;

    if (comment)
        end = comment;
    colon = memchr(line->start, ':', (size_t)(end - line->start));
    if (!colon)
        return false;
    while (name < colon && is_blank(*name))
        name++;
    name_end = colon;
    while (name_end > name && is_blank(name_end[-1]))
        name_end--;
    for (size_t i = 0; i < DATABASE_COUNT; i++) {
        if (strlen(databases[i]) == (size_t)(name_end - name) &&
            strncasecmp(databases[i], name, (size_t)(name_end - name)) == 0) {
            *ret = (struct sources){.database = i, .start = colon + 1, .end = end};
            return true;
        }
    }
    return false;
}

/* The next source or, in brackets, the actions after one; blanks may stand inside the brackets. */
static bool item_next(struct word *item, const char *limit)
{
    const char *s = item->end, *close;

    while (s < limit && is_blank(*s))
        s++;
    if (s >= limit)
        return false;
    item->start = s;
    if (*s == '[') {
        close = memchr(s, ']', (size_t)(limit - s));
        item->end = close ? close + 1 : limit;
        return true;
    }
    while (s < limit && !is_blank(*s) && *s != '[')
        s++;
    item->end = s;
    return true;
}

/* Whether these actions keep a name that was not found so far from being asked for any further. */
static bool actions_end_search(const struct word *item)
{
    static const char *const ends[] = {"NOTFOUND=return", "!SUCCESS=return", "!UNAVAIL=return",
                                       "!TRYAGAIN=return"};
    char squeezed[128];
    size_t n = 0;

    for (const char *s = item->start; s < item->end && n < sizeof(squeezed) - 1; s++) {
        /* Between two actions a blank is needed; around the sign it may stand. */
        if (!is_blank(*s))
            squeezed[n++] = *s;
    }
    squeezed[n] = '\0';
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const char *found = strcasestr(squeezed, ends[i]);

        /* "!NOTFOUND=return" is about all other results. */
        if (found && (found == squeezed || found[-1] != '!' || ends[i][0] == '!'))
            return true;
    }
    return false;
}

/**
 * sources_check() - Look at one line
 * @ret_insert: Where our word goes, or NULL if it is there already
 *
 * Return: 0 or -EINVAL.
 */
static int sources_check(const struct sources *src, const char **ret_insert,
                         struct complaint *ret_why)
{
    struct word item = {.end = src->start};
    bool has_files = false, has_ours = false;
    const char *last = src->start;

    while (item_next(&item, src->end)) {
        if (*item.start == '[') {
            if (!has_ours && actions_end_search(&item)) {
                (void)snprintf(ret_why->what, sizeof(ret_why->what),
                               "%.*s keeps the host from asking any source behind it, and so from "
                               "asking atelier; take it away, or put \"atelier\" before it",
                               (int)(item.end - item.start), item.start);
                return -EINVAL;
            }
        } else if (word_is(&item, "files") || word_is(&item, "compat")) {
            if (has_ours) {
                (void)snprintf(ret_why->what, sizeof(ret_why->what),
                               "\"atelier\" stands before \"%.*s\": local accounts have to come "
                               "first",
                               (int)(item.end - item.start), item.start);
                return -EINVAL;
            }
            has_files = true;
        } else if (word_is(&item, OURS)) {
            has_ours = true;
        }
        last = item.end;
    }
    if (!has_files) {
        (void)snprintf(ret_why->what, sizeof(ret_why->what),
                       "there is neither \"files\" nor \"compat\" on the line %s",
                       databases[src->database]);
        return -EINVAL;
    }
    *ret_insert = has_ours ? NULL : last;
    return 0;
}

int nsswitch_edit(const struct text *old, struct text *ret_new, struct complaint *ret_why)
{
    bool seen[DATABASE_COUNT] = {false};
    cleanup_text struct text edited = {0};
    struct line line = {0};
    struct sources src;
    FILE *out = text_begin(&edited);
    int r = 0;

    while (r == 0 && line_next(old, &line)) {
        const char *insert = NULL;

        if (sources_find(&line, &src)) {
            seen[src.database] = true;
            ret_why->line = line.number;
            r = sources_check(&src, &insert, ret_why);
        }
        if (!insert) {
            line_write(out, &line);
            continue;
        }
        (void)fwrite(line.start, 1, (size_t)(insert - line.start), out);
        (void)fputs(" " OURS, out);
        (void)fwrite(insert, 1, (size_t)(line.start + line.full - insert), out);
    }
    text_end(&edited, out);
    for (size_t i = 0; r == 0 && i < DATABASE_NEEDED; i++) {
        if (!seen[i]) {
            ret_why->line = 0;
            (void)snprintf(ret_why->what, sizeof(ret_why->what), "there is no line \"%s:\"",
                           databases[i]);
            r = -EINVAL;
        }
    }
    if (r == 0)
        *ret_new = text_take(&edited);
    return r;
}

void nsswitch_unedit(const struct text *now, struct text *ret_text)
{
    struct line line = {0};
    struct sources src;
    FILE *out = text_begin(ret_text);

    while (line_next(now, &line)) {
        const char *done = line.start;

        if (sources_find(&line, &src)) {
            struct word item = {.end = src.start};
            const char *before = src.start;

            while (item_next(&item, src.end)) {
                if (word_is(&item, OURS)) {
                    struct word next = item;

                    (void)fwrite(done, 1, (size_t)(before - done), out);
                    /* Its actions would fall to the source before it. */
                    if (item_next(&next, src.end) && *next.start == '[')
                        item = next;
                    done = item.end;
                }
                before = item.end;
            }
        }
        (void)fwrite(done, 1, (size_t)(line.start + line.full - done), out);
    }
    text_end(ret_text, out);
}

void nsswitch_services(const struct text *file, const char *database, struct text *ret)
{
    static const char *const known[] = {"files", "compat", "systemd", OURS};
    struct line line = {0};
    struct sources src;
    FILE *out = text_begin(ret);

    while (line_next(file, &line)) {
        struct word item;

        if (!sources_find(&line, &src) || strcmp(databases[src.database], database) != 0)
            continue;
        item = (struct word){.end = src.start};
        while (item_next(&item, src.end)) {
            bool is_other = *item.start != '[';

            for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
                is_other = is_other && !word_is(&item, known[i]);
            if (is_other)
                (void)fprintf(out, "%.*s%c", (int)(item.end - item.start), item.start, '\0');
        }
    }
    text_end(ret, out);
}

/* SPDX-License-Identifier: ISC */
/* whole.c - files that are all ours, and one option in a file of environment variables. */
#include "ctl/setup/whole.h"

#include <errno.h>
#include <string.h>

#include "ctl/setup/keys.h"

#include "common/banned.h"

#define OPTIONS "SESSIOND_API_OPTIONS"
#define OPTION  "--link-base"

static bool has_line(const struct text *file, const struct line *wanted)
{
    struct line line = {0};

    while (line_next(file, &line)) {
        if (line_is_same(&line, wanted))
            return true;
    }
    return false;
}

static bool is_header(const struct line *line)
{
    return line->size > 2 && line->start[0] == '[' && line->start[line->size - 1] == ']';
}

static bool is_empty(const struct line *line)
{
    struct word word = {.end = line->start};

    return !word_next(&word, line->start + line->size);
}

bool whole_is_there(const struct text *file, const struct text *wanted)
{
    struct line line = {0};

    while (line_next(wanted, &line)) {
        if (!line_is_idle(&line) && !has_line(file, &line))
            return false;
    }
    return true;
}

void whole_unedit(const struct text *now, const struct text *ours, struct text *ret_text)
{
    struct line line = {0};
    bool is_theirs = false;
    FILE *out = text_begin(ret_text);

    while (line_next(now, &line)) {
        if (!is_header(&line) && has_line(ours, &line))
            continue;
        is_theirs = is_theirs || !(is_header(&line) || is_empty(&line));
        line_write(out, &line);
    }
    text_end(ret_text, out);
    if (!is_theirs)
        text_done(ret_text);
}

/* The last line that sets SESSIOND_API_OPTIONS. Return: false if none does. */
static bool options_line(const struct text *file, struct line *ret, const char **ret_start,
                         size_t *ret_size)
{
    struct line line = {0};
    size_t number;

    if (key_find(file, KEYS_ASSIGN, OPTIONS, ret_start, ret_size, &number) < 0)
        return false;
    while (line.number < number && line_next(file, &line))
        continue;
    *ret = line;
    return true;
}

/* Write the words of the value, the one behind --link-base replaced, or the option added. */
static void value_write(FILE *out, const char *start, size_t size, const char *url)
{
    struct word word = {.end = start};
    bool has_option = false, is_url = false;
    const char *separator = "";

    while (word_next(&word, start + size)) {
        size_t n = (size_t)(word.end - word.start);
        bool is_joined =
            n > strlen(OPTION "=") && memcmp(word.start, OPTION "=", strlen(OPTION "=")) == 0;

        if (is_url)
            (void)fprintf(out, "%s%s", separator, url);
        else if (is_joined)
            (void)fprintf(out, "%s" OPTION "=%s", separator, url);
        else
            (void)fprintf(out, "%s%.*s", separator, (int)n, word.start);
        has_option = has_option || is_url || is_joined;
        is_url = !is_url && word_is(&word, OPTION);
        separator = " ";
    }
    if (!has_option)
        (void)fprintf(out, "%s%s%s", separator, is_url ? "" : OPTION " ", url);
}

int option_edit(const struct text *old, const char *url, struct text *ret_new,
                struct complaint *ret_why)
{
    struct line line = {0}, found;
    const char *start;
    size_t size;
    FILE *out;

    if (!old->bytes) {
        out = text_begin(ret_new);
        (void)fprintf(out,
                      "# Options of sessiond-api(8) and sessiond(8), one line for each.\n"
                      "%s=\"" OPTION " %s\"\n",
                      OPTIONS, url);
        text_end(ret_new, out);
        return 0;
    }
    if (!options_line(old, &found, &start, &size)) {
        out = text_begin(ret_new);
        while (line_next(old, &line))
            line_write(out, &line);
        (void)fprintf(out, "%s%s=\"" OPTION " %s\"\n",
                      line.full > line.size || !line.start ? "" : "\n", OPTIONS, url);
        text_end(ret_new, out);
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        if (strchr("\"'\\", start[i])) {
            ret_why->line = found.number;
            (void)snprintf(ret_why->what, sizeof(ret_why->what),
                           "the quoting of " OPTIONS " is not understood; write " OPTION
                           " into it by hand, and leave the option out here");
            return -EINVAL;
        }
    }
    out = text_begin(ret_new);
    while (line_next(old, &line)) {
        if (line.number != found.number) {
            line_write(out, &line);
            continue;
        }
        (void)fputs(OPTIONS "=\"", out);
        value_write(out, start, size, url);
        (void)fprintf(out, "\"%s", line.full > line.size ? "\n" : "");
    }
    text_end(ret_new, out);
    return 0;
}

bool link_base_is_valid(const char *url)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                ":/._~-[]";

    return (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0) &&
           url[strspn(url, plain)] == '\0';
}

/* SPDX-License-Identifier: ISC */
/* whole.c - files that are all ours, and one option in a file of environment variables. */
#include "ctl/setup/whole.h"

#include <errno.h>
#include <string.h>

#include "ctl/setup/keys.h"

#include "common/banned.h"

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

/* The last line that sets the variable. Return: false if none does. */
static bool options_line(const struct text *file, const char *key, struct line *ret,
                         const char **ret_start, size_t *ret_size)
{
    struct line line = {0};
    size_t number;

    if (key_find(file, KEYS_ASSIGN, key, ret_start, ret_size, &number) < 0)
        return false;
    while (line.number < number && line_next(file, &line))
        continue;
    *ret = line;
    return true;
}

/* How a word gives our option a value. */
enum form { FORM_OTHER, FORM_APART, FORM_JOINED };

static enum form form_of(const struct word *word, const struct option_name *name)
{
    size_t size = strlen(name->option), n = (size_t)(word->end - word->start);

    if (word_is(word, name->option) || (name->letter && word_is(word, name->letter)))
        return FORM_APART;
    if (n > size && memcmp(word->start, name->option, size) == 0 && word->start[size] == '=')
        return FORM_JOINED;
    if (name->letter && n > 2 && memcmp(word->start, name->letter, 2) == 0)
        return FORM_JOINED;
    return FORM_OTHER;
}

static void values_write(FILE *out, const char *separator, const struct option_name *name,
                         char between, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "%s%s%c%s", i > 0 ? " " : separator, name->option, between, values[i]);
}

/* Write the words of the variable, with our option's values instead of those that it has. */
static void words_write(FILE *out, const char *start, size_t size, const struct option_name *name,
                        const char *const *values, size_t count)
{
    struct word word = {.end = start};
    bool is_written = false, is_value = false;
    const char *separator = "";

    while (word_next(&word, start + size)) {
        enum form form = is_value ? FORM_OTHER : form_of(&word, name);

        if (form == FORM_OTHER && !is_value) {
            (void)fprintf(out, "%s%.*s", separator, (int)(word.end - word.start), word.start);
        } else if (form != FORM_OTHER && !is_written) {
            values_write(out, separator, name, form == FORM_JOINED ? '=' : ' ', values, count);
            is_written = true;
        }
        is_value = form == FORM_APART;
        separator = " ";
    }
    if (!is_written)
        values_write(out, separator, name, ' ', values, count);
}

static void line_add(FILE *out, const struct option_name *name, const char *const *values,
                     size_t count)
{
    (void)fprintf(out, "%s=\"", name->key);
    values_write(out, "", name, ' ', values, count);
    (void)fputs("\"\n", out);
}

int option_edit(const struct text *old, const struct option_name *name, const char *const *values,
                size_t count, struct text *ret_new, struct complaint *ret_why)
{
    struct line line = {0}, found = {0};
    const char *start = "";
    size_t size = 0;
    bool has_line = options_line(old, name->key, &found, &start, &size);
    FILE *out;

    for (size_t i = 0; i < size; i++) {
        if (strchr("\"'\\", start[i])) {
            ret_why->line = found.number;
            (void)snprintf(ret_why->what, sizeof(ret_why->what),
                           "the quoting of %s is not understood; write %s into it by hand, and "
                           "leave the option out here",
                           name->key, name->option);
            return -EINVAL;
        }
    }
    out = text_begin(ret_new);
    if (!old->bytes)
        (void)fputs("# Options of sessiond-api(8) and sessiond(8), one line for each.\n", out);
    while (line_next(old, &line)) {
        if (!has_line || line.number != found.number) {
            line_write(out, &line);
            continue;
        }
        (void)fprintf(out, "%s=\"", name->key);
        words_write(out, start, size, name, values, count);
        (void)fprintf(out, "\"%s", line.full > line.size ? "\n" : "");
    }
    if (!has_line) {
        if (line.start && line.full == line.size)
            (void)fputc('\n', out);
        line_add(out, name, values, count);
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

/* SPDX-License-Identifier: ISC */
/* keys.c - single settings in files of lines "KEY value" or "KEY=value", and back. */
#include "ctl/setup/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/say.h"

#include "common/banned.h"

/* Where the value of a line stands, without quotes. */
struct value {
    const char *start;
    size_t size;
};

static bool is_sign(char c, enum keys_format format)
{
    return c == '=' && format != KEYS_BLANK;
}

/* Whether the line sets the key, and to what. */
static bool value_find(const struct line *line, enum keys_format format, const char *key,
                       struct value *ret)
{
    const char *s = line->start, *end = line->start + line->size;
    size_t size = strlen(key);

    while (s < end && is_blank(*s))
        s++;
    if ((size_t)(end - s) < size ||
        (format == KEYS_SSHD ? strncasecmp(s, key, size) : strncmp(s, key, size)) != 0)
        return false;
    s += size;
    if (s < end && !is_blank(*s) && !is_sign(*s, format))
        return false;
    while (s < end && is_blank(*s))
        s++;
    if (s < end && is_sign(*s, format))
        s++;
    else if (format == KEYS_ASSIGN)
        return false;
    while (s < end && is_blank(*s))
        s++;
    while (end > s && is_blank(end[-1]))
        end--;
    if (end - s >= 2 && (*s == '"' || *s == '\'') && end[-1] == *s) {
        s++;
        end--;
    }
    *ret = (struct value){.start = s, .size = (size_t)(end - s)};
    return true;
}

/* Whether the line sets it, were it not for the number sign in front: an example. */
static bool is_example(const struct line *line, enum keys_format format, const char *key)
{
    struct line rest = *line;
    struct value value;

    while (rest.size > 0 && (is_blank(*rest.start) || *rest.start == '#')) {
        rest.start++;
        rest.size--;
    }
    return line_is_idle(line) && value_find(&rest, format, key, &value);
}

static int value_number(const struct value *value, uint32_t *ret)
{
    cleanup_free char *text = strndup(value->start, value->size);

    if (!text)
        say_no_memory();
    return str_to_u32(text, UINT32_MAX, ret);
}

static int number_read(const struct line *line, const struct value *value, const char *key,
                       uint32_t *ret, struct complaint *ret_why)
{
    if (value_number(value, ret) == 0)
        return 0;
    ret_why->line = line->number;
    (void)snprintf(ret_why->what, sizeof(ret_why->what), "%s is '%.*s', which is not a number", key,
                   (int)value->size, value->start);
    return -EINVAL;
}

/* Write a line that sets the key, its value brought into the range. */
static int line_edit(FILE *out, const struct line *line, const struct value *value,
                     const struct key_rule *rule, struct complaint *ret_why)
{
    const char *rest = value->start + value->size;
    uint32_t number;

    if (number_read(line, value, rule->key, &number, ret_why) < 0)
        return -EINVAL;
    if (number >= rule->min && number <= rule->max) {
        line_write(out, line);
        return 0;
    }
    (void)fwrite(line->start, 1, (size_t)(value->start - line->start), out);
    (void)fprintf(out, "%" PRIu32, rule->value);
    (void)fwrite(rest, 1, (size_t)(line->start + line->full - rest), out);
    return 0;
}

/* A new line goes behind this one: the last example of it, or the last line; 0 is before all. */
static size_t insert_place(const struct text *old, enum keys_format format, const char *key)
{
    struct line line = {0};
    size_t example = 0;

    while (line_next(old, &line)) {
        if (is_example(&line, format, key))
            example = line.number;
    }
    /* The last line of an sshd_config may belong to a Match block. */
    return example || format == KEYS_SSHD ? example : line.number;
}

/* Edit for one setting. */
static int key_edit(const struct text *old, enum keys_format format, const struct key_rule *rule,
                    struct text *ret_new, struct complaint *ret_why)
{
    cleanup_text struct text edited = {0};
    cleanup_free char *added = NULL;
    struct line line = {0};
    const char *start;
    size_t size, number, place = 0;
    FILE *out;
    int r = 0;

    if (key_find(old, format, rule->key, &start, &size, &number) < 0) {
        place = insert_place(old, format, rule->key);
        if (asprintf(&added, "%s%c%" PRIu32 "\n", rule->key, format == KEYS_ASSIGN ? '=' : ' ',
                     rule->value) < 0)
            say_no_memory();
    }
    out = text_begin(&edited);
    if (added && place == 0)
        (void)fputs(added, out);
    while (r == 0 && line_next(old, &line)) {
        struct value value;

        if (value_find(&line, format, rule->key, &value))
            r = line_edit(out, &line, &value, rule, ret_why);
        else
            line_write(out, &line);
        if (added && line.number == place)
            (void)fprintf(out, "%s%s", line.full > line.size ? "" : "\n", added);
    }
    text_end(&edited, out);
    if (r == 0)
        *ret_new = text_take(&edited);
    return r;
}

int keys_edit(const struct text *old, enum keys_format format, const struct key_rule *rules,
              size_t count, struct text *ret_new, struct complaint *ret_why)
{
    struct text text = text_of(old->bytes, old->size);

    for (size_t i = 0; i < count; i++) {
        cleanup_text struct text last = text_take(&text);
        int r = key_edit(&last, format, &rules[i], &text, ret_why);

        if (r < 0)
            return r;
    }
    *ret_new = text;
    return 0;
}

int keys_check(const struct text *file, enum keys_format format, const struct key_rule *rules,
               size_t count, struct complaint *ret_why)
{
    for (size_t i = 0; i < count; i++) {
        struct line line = {0};

        while (line_next(file, &line)) {
            struct value value;
            uint32_t number;

            if (!value_find(&line, format, rules[i].key, &value))
                continue;
            if (number_read(&line, &value, rules[i].key, &number, ret_why) < 0)
                return -EINVAL;
            if (number >= rules[i].min && number <= rules[i].max)
                continue;
            ret_why->line = line.number;
            (void)snprintf(ret_why->what, sizeof(ret_why->what),
                           "%s is %" PRIu32 ", and has to be from %" PRIu32 " to %" PRIu32,
                           rules[i].key, number, rules[i].min, rules[i].max);
            return -EINVAL;
        }
    }
    return 0;
}

int key_find(const struct text *file, enum keys_format format, const char *key,
             const char **ret_start, size_t *ret_size, size_t *ret_line)
{
    struct line line = {0};
    struct value value;
    int r = -ENOENT;

    while (line_next(file, &line)) {
        if (!value_find(&line, format, key, &value))
            continue;
        *ret_start = value.start;
        *ret_size = value.size;
        *ret_line = line.number;
        r = 0;
    }
    return r;
}

/* The nth line, from 0, that sets the key. */
static bool key_line(const struct text *file, enum keys_format format, const char *key, size_t n,
                     struct line *ret)
{
    struct line line = {0};
    struct value value;

    while (line_next(file, &line)) {
        if (value_find(&line, format, key, &value) && n-- == 0) {
            *ret = line;
            return true;
        }
    }
    return false;
}

/* Take back one setting. Return: false if a line of ours is no longer there as we wrote it. */
static bool key_unedit(const struct text *now, const struct text *before, const struct text *after,
                       enum keys_format format, const char *key, struct text *ret_text)
{
    struct line line = {0}, theirs, ours;
    struct value value;
    bool is_whole = true, has_theirs, has_ours;
    size_t n = 0;
    FILE *out = text_begin(ret_text);

    while (line_next(now, &line)) {
        if (!value_find(&line, format, key, &value)) {
            line_write(out, &line);
            continue;
        }
        has_theirs = key_line(before, format, key, n, &theirs);
        has_ours = key_line(after, format, key, n, &ours);
        n++;
        if (has_ours && line_is_same(&line, &ours)) {
            if (has_theirs)
                (void)fprintf(out, "%.*s%s", (int)theirs.size, theirs.start,
                              line.full > line.size ? "\n" : "");
            continue;
        }
        /* Not ours any more, unless it never was. */
        if (has_ours && !(has_theirs && line_is_same(&theirs, &ours)))
            is_whole = false;
        line_write(out, &line);
    }
    text_end(ret_text, out);
    return is_whole;
}

void keys_unedit(const struct text *now, const struct text *before, const struct text *after,
                 enum keys_format format, const char *const *keys, size_t count,
                 struct text *ret_text, const char **ret_left)
{
    struct text text = text_of(now->bytes, now->size);

    *ret_left = NULL;
    for (size_t i = 0; i < count; i++) {
        cleanup_text struct text last = text_take(&text);

        if (!key_unedit(&last, before, after, format, keys[i], &text) && !*ret_left)
            *ret_left = keys[i];
    }
    *ret_text = text;
}

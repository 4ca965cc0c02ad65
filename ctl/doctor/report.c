/* SPDX-License-Identifier: ISC */
/* report.c - lines of the report: filled by checks, printed as a table or as JSON. */
#include "ctl/doctor/report.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/say.h"

#include "common/banned.h"

#define GAP          2
#define WRAP_MIN     24u /* columns for text, however narrow the terminal is */
#define SAID_NOTHING "the check said nothing"
#define COUNTS_SIZE  128u

static const struct {
    const char *shown, *word;
} verdicts[] = {
#define VERDICT_ROW(id, shown, word) [DOCTOR_##id] = {shown, word},
    DOCTOR_VERDICTS(VERDICT_ROW)
#undef VERDICT_ROW
};
#define VERDICT_COUNT (sizeof(verdicts) / sizeof(verdicts[0]))

static const char *const groups[] = {
#define GROUP_ROW(id, word) [DOCTOR_GROUP_##id] = (word),
    DOCTOR_GROUPS(GROUP_ROW)
#undef GROUP_ROW
};

const char *doctor_verdict_word(enum doctor_verdict v)
{
    return verdicts[v].word;
}

const char *doctor_group_word(enum doctor_group g)
{
    return groups[g];
}

/* --- what checks say ------------------------------------------------------------------------- */

static char *escaped_vformat(const char *format, va_list args)
{
    cleanup_free char *text = text_vformat(format, args);

    return text_escape(text, strlen(text), NULL);
}

void doctor_say(struct doctor_line *l, enum doctor_verdict v, const char *format, ...)
{
    cleanup_free char *before = NULL;
    va_list args;

    if (l->is_said && v < l->verdict)
        return;
    if (l->is_said && v == l->verdict)
        before = l->evidence;
    else
        free(l->evidence);
    va_start(args, format);
    l->evidence = escaped_vformat(format, args);
    va_end(args);
    if (before) {
        char *both = text_format("%s; %s", before, l->evidence);

        free(l->evidence);
        l->evidence = both;
    }
    l->verdict = v;
    l->is_said = true;
}

void doctor_mend(struct doctor_line *l, const char *format, ...)
{
    va_list args;

    free(l->mend);
    va_start(args, format);
    l->mend = escaped_vformat(format, args);
    va_end(args);
}

/* --- the report ---------------------------------------------------------------------------- */

void report_init(struct report *r, size_t count)
{
    r->lines = calloc(count ? count : 1, sizeof(*r->lines));
    if (!r->lines)
        say_no_memory();
    for (size_t i = 0; i < count; i++)
        r->lines[i].verdict = DOCTOR_UNKNOWN;
    r->count = count;
}

void report_done(struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->lines[i].evidence);
        free(r->lines[i].mend);
    }
    free(r->lines);
    *r = (struct report){0};
}

bool report_is_well(const struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (doctor_is_bad(r->lines[i].verdict))
            return false;
    }
    return true;
}

static const char *evidence_of(const struct doctor_line *l)
{
    return l->is_said ? l->evidence : SAID_NOTHING;
}

/* What mends it, where something is to be mended. */
static const char *mend_of(const struct doctor_line *l)
{
    if (l->verdict < DOCTOR_WARN)
        return NULL;
    return l->mend ? l->mend : l->check->mend;
}

/* Columns of text that is UTF-8 and escaped: one for each character, as text_escape() counts. */
static size_t columns_of(const char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

void report_wrap(FILE *out, const char *text, size_t at, size_t limit)
{
    size_t column = at;
    bool is_first = true;

    if (limit > 0 && limit < at + WRAP_MIN)
        limit = at + WRAP_MIN;
    while (*text) {
        size_t bytes = strcspn(text, " "), width = columns_of(text, bytes);

        if (!is_first && limit > 0 && column + 1 + width > limit) {
            (void)fprintf(out, "\n%*s", (int)at, "");
            column = at;
        } else if (!is_first) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fwrite(text, 1, bytes, out);
        column += width;
        text += bytes;
        text += strspn(text, " ");
        is_first = false;
    }
    (void)fputc('\n', out);
}

/* Source: ECMA-48 8.3.117 (SGR). */
static const char *colour_of(enum doctor_verdict v)
{
    switch (v) {
    case DOCTOR_SKIP:
        return "2";
    case DOCTOR_PASS:
        return "32";
    case DOCTOR_WARN:
        return "33";
    case DOCTOR_UNKNOWN:
    case DOCTOR_FAIL:
        break;
    }
    return "1;31";
}

/* Source: syslog(3), LOG_ERR, LOG_WARNING, LOG_INFO. */
static void level_print(const struct report_form *form, enum doctor_verdict v, FILE *out)
{
    if (form->is_journal)
        (void)fprintf(out, "<%d>",
                      doctor_is_bad(v)   ? LOG_ERR
                      : v == DOCTOR_WARN ? LOG_WARNING
                                         : LOG_INFO);
}

static size_t widest(size_t now, const char *text)
{
    return strlen(text) > now ? strlen(text) : now;
}

static void counts_write(const struct report *r, char buf[static COUNTS_SIZE])
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t v = VERDICT_COUNT; v-- > 0;) {
        size_t n = 0;

        for (size_t i = 0; i < r->count; i++)
            n += r->lines[i].verdict == v;
        if (n > 0)
            used += (size_t)snprintf(buf + used, COUNTS_SIZE - used, "%s%zu %s", used ? ", " : "",
                                     n, verdicts[v].shown);
    }
}

void report_print(const struct report *r, FILE *out, const struct report_form *form)
{
    size_t verdict_width = 0, group_width = 0, id_width = 0;
    char counts[COUNTS_SIZE];

    for (size_t i = 0; i < r->count; i++) {
        const struct doctor_line *l = &r->lines[i];

        verdict_width = widest(verdict_width, verdicts[l->verdict].shown);
        group_width = widest(group_width, groups[l->check->group]);
        id_width = widest(id_width, l->check->id);
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct doctor_line *l = &r->lines[i];
        const char *shown = verdicts[l->verdict].shown, *mend = mend_of(l);
        size_t at = verdict_width + group_width + id_width + (size_t)3 * GAP;

        level_print(form, l->verdict, out);
        if (form->is_colour)
            (void)fprintf(out, "\033[%sm%s\033[0m%*s", colour_of(l->verdict), shown,
                          (int)(verdict_width - strlen(shown)), "");
        else
            (void)fprintf(out, "%-*s", (int)verdict_width, shown);
        (void)fprintf(out, "%*s%-*s%*s%-*s%*s", GAP, "", (int)group_width, groups[l->check->group],
                      GAP, "", (int)id_width, l->check->id, GAP, "");
        report_wrap(out, evidence_of(l), at, form->columns);
        if (mend) {
            at = verdict_width + GAP;
            level_print(form, l->verdict, out);
            (void)fprintf(out, "%*s-> ", (int)at, "");
            report_wrap(out, mend, at + 3, form->columns);
        }
    }
    counts_write(r, counts);
    level_print(form, report_is_well(r) ? DOCTOR_PASS : DOCTOR_FAIL, out);
    (void)fprintf(out, "%zu check%s: %s\n", r->count, r->count == 1 ? "" : "s", counts);
}

static json_t *line_json(const struct doctor_line *l)
{
    const char *mend = mend_of(l);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?}", "id", l->check->id, "group",
                             groups[l->check->group], "what", l->check->what, "verdict",
                             verdicts[l->verdict].word, "evidence", evidence_of(l), "mend", mend);

    if (!json)
        say_no_memory();
    return json;
}

void report_print_json(const struct report *r)
{
    cleanup_json json_t *json = json_object();
    json_t *checks = json_array();

    if (!json || !checks ||
        json_object_set_new(json, "verdict", json_string(report_is_well(r) ? "pass" : "fail")) < 0)
        say_no_memory();
    for (size_t v = VERDICT_COUNT; v-- > 0;) {
        size_t n = 0;

        for (size_t i = 0; i < r->count; i++)
            n += r->lines[i].verdict == v;
        if (json_object_set_new(json, verdicts[v].word, json_integer((json_int_t)n)) < 0)
            say_no_memory();
    }
    for (size_t i = 0; i < r->count; i++) {
        if (json_array_append_new(checks, line_json(&r->lines[i])) < 0)
            say_no_memory();
    }
    if (json_object_set_new(json, "checks", checks) < 0)
        say_no_memory();
    json_print_line(json);
}

/* SPDX-License-Identifier: ISC */
/* csv.c - comma-separated values with a header. */
#include "ctl/csv.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

#define BOM           "\xef\xbb\xbf"
#define COLUMNS_MAX   64u   /* a table of something else */
#define VALUE_MAX     4096u /* longer than anything that we take */
#define COLUMN_ABSENT SIZE_MAX

void csv_error_add(struct csv_errors *errors, size_t line, const char *field, const char *format,
                   ...)
{
    va_list args;
    char *why;

    va_start(args, format);
    why = text_vformat(format, args);
    va_end(args);
    if (errors->used == errors->room) {
        errors->room = errors->room ? errors->room * 2 : 16;
        errors->all = reallocarray(errors->all, errors->room, sizeof(*errors->all));
        if (!errors->all)
            say_no_memory();
    }
    errors->all[errors->used++] = (struct csv_error){.line = line, .field = field, .why = why};
}

void csv_errors_done(struct csv_errors *errors)
{
    for (size_t i = 0; i < errors->used; i++)
        free(errors->all[i].why);
    free(errors->all);
    *errors = (struct csv_errors){0};
}

/* Insertion: stable, and they come nearly in order. */
void csv_errors_sort(struct csv_errors *errors)
{
    for (size_t i = 1; i < errors->used; i++) {
        struct csv_error e = errors->all[i];
        size_t k = i;

        for (; k > 0 && errors->all[k - 1].line > e.line; k--)
            errors->all[k] = errors->all[k - 1];
        errors->all[k] = e;
    }
}

struct reader {
    const char *at, *end;
    size_t line; /* of @at, from 1 */
};

/* One record as it is in the file. */
struct record {
    size_t line;
    char *values[COLUMNS_MAX]; /* heap */
    size_t count;
    const char *wrong; /* a sentence about the record, or NULL */
};

static void record_done(struct record *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->values[i]);
    r->count = 0;
}

/* Pass an end of line, if there is one here. */
static bool newline_pass(struct reader *in)
{
    if (in->at == in->end || (*in->at != '\n' && *in->at != '\r'))
        return false;
    if (*in->at == '\r' && in->end - in->at > 1 && in->at[1] == '\n')
        in->at++;
    in->at++;
    in->line++;
    return true;
}

static void line_pass(struct reader *in)
{
    while (in->at < in->end && *in->at != '\n' && *in->at != '\r')
        in->at++;
    (void)newline_pass(in);
}

static void blanks_pass(struct reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t'))
        in->at++;
}

/* What is between quotes; @in is behind the first one. Return: a sentence, or NULL. */
static const char *quoted_read(struct reader *in, FILE *out)
{
    while (in->at < in->end) {
        const char *before = in->at;

        if (*in->at == '"') {
            in->at++;
            if (in->at == in->end || *in->at != '"')
                return NULL;
        }
        if (newline_pass(in)) {
            (void)fwrite(before, 1, (size_t)(in->at - before), out);
            continue;
        }
        (void)fputc(*in->at++, out);
    }
    return "a quote opens here that nothing closes";
}

static const char *plain_read(struct reader *in, FILE *out)
{
    const char *start = in->at, *stop;

    while (in->at < in->end && *in->at != ',' && *in->at != '\n' && *in->at != '\r') {
        if (*in->at == '"')
            return "a quote stands inside a value: put the whole value into quotes, and each of "
                   "its "
                   "quotes twice";
        in->at++;
    }
    for (stop = in->at; stop > start && (stop[-1] == ' ' || stop[-1] == '\t'); stop--)
        continue;
    (void)fwrite(start, 1, (size_t)(stop - start), out);
    return NULL;
}

/* Return: a sentence if the value is none, or NULL. */
static const char *value_check(const char *value, size_t size)
{
    if (memchr(value, '\0', size))
        return "there is a NUL byte in it: this is no text";
    if (size > VALUE_MAX)
        return "a value is too long";
    if (!text_is_utf8(value, size))
        return "it is not UTF-8: save the file as UTF-8";
    return NULL;
}

static void value_read(struct reader *in, struct record *r)
{
    const char *wrong = NULL;
    char *value = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&value, &size);

    if (!out)
        say_no_memory();
    blanks_pass(in);
    if (in->at < in->end && *in->at == '"') {
        in->at++;
        wrong = quoted_read(in, out);
        blanks_pass(in);
        if (!wrong && in->at < in->end && *in->at != ',' && *in->at != '\n' && *in->at != '\r')
            wrong = "text follows a closing quote";
    } else {
        wrong = plain_read(in, out);
    }
    if (fclose(out) != 0 || !value)
        say_no_memory();
    if (!wrong)
        wrong = value_check(value, size);
    if (!wrong && r->count == COLUMNS_MAX)
        wrong = "it has too many values";
    if (wrong || r->count == COLUMNS_MAX) {
        r->wrong = wrong;
        free(value);
        return;
    }
    r->values[r->count++] = value;
}

/* The next record that is not blank. Return: false at the end of the file. */
static bool record_read(struct reader *in, struct record *r)
{
    *r = (struct record){0};
    for (;;) {
        blanks_pass(in);
        if (in->at == in->end)
            return false;
        if (!newline_pass(in))
            break;
    }
    r->line = in->line;
    for (;;) {
        value_read(in, r);
        if (r->wrong) {
            line_pass(in);
            return true;
        }
        if (in->at == in->end || newline_pass(in))
            return true;
        in->at++; /* the comma */
        if (in->at == in->end) {
            value_read(in, r); /* the empty one behind it */
            return true;
        }
    }
}

/* "E-Mail" is "email", too. */
static bool is_column(const char *value, const char *column)
{
    for (;; value++, column++) {
        value += strspn(value, "-");
        if (*column == '\0' || tolower((unsigned char)*value) != *column)
            return *column == *value;
    }
}

/* Where each column stands: places[i] of columns[i]. Return: false, and it has been kept why. */
static bool header_read(const struct record *head, const char *const *columns, size_t n,
                        size_t *places, struct csv_errors *errors)
{
    size_t before = errors->used, known = 0;

    for (size_t i = 0; i < n; i++)
        places[i] = COLUMN_ABSENT;
    for (size_t k = 0; k < head->count; k++) {
        for (size_t i = 0; i < n; i++)
            known += is_column(head->values[k], columns[i]);
    }
    /* A file of people without a header: one sentence, not one for each of their values. */
    if (known == 0 && head->count > 0 && !strchr(head->values[0], ';')) {
        csv_error_add(errors, head->line, columns[0],
                      "the first line has to name the columns, and this one is not among them");
        return false;
    }
    for (size_t k = 0; k < head->count; k++) {
        size_t i = 0;

        while (i < n && !is_column(head->values[k], columns[i]))
            i++;
        if (i == n)
            csv_error_add(errors, head->line, NULL, "there is no column '%s'%s", head->values[k],
                          strchr(head->values[k], ';') ? ": separate them by ',' instead of ';'"
                                                       : "");
        else if (places[i] != COLUMN_ABSENT)
            csv_error_add(errors, head->line, columns[i], "the column is there twice");
        else
            places[i] = k;
    }
    if (places[0] == COLUMN_ABSENT)
        csv_error_add(errors, head->line, columns[0],
                      "the first line has to name the columns, and this one is not among them");
    return errors->used == before;
}

static void row_add(struct csv *csv, struct record *r, const size_t *places)
{
    struct csv_row row = {.line = r->line, .values = calloc(csv->columns, sizeof(char *))};

    if (!row.values)
        say_no_memory();
    for (size_t i = 0; i < csv->columns; i++) {
        if (places[i] == COLUMN_ABSENT)
            continue;
        row.values[i] = r->values[places[i]];
        r->values[places[i]] = NULL;
    }
    if (csv->count == csv->room) {
        csv->room = csv->room ? csv->room * 2 : 64;
        csv->rows = reallocarray(csv->rows, csv->room, sizeof(*csv->rows));
        if (!csv->rows)
            say_no_memory();
    }
    csv->rows[csv->count++] = row;
}

static void rows_read(struct reader *in, size_t width, const size_t *places,
                      struct csv_errors *errors, struct csv *csv)
{
    struct record r;

    while (record_read(in, &r)) {
        if (r.wrong)
            csv_error_add(errors, r.line, NULL, "%s", r.wrong);
        else if (r.count != width)
            csv_error_add(errors, r.line, NULL, "it has %zu value%s, the header has %zu", r.count,
                          r.count == 1 ? "" : "s", width);
        else
            row_add(csv, &r, places);
        record_done(&r);
    }
}

void csv_parse(const char *bytes, size_t size, const char *const *columns, size_t n,
               struct csv_errors *errors, struct csv *ret)
{
    struct reader in = {.at = bytes, .end = bytes + size, .line = 1};
    size_t *places = calloc(n, sizeof(*places));
    struct record head;

    if (!places)
        say_no_memory();
    *ret = (struct csv){.columns = n};
    if (size >= strlen(BOM) && memcmp(bytes, BOM, strlen(BOM)) == 0)
        in.at += strlen(BOM);
    if (!record_read(&in, &head)) {
        csv_error_add(errors, 1, NULL, "the file is empty");
    } else if (head.wrong) {
        csv_error_add(errors, head.line, NULL, "%s", head.wrong);
        record_done(&head);
    } else {
        size_t width = head.count;

        if (header_read(&head, columns, n, places, errors))
            rows_read(&in, width, places, errors, ret);
        record_done(&head);
    }
    free(places);
}

void csv_done(struct csv *csv)
{
    for (size_t i = 0; i < csv->count; i++) {
        for (size_t k = 0; k < csv->columns; k++)
            free(csv->rows[i].values[k]);
        free(csv->rows[i].values);
    }
    free(csv->rows);
    *csv = (struct csv){0};
}

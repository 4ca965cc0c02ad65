/* SPDX-License-Identifier: ISC */
/* import_input.c - the body of an import, checked. */
#include "sessiond/api/import_input.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "sessiond/api/user_input.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

#define PREFIX_SIZE 32u /* "users[N]." */

static void prefix_make(char prefix[PREFIX_SIZE], size_t row)
{
    (void)snprintf(prefix, PREFIX_SIZE, "users[%zu].", row);
}

int import_input_fault(struct import_input *in, size_t row, const struct error *e)
{
    if (in->is_bad[row])
        return 0;
    in->is_bad[row] = true;
    return import_errors_add(&in->errors, row, e);
}

static int read_row(const json_t *row, size_t i, struct user_spec *spec, const char **groups,
                    struct error *e)
{
    static const char *const keys[] = {"email",   "name",        "groups", "expires_at",
                                       "comment", "external_id", NULL};
    char prefix[PREFIX_SIZE];
    const struct json_in in = {.obj = row, .prefix = prefix, .e = e};
    const json_t *names = NULL;
    int r;

    prefix_make(prefix, i);
    *spec = (struct user_spec){.groups = groups, .expires_s = EXPIRY_KEEP};
    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_string(&in, "email", EMAIL_SIZE - 1, &spec->email);
    if (r == 0)
        r = json_in_string(&in, "name", NAME_MAX_LEN, &spec->name);
    if (r == 0)
        r = json_in_string(&in, "external_id", EXTERNAL_ID_SIZE - 1, &spec->external_id);
    if (r == 0)
        r = json_in_text(&in, "comment", COMMENT_SIZE - 1, &spec->comment);
    if (r == 0)
        r = json_in_strings(&in, "groups", GROUP_NAMES_MAX, &names);
    if (r == 0)
        r = user_input_expiry_ahead(&in, &spec->expires_s);
    if (r < 0)
        return r;
    spec->group_count = user_input_names(names, groups, GROUP_NAMES_MAX);
    if (!spec->email && !spec->name && !spec->external_id) {
        prefix[strlen(prefix) - 1] = '\0';
        return error_field(e, prefix, "One of email, external_id and name must be given.");
    }
    return 0;
}

/* --- what is there twice --- */

/* A text of a row, to be sorted. */
struct cell {
    const char *text;
    size_t row;
};

static int cell_compare(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    int r = strcasecmp(x->text, y->text);

    if (r != 0)
        return r;
    return x->row < y->row ? -1 : x->row > y->row;
}

static const struct {
    const char *key, *what;
} columns[] = {{"email", "e-mail address"}, {"name", "name"}};

static int fault_twice(struct import_input *in, const struct cell *first, const struct cell *again,
                       size_t column)
{
    char field[ERROR_FIELD_SIZE];
    struct error e;

    prefix_make(field, again->row);
    (void)snprintf(field + strlen(field), sizeof(field) - strlen(field), "%s", columns[column].key);
    (void)error_field(&e, field, "The %s %s is that of users[%zu], too.", columns[column].what,
                      VALUE(again->text), first->row);
    return import_input_fault(in, again->row, &e);
}

/* Each row that repeats what one before it has. */
static int check_twice(struct import_input *in, struct cell *cells, size_t n, size_t column)
{
    const struct cell *first = cells;
    int r = 0;

    qsort(cells, n, sizeof(*cells), cell_compare);
    for (size_t i = 1; i < n && r == 0; i++) {
        if (strcasecmp(first->text, cells[i].text) == 0)
            r = fault_twice(in, first, &cells[i], column);
        else
            first = &cells[i];
    }
    return r;
}

static int no_memory(struct error *e)
{
    return error_set(e, 500, STATUS_INTERNAL, NULL, "There is no memory for this import.");
}

static int check_all_twice(struct import_input *in, struct error *e)
{
    cleanup_free struct cell *cells = calloc(in->n, sizeof(*cells));
    int r = cells ? 0 : -ENOMEM;

    for (size_t k = 0; r == 0 && k < sizeof(columns) / sizeof(columns[0]); k++) {
        size_t n = 0;

        for (size_t i = 0; i < in->n; i++) {
            const char *text = k == 0 ? in->specs[i].email : in->specs[i].name;

            if (text)
                cells[n++] = (struct cell){.text = text, .row = i};
        }
        r = check_twice(in, cells, n, k);
    }
    return r < 0 ? no_memory(e) : 0;
}

/* --- all of it --- */

static int read_rows(struct import_input *in, const json_t *rows, struct error *e)
{
    struct error fault;
    const json_t *row;
    size_t i;

    in->n = json_array_size(rows);
    if (in->n == 0)
        return error_field(e, "users", "users must have at least one entry.");
    in->specs = calloc(in->n, sizeof(*in->specs));
    in->groups = calloc(in->n, GROUP_NAMES_MAX * sizeof(*in->groups));
    in->gains = calloc(in->n, sizeof(*in->gains));
    in->is_bad = calloc(in->n, sizeof(*in->is_bad));
    if (!in->specs || !in->groups || !in->gains || !in->is_bad)
        return no_memory(e);
    json_array_foreach(rows, i, row)
    {
        int r = read_row(row, i, &in->specs[i], in->groups + i * GROUP_NAMES_MAX, &fault);

        if (r < 0 && import_input_fault(in, i, &fault) < 0)
            return no_memory(e);
        in->specs[i].gain = &in->gains[i];
    }
    return check_all_twice(in, e);
}

int import_input_parse(const json_t *body, struct import_input *ret_in, struct error *e)
{
    static const char *const keys[] = {"dry_run", "users", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct import_input input = {0};
    const json_t *rows = NULL;
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_bool(&in, "dry_run", &input.is_dry_run);
    if (r == 0)
        r = json_in_require(&in, "users");
    if (r == 0)
        r = json_in_objects(&in, "users", USER_BATCH_MAX, &rows);
    if (r == 0)
        r = read_rows(&input, rows, e);
    if (r < 0) {
        import_input_done(&input);
        return r;
    }
    /* Only the count of its owners is written. */
    input.body = json_incref((json_t *)(uintptr_t)body);
    *ret_in = input;
    return 0;
}

void import_input_done(struct import_input *in)
{
    json_decref(in->body);
    free(in->specs);
    free(in->groups);
    free(in->gains);
    free(in->is_bad);
    import_errors_done(&in->errors);
    *in = (struct import_input){0};
}

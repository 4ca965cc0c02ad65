/* SPDX-License-Identifier: ISC */
/* roster.c - the people of an invitation. */
#include "ctl/roster.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/say.h"
#include "ctl/when.h"

#include "common/banned.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

enum column {
    COLUMN_EMAIL,
    COLUMN_NAME,
    COLUMN_GROUP,
    COLUMN_EXPIRY,
    COLUMN_COUNT,
};

static const char *const columns[COLUMN_COUNT] = {"email", "name", "group", "expiry"};

bool email_is_valid(const char *email)
{
    size_t local = strspn(email, LETTERS DIGITS ".!#$%&'*+-/=?^_`{|}~");
    const char *domain = email + local + 1;

    if (local == 0 || local > 64 || email[local] != '@' || strlen(email) > 254)
        return false;
    for (const char *label = domain;;) {
        size_t n = strspn(label, LETTERS DIGITS "-");

        if (n == 0 || n > 63)
            return false;
        if (label[n] == '\0')
            return true;
        if (label[n] != '.')
            return false;
        label += n + 1;
    }
}

static void array_add(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        say_no_memory();
}

static bool has_text(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (strcmp(json_text(json_array_get(array, i)), text) == 0)
            return true;
    }
    return false;
}

/* Whether it is a name; else it has been kept why not. */
static bool name_check(const char *name, size_t line, enum column column, const char *noun,
                       struct csv_errors *errors)
{
    cleanup_free char *lower = strdup(name);

    if (!lower)
        say_no_memory();
    if (name_is_valid(name))
        return true;
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (name_is_valid(lower))
        csv_error_add(errors, line, columns[column],
                      "'%s' is not a %s name: in lower case it is, '%s'", name, noun, lower);
    else
        csv_error_add(
            errors, line, columns[column],
            "'%s' is not a %s name: a lower-case letter, then letters, digits and '-', at "
            "most %d in all",
            name, noun, NAME_MAX_LEN);
    return false;
}

/* Names with blanks, ';' or ',' between them, each once. */
static void groups_read(const char *text, size_t line, struct csv_errors *errors, json_t *groups)
{
    static const char between[] = " \t\r\n;,";

    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        size_t n = strcspn(text, between);
        cleanup_free char *name = strndup(text, n);

        if (!name)
            say_no_memory();
        if (name_check(name, line, COLUMN_GROUP, "group", errors) && !has_text(groups, name))
            array_add(groups, json_string(name));
        text += n;
    }
}

static void member_set(json_t *user, const char *key, json_t *value)
{
    if (!value || json_object_set_new(user, key, value) < 0)
        say_no_memory();
}

/* Return: whether a value is there, in a column that is there. */
static bool is_given(const struct csv_row *row, enum column column)
{
    return row->values[column] && row->values[column][0] != '\0';
}

static void expiry_read(const struct csv_row *row, int64_t now_s, struct csv_errors *errors,
                        json_t *user)
{
    const char *text = row->values[COLUMN_EXPIRY];
    char moment[TIME_TEXT_SIZE];
    int64_t at_s;

    if (strcmp(text, "never") == 0)
        member_set(user, "expires_at", json_null());
    else if (moment_parse(text, now_s, &at_s) < 0)
        csv_error_add(errors, row->line, columns[COLUMN_EXPIRY],
                      "'%s' is neither a day (2026-11-30) nor a moment "
                      "(2026-11-30T18:00:00+01:00), +DURATION or never",
                      text);
    else
        member_set(user, "expires_at", json_string(time_text((json_int_t)at_s, moment)));
}

static json_t *row_read(const struct csv_row *row, const json_t *groups, int64_t now_s,
                        struct csv_errors *errors)
{
    const char *email = row->values[COLUMN_EMAIL];
    json_t *user = json_object(),
           *all = groups ? json_copy((json_t *)(uintptr_t)groups) : json_array();

    if (!user || !all)
        say_no_memory();
    if (!is_given(row, COLUMN_EMAIL))
        csv_error_add(errors, row->line, columns[COLUMN_EMAIL], "there is none");
    else if (!email_is_valid(email))
        csv_error_add(errors, row->line, columns[COLUMN_EMAIL], "'%s' is not an e-mail address%s",
                      email, strchr(email, '<') ? ": only what is between '<' and '>'" : "");
    member_set(user, "email", json_string(email));
    if (is_given(row, COLUMN_NAME)) {
        name_check(row->values[COLUMN_NAME], row->line, COLUMN_NAME, "user", errors);
        member_set(user, "name", json_string(row->values[COLUMN_NAME]));
    }
    if (is_given(row, COLUMN_GROUP))
        groups_read(row->values[COLUMN_GROUP], row->line, errors, all);
    if (json_array_size(all) > 0)
        member_set(user, "groups", json_incref(all));
    json_decref(all);
    if (is_given(row, COLUMN_EXPIRY))
        expiry_read(row, now_s, errors, user);
    return user;
}

/* Two lines for one person, or for one name: which of them is meant is for the admin to say. */
static void doubles_find(const struct csv *csv, enum column column, struct csv_errors *errors)
{
    for (size_t i = 1; i < csv->count; i++) {
        const struct csv_row *row = &csv->rows[i];
        size_t k = 0;

        if (!is_given(row, column))
            continue;
        while (k < i && (!is_given(&csv->rows[k], column) ||
                         strcasecmp(csv->rows[k].values[column], row->values[column]) != 0))
            k++;
        if (k < i)
            csv_error_add(errors, row->line, columns[column], "'%s' is in line %zu already",
                          row->values[column], csv->rows[k].line);
    }
}

void roster_of_csv(const char *bytes, size_t size, const json_t *groups, int64_t now_s,
                   struct csv_errors *errors, struct roster *ret_roster)
{
    struct csv csv;
    struct roster roster = {.users = json_array()};

    csv_parse(bytes, size, columns, COLUMN_COUNT, errors, &csv);
    roster.lines = calloc(csv.count + 1, sizeof(*roster.lines));
    if (!roster.users || !roster.lines)
        say_no_memory();
    if (csv.count > ROSTER_MAX) {
        csv_error_add(errors, csv.rows[ROSTER_MAX].line, NULL,
                      "there are %zu people; %u go at once: cut the file", csv.count, ROSTER_MAX);
    } else {
        for (size_t i = 0; i < csv.count; i++) {
            roster.lines[i] = csv.rows[i].line;
            array_add(roster.users, row_read(&csv.rows[i], groups, now_s, errors));
        }
        doubles_find(&csv, COLUMN_EMAIL, errors);
        doubles_find(&csv, COLUMN_NAME, errors);
    }
    if (csv.count == 0 && errors->used == 0)
        csv_error_add(errors, 1, NULL, "there is nobody in it");
    csv_errors_sort(errors);
    csv_done(&csv);
    *ret_roster = roster;
}

void roster_of_emails(char *const *emails, size_t n, const json_t *groups,
                      struct roster *ret_roster)
{
    struct roster roster = {.users = json_array()};

    if (!roster.users)
        say_no_memory();
    for (size_t i = 0; i < n; i++)
        array_add(roster.users, json_pack("{s:s, s:O*}", "email", emails[i], "groups",
                                          (json_t *)(uintptr_t)groups));
    *ret_roster = roster;
}

void roster_done(struct roster *roster)
{
    json_decref(roster->users);
    free(roster->lines);
    *roster = (struct roster){0};
}

bool roster_field(const char *field, size_t count, size_t *ret_i, const char **ret_field)
{
    static const char prefix[] = "users[";
    const char *close = strchr(field, ']');
    cleanup_free char *digits = NULL;
    uint32_t i;

    if (strncmp(field, prefix, strlen(prefix)) != 0 || !close)
        return false;
    digits = strndup(field + strlen(prefix), (size_t)(close - field) - strlen(prefix));
    if (!digits)
        say_no_memory();
    if (str_to_u32(digits, UINT32_MAX, &i) < 0 || i >= count)
        return false;
    if (close[1] != '\0' && close[1] != '.')
        return false;
    *ret_i = i;
    *ret_field = close[1] == '.' ? close + 2 : "";
    return true;
}

/* SPDX-License-Identifier: ISC */
/* import.c - many people at once, all or none. */
#include "ctl/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/client.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

#define ERRORS_SHOWN 20
#define PATIENCE_S   20 /* for the lock of the account files, which useradd(8) takes, too */

static void errors_say(const char *name, const struct csv_errors *errors)
{
    for (size_t i = 0; i < errors->used && i < ERRORS_SHOWN; i++) {
        const struct csv_error *e = &errors->all[i];

        say_error("%s:%zu: %s%s%s", name, e->line, e->field ? e->field : "", e->field ? ": " : "",
                  e->why);
    }
    if (errors->used > ERRORS_SHOWN)
        say_error("%s: and %zu more; %zu errors in all", name, errors->used - ERRORS_SHOWN,
                  errors->used);
    say_error("nobody was invited");
}

static const char *file_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* All of the file. Heap; NULL: it has been said why not. */
static char *file_bytes(const char *file, size_t *ret_size)
{
    bool is_stdin = strcmp(file, "-") == 0;
    cleanup_close int opened = is_stdin ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    int fd = is_stdin ? STDIN_FILENO : opened;
    char *bytes = malloc(CLIENT_IMPORT_MAX + 1);
    int r;

    if (!bytes)
        say_no_memory();
    r = fd < 0 ? -errno : fd_read_full(fd, bytes, CLIENT_IMPORT_MAX + 1, ret_size);
    if (r == 0 && *ret_size <= CLIENT_IMPORT_MAX)
        return bytes;
    if (r < 0)
        say_error("cannot read %s: %s", file_name(file), strerror(-r));
    else
        say_error("%s has more than %u bytes", file_name(file), CLIENT_IMPORT_MAX);
    free(bytes);
    return NULL;
}

/* With --json, as the api would: the first one. */
static void error_print(const char *name, const struct csv_error *e)
{
    cleanup_json json_t *json =
        json_pack("{s:s, s:o*, s:o}", "status", "bad_request", "field",
                  e->field ? json_string(e->field) : NULL, "message",
                  json_sprintf("%s:%zu: %s%s%s", name, e->line, e->field ? e->field : "",
                               e->field ? ": " : "", e->why));

    if (json) /* what is not UTF-8 is in the sentence on standard error alone */
        json_print_line(json);
}

enum ctl_exit import_read(const struct options *opt, const char *file, const json_t *groups,
                          struct roster *ret_roster)
{
    struct csv_errors errors = {0};
    cleanup_free char *bytes = NULL;
    size_t size = 0;
    bool is_well;

    *ret_roster = (struct roster){0};
    bytes = file_bytes(file, &size);
    if (!bytes)
        return CTL_USAGE;
    roster_of_csv(bytes, size, groups, (int64_t)time(NULL), &errors, ret_roster);
    is_well = errors.used == 0;
    if (!is_well && opt->json)
        error_print(file_name(file), &errors.all[0]);
    if (!is_well)
        errors_say(file_name(file), &errors);
    csv_errors_done(&errors);
    return is_well ? CTL_OK : CTL_USAGE;
}

/* "name: 'root': " - the column as it is called in the file, and what stands there. Heap. */
static char *column_text(const json_t *user, const char *member)
{
    const char *column = member;
    cleanup_free char *value = NULL;
    const json_t *json;
    char *text;
    int n;

    if (strncmp(member, "groups", strlen("groups")) == 0) {
        column = "group";
        member = "groups";
    } else if (strcmp(member, "expires_at") == 0) {
        column = "expiry";
    }
    json = json_object_get(user, member);
    value = json_is_array(json) ? json_join(json) : strdup(json_text(json));
    if (!value)
        say_no_memory();
    n = json ? asprintf(&text, "%s: '%s': ", column, value)
             : asprintf(&text, "%s%s", column, column[0] ? ": " : "");
    if (n < 0)
        say_no_memory();
    return text;
}

/* Whom the refusal is about, as the admin wrote it. */
static void refusal_say(const char *file, const struct roster *roster, const struct answer *a)
{
    const char *message = json_string_value(json_object_get(a->json, "message"));
    const char *field = json_string_value(json_object_get(a->json, "field"));
    const char *member = "";
    const json_t *user;
    size_t i = 0;

    if (!message || !field || !roster_field(field, json_array_size(roster->users), &i, &member)) {
        error_say("", a->json, a->http);
    } else if (roster->lines) {
        cleanup_free char *column = NULL;

        user = json_array_get(roster->users, i);
        column = column_text(user, member);
        say_error("%s:%zu: %s%s", file_name(file), roster->lines[i], column, message);
    } else {
        user = json_array_get(roster->users, i);
        say_error("%s: %s%s%s%s", json_text(json_object_get(user, "email")), message,
                  member[0] ? " (field " : "", member, member[0] ? ")" : "");
    }
    say_error("nobody was invited");
}

enum ctl_exit import_post(const struct options *opt, const char *file, const struct roster *roster,
                          bool is_dry_run, struct answer *ret_answer)
{
    cleanup_json json_t *body =
        json_pack("{s:b, s:O}", "dry_run", is_dry_run, "users", roster->users);
    int64_t deadline_s = (int64_t)time(NULL) + PATIENCE_S;
    cleanup_answer struct answer a = {0};
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    do {
        code = answer_fetch(opt, "POST", CLIENT_IMPORT, body, &a);
    } while (code == CTL_OK && answer_is_busy(&a, deadline_s));
    if (code != CTL_OK)
        return code;
    code = exit_of_http(a.http, json_string_value(json_object_get(a.json, "status")));
    if (code != CTL_OK) {
        if (opt->json && a.json)
            json_print_line(a.json);
        refusal_say(file, roster, &a);
        return code;
    }
    if (json_array_size(json_object_get(a.json, "users")) != json_array_size(roster->users))
        return answer_is_strange("users");
    *ret_answer = a;
    a.json = NULL;
    return CTL_OK;
}

enum ctl_exit import_print(const struct options *opt, const struct answer *a)
{
    const json_t *users = json_object_get(a->json, "users");
    cleanup_table struct table *t = table_new(4);

    if (opt->json) {
        json_print_line(a->json);
        return CTL_OK;
    }
    table_add(t, "NAME");
    table_add(t, "UID");
    table_add(t, "EMAIL");
    table_add(t, "WOULD BE");
    for (size_t i = 0; i < json_array_size(users); i++) {
        const char *name, *email;
        json_error_t error;
        json_int_t uid;
        int is_created;

        if (json_unpack_ex(json_array_get(users, i), &error, 0, "{s:s, s:I, s:s, s:b}", "name",
                           &name, "uid", &uid, "email", &email, "created", &is_created) < 0)
            return answer_is_strange(error.text);
        table_add(t, name);
        table_addf(t, "%" JSON_INTEGER_FORMAT, uid);
        table_add(t, email);
        table_add(t, is_created ? "created" : "there already");
    }
    table_print(t, stdout);
    return CTL_OK;
}

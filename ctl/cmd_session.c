/* SPDX-License-Identifier: ISC */
/*
 * cmd_session.c - atelier session list, session show, session kill
 *
 * A session is named by the first digits of its id. Which one is meant is found in the list of the
 * moment; the request then carries the whole id, so that it never meets another session.
 */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/list.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

#define ID_DIGITS     32u
#define ID_DIGITS_MIN 4u
#define ID_SHOWN      12 /* digits in the list; enough for any host */
/* A line of a receipt has 79 columns at most, with two between them. */
#define NAME_WIDTH  33u
#define VALUE_WIDTH 44u
#define PATH_SIZE   (sizeof("/v1/sessions/") + ID_DIGITS)

struct session {
    const char *id, *user, *service, *line, *rhost, *started_at, *abstract;
    json_int_t uid, pid, init_pid;
    json_t *receipt, *watch; /* watch: NULL if it is not told */
};

static enum ctl_exit session_read(json_t *json, struct session *ret_s)
{
    json_error_t error;

    if (json_unpack_ex(
            json, &error, 0, "{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s?:o, s:s}", "id",
            &ret_s->id, "user", &ret_s->user, "uid", &ret_s->uid, "service", &ret_s->service,
            "line", &ret_s->line, "rhost", &ret_s->rhost, "started_at", &ret_s->started_at, "pid",
            &ret_s->pid, "init_pid", &ret_s->init_pid, "receipt", &ret_s->receipt, "watch",
            &ret_s->watch, "abstract", &ret_s->abstract) < 0)
        return answer_is_strange(error.text);
    return CTL_OK;
}

/* An id that could go into a path. */
static bool is_id(const char *text, size_t least)
{
    size_t n = strlen(text);

    return n >= least && n <= ID_DIGITS && strspn(text, "0123456789abcdef") == n;
}

/* --- list ---------------------------------------------------------------------------------- */

/* GET /v1/sessions; *@ret_list is owned by *@ret_answer. */
static enum ctl_exit sessions_get(const struct options *opt, struct answer *ret_answer,
                                  const json_t **ret_list)
{
    enum ctl_exit code = answer_get(opt, "GET", "/v1/sessions", NULL, ret_answer);

    if (code != CTL_OK)
        return code;
    *ret_list = json_object_get(ret_answer->json, "sessions");
    return json_is_array(*ret_list) ? CTL_OK
                                    : answer_is_strange("there is no list of sessions in it");
}

/* "" is what a login without a terminal or from nowhere has. */
static const char *or_dash(const char *text)
{
    return text[0] ? text : "-";
}

enum { SHORT_FROM = 3 };

static enum ctl_exit session_row(struct table *t, json_t *json, bool is_short)
{
    char started[LIST_TIME_SIZE];
    struct session s = {0};
    enum ctl_exit code = session_read(json, &s);

    if (code != CTL_OK)
        return code;
    table_addf(t, "%.*s", ID_SHOWN, s.id);
    table_add(t, s.user);
    if (!is_short) {
        table_addf(t, "%" JSON_INTEGER_FORMAT, s.uid);
        table_add(t, s.service);
    }
    table_add(t, or_dash(s.line));
    table_add(t, or_dash(s.rhost));
    table_add(t, is_short ? list_minute(s.started_at, started) : s.started_at);
    table_addf(t, "%" JSON_INTEGER_FORMAT, s.pid);
    return CTL_OK;
}

int cmd_session_list(struct options *opt, int argc, char **argv)
{
    static const char *const longs[] = {"ID",   "USER", "UID",     "SERVICE",
                                        "LINE", "FROM", "STARTED", "PID"},
                             *const shorts[] = {"ID", "USER", "LINE", "FROM", "STARTED", "PID"};
    cleanup_table struct table *t = NULL;
    cleanup_answer struct answer a = {0};
    const json_t *list = NULL;
    bool is_short = false;
    size_t count;
    int code;

    if (list_parse(opt, argc, argv,
                   "List the sessions that are open, with the first digits of their ids.",
                   &is_short) < 0)
        return CTL_USAGE;
    code = sessions_get(opt, &a, &list);
    if (code != CTL_OK || opt->json)
        return code;
    count = is_short ? sizeof(shorts) / sizeof(shorts[0]) : sizeof(longs) / sizeof(longs[0]);
    t = table_new(count);
    for (size_t i = 0; i < count; i++)
        table_add(t, is_short ? shorts[i] : longs[i]);
    for (size_t i = 0; i < json_array_size(list); i++) {
        code = session_row(t, json_array_get(list, i), is_short);
        if (code != CTL_OK)
            return code;
    }
    list_print(t, is_short, LIST_CUT(SHORT_FROM));
    return CTL_OK;
}

/* --- by the first digits ------------------------------------------------------------------- */

static bool prefix_check(const char *prefix)
{
    if (is_id(prefix, ID_DIGITS_MIN))
        return true;
    say_error("'%s' is not the beginning of a session's id: %u to %u digits 0-9 and a-f", prefix,
              ID_DIGITS_MIN, ID_DIGITS);
    return false;
}

/* The one session of the list whose id begins like this. */
static enum ctl_exit session_find(const json_t *list, const char *prefix, const char **ret_id)
{
    const char *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_string_value(json_object_get(json_array_get(list, i), "id"));

        if (!id || !is_id(id, ID_DIGITS))
            return answer_is_strange("a session has no id");
        if (strncmp(id, prefix, strlen(prefix)) != 0)
            continue;
        if (found) {
            say_error("more than one session begins with %s: %.*s, %.*s; give more digits", prefix,
                      ID_SHOWN, found, ID_SHOWN, id);
            return CTL_NO;
        }
        found = id;
    }
    if (!found) {
        say_error("there is no session %s", prefix);
        return CTL_NO;
    }
    *ret_id = found;
    return CTL_OK;
}

static enum ctl_exit sessions_list_quietly(const struct options *opt, struct answer *ret_answer,
                                           const json_t **ret_list)
{
    struct options quiet = *opt;

    quiet.json = false; /* the list is not what was asked for */
    return sessions_get(&quiet, ret_answer, ret_list);
}

/* --- show ---------------------------------------------------------------------------------- */

/* One row; what is longer than a line goes on in the next ones. */
static void row_add(struct table *t, const char *head, const char *text)
{
    size_t length = strlen(text), at = 0;

    do {
        size_t n = length - at < VALUE_WIDTH ? length - at : VALUE_WIDTH;

        table_add(t, at == 0 ? head : "");
        table_addf(t, "%.*s", (int)n, text + at);
        at += n;
    } while (at < length);
}

/*
 * What fits on a line is shown as it is; of an object that does not each member, named with its
 * object's, of an array each element below the other.
 */
static void value_add(struct table *t, const char *head, json_t *value)
{
    cleanup_free char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    char name[NAME_WIDTH + 1];
    const char *key;
    json_t *member;
    size_t i;

    if (!text)
        say_no_memory();
    if (strlen(text) <= VALUE_WIDTH || (!json_is_object(value) && !json_is_array(value))) {
        row_add(t, head, text);
        return;
    }
    json_object_foreach(value, key, member)
    {
        (void)snprintf(name, sizeof(name), "%s.%s", head, key);
        value_add(t, name, member);
    }
    json_array_foreach(value, i, member)
    {
        value_add(t, i == 0 || json_is_object(member) ? head : "", member);
    }
}

/* Each member of a receipt or of what is watched instead. */
static void members_add(struct table *t, const char *head, json_t *object)
{
    char name[NAME_WIDTH + 1];
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        (void)snprintf(name, sizeof(name), "%s.%s", head, key);
        value_add(t, name, value);
    }
}

static void session_print(const struct session *s)
{
    const struct {
        const char *head, *text;
    } rows[] = {
        {"id", s->id},
        {"user", s->user},
        {"service", s->service},
        {"line", or_dash(s->line)},
        {"from", or_dash(s->rhost)},
        {"started", s->started_at},
        {"abstract sockets", s->abstract},
    };
    cleanup_table struct table *t = table_new(2);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        table_add(t, rows[i].head);
        table_add(t, rows[i].text);
    }
    table_add(t, "uid");
    table_addf(t, "%" JSON_INTEGER_FORMAT, s->uid);
    table_add(t, "pid");
    table_addf(t, "%" JSON_INTEGER_FORMAT, s->pid);
    table_add(t, "pid of its init");
    table_addf(t, "%" JSON_INTEGER_FORMAT, s->init_pid);
    members_add(t, "receipt", s->receipt);
    members_add(t, "watch", s->watch);
    table_print(t, stdout);
}

int cmd_session_show(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer listed = {0}, shown = {0};
    const char *prefix = NULL, *id = NULL;
    const json_t *list = NULL;
    struct session s = {0};
    char path[PATH_SIZE];
    int code;

    if (args_parse_operand(opt, argc, argv, 0, "ID",
                           "Show one session, and what was really enforced on it.", &prefix) < 0 ||
        !prefix_check(prefix))
        return CTL_USAGE;
    code = sessions_list_quietly(opt, &listed, &list);
    if (code == CTL_OK)
        code = session_find(list, prefix, &id);
    if (code != CTL_OK)
        return code;
    (void)snprintf(path, sizeof(path), "/v1/sessions/%s", id);
    code = answer_get(opt, "GET", path, NULL, &shown);
    if (code != CTL_OK || opt->json)
        return code;
    code = session_read(shown.json, &s);
    if (code == CTL_OK)
        session_print(&s);
    return code;
}

/* --- kill ---------------------------------------------------------------------------------- */

static enum ctl_exit session_kill(const struct options *opt, const char *id)
{
    cleanup_answer struct answer a = {0};
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "/v1/sessions/%s", id);
    return answer_get(opt, "DELETE", path, NULL, &a);
}

int cmd_session_kill(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer listed = {0};
    cleanup_free const char **ids = NULL;
    const json_t *list = NULL;
    enum ctl_exit first;
    char **prefixes;
    size_t n;

    if (args_parse_operands(opt, argc, argv, 0, "ID...",
                            "End sessions, with all their processes. If one of the ids is not "
                            "clear, none is ended.",
                            &prefixes, &n) < 0)
        return CTL_USAGE;
    for (size_t i = 0; i < n; i++) {
        if (!prefix_check(prefixes[i]))
            return CTL_USAGE;
    }
    ids = calloc(n, sizeof(*ids));
    if (!ids)
        say_no_memory();
    first = sessions_list_quietly(opt, &listed, &list);
    for (size_t i = 0; first == CTL_OK && i < n; i++)
        first = session_find(list, prefixes[i], &ids[i]);
    if (first != CTL_OK)
        return first;
    for (size_t i = 0; i < n; i++) {
        enum ctl_exit code = session_kill(opt, ids[i]);

        if (first == CTL_OK)
            first = code;
    }
    return first;
}

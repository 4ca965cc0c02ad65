/* SPDX-License-Identifier: ISC */
/* import_answer.c - what an import says of its rows: all that are wrong, or what each comes to. */
#include "sessiond/api/import_answer.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "sessiond/api/json_out.h"
#include "sessiond/api/value.h"
#include "sessiond/api/verdict.h"

#include "common/banned.h"

/* --- what is wrong --- */

static int fault_add(struct request *rq, struct import_input *in, size_t row,
                     enum user_verdict verdict)
{
    char prefix[32];
    struct error e;

    (void)snprintf(prefix, sizeof(prefix), "users[%zu].", row);
    if (verdict_of_user(rq->app->reg, verdict, &in->specs[row], prefix, "groups", &e) == 0)
        return 0;
    return import_input_fault(in, row, &e);
}

/* The row that the registry stopped at: what it wants may be free but for a row before it. */
static int fault_of_bad(struct request *rq, struct import_input *in, registry_taken_fn taken,
                        void *arg, size_t row, enum user_verdict verdict)
{
    const struct user_spec *spec = &in->specs[row];
    enum user_verdict alone = verdict;
    char field[32];
    struct error e;

    if (verdict != USER_NAME_TAKEN || !spec->name ||
        user_check(rq->app->reg, spec, taken, arg, &alone) < 0 || alone == USER_NAME_TAKEN)
        return fault_add(rq, in, row, verdict);
    (void)snprintf(field, sizeof(field), "users[%zu].name", row);
    (void)error_set(&e, MHD_HTTP_CONFLICT, STATUS_BAD_REQUEST, field,
                    "The name %s is made for an entry before this one: name both.",
                    VALUE(spec->name));
    return import_input_fault(in, row, &e);
}

/*
 * Rows that were not reached yet. If it cannot be found out what they come to, then what is known
 * is said: the import is refused at any rate.
 */
static int look_at_others(struct request *rq, struct import_input *in, registry_taken_fn taken,
                          void *arg)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < in->n && !import_errors_is_full(&in->errors, i); i++) {
        enum user_verdict verdict = USER_CREATED;

        if (in->is_bad[i])
            continue;
        if (user_check(rq->app->reg, &in->specs[i], taken, arg, &verdict) < 0)
            return 0;
        r = fault_add(rq, in, i, verdict);
    }
    return r;
}

void import_refuse(struct request *rq, struct import_input *in, registry_taken_fn taken, void *arg,
                   size_t bad, enum user_verdict verdict)
{
    json_t *errors = NULL;
    int r = bad < in->n ? fault_of_bad(rq, in, taken, arg, bad, verdict) : 0;

    if (r == 0)
        r = look_at_others(rq, in, taken, arg);
    if (r == 0)
        errors = import_errors_json(&in->errors);
    if (!errors) {
        request_answer(rq, MHD_HTTP_BAD_REQUEST, NULL);
        return;
    }
    request_refuse_all(rq, &in->errors.all[0].e, errors);
}

/* --- what it comes to --- */

static json_t *groups_added(const struct user_spec *spec)
{
    json_t *names = json_array();

    for (size_t i = 0; i < spec->group_count; i++) {
        if ((spec->gain->groups & (UINT32_C(1) << i)) &&
            json_array_append_new(names, json_string(spec->groups[i])) < 0) {
            json_decref(names);
            return NULL;
        }
    }
    return names;
}

/* Of one who exists: what is different now, and what of the row was not looked at. */
static int add_changes(json_t *view, const struct user_spec *spec, const struct user *user)
{
    int r = json_object_set_new(view, "groups_added", groups_added(spec));

    if (r == 0 && spec->gain->has_expiry)
        r = json_object_set_new(view, "expires_at", json_of_time(user->expires_s));
    if (r == 0 && spec->gain->has_expiry)
        r = json_object_set_new(view, "expires_at_before",
                                json_of_time(spec->gain->expires_before_s));
    if (r == 0 && spec->name && strcmp(spec->name, user->name) != 0)
        r = json_object_set_new(view, "name_ignored", json_string(spec->name));
    return r;
}

json_t *import_row_view(const struct user_spec *spec, const struct user *user, bool is_created)
{
    json_t *view =
        json_pack("{s:s, s:I, s:o, s:b}", "name", user->name, "uid", (json_int_t)user->uid, "email",
                  json_of_text(user->email), "created", is_created);

    if (view && !is_created && add_changes(view, spec, user) < 0) {
        json_decref(view);
        return NULL;
    }
    return view;
}

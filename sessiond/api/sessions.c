/* SPDX-License-Identifier: ISC */
/* sessions.c - /v1/sessions: list, look at, end. */
#include <errno.h>
#include <microhttpd.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static void refuse_unknown(struct request *rq)
{
    struct error e;

    (void)error_set(&e, 404, STATUS_BAD_REQUEST, "id", "There is no such session.");
    request_refuse(rq, &e);
}

static int list_add(void *arg, const char *user, const struct wire_session_started *m)
{
    return json_array_append_new(arg, json_of_session(user, m)) < 0 ? -ENOMEM : 0;
}

void sessions_get(struct request *rq, const json_t *body)
{
    json_t *array = json_array();

    (void)body;
    if (session_table_list(rq->app->sessions, list_add, array) < 0) {
        json_decref(array);
        request_fail(rq, "The sessions could not be listed", "no memory");
        return;
    }
    request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "sessions", array));
}

static int view_one(void *arg, const char *user, const struct wire_session_started *m)
{
    json_t **ret_view = arg;

    *ret_view = json_of_session(user, m);
    return 0;
}

void sessions_get_one(struct request *rq, const json_t *body)
{
    json_t *view = NULL;

    (void)body;
    if (session_table_get(rq->app->sessions, rq->param, view_one, &view) < 0)
        refuse_unknown(rq);
    else
        request_answer(rq, MHD_HTTP_OK, view);
}

/* The end itself comes later, from sessiond; whoever waits for it looks at the list. */
void sessions_delete(struct request *rq, const json_t *body)
{
    struct error e;
    int r = session_table_kill(rq->app->sessions, rq->param);

    (void)body;
    if (r == -ENOENT) {
        refuse_unknown(rq);
    } else if (r < 0) {
        (void)error_set(&e, 503, STATUS_INTERNAL, NULL, "sessiond is not there.");
        request_refuse(rq, &e);
    } else {
        log_notice("session told to end session=%s peer_uid=%u", rq->param, rq->peer_uid);
        request_answer_empty(rq, MHD_HTTP_NO_CONTENT);
    }
}

/* SPDX-License-Identifier: ISC */
/*
 * links.c - /v1/links: mint, list, revoke.
 *
 * The answer to a mint is the only place where a link's secrets are readable. Every buffer that
 * held them is wiped; none of them is logged.
 */
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "magic-link/magic_link.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/link_input.h"
#include "sessiond/api/subject.h"
#include "sessiond/api/value.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static void refuse_unknown(struct request *rq)
{
    struct error e;

    (void)error_set(&e, 404, STATUS_BAD_REQUEST, "id", "There is no link %s.", VALUE(rq->param));
    request_refuse(rq, &e);
}

/* NULL without memory, or if the link does not fit. */
static json_t *view_of(const struct request *rq, const struct minted *minted, const char *user,
                       bool wants_qr)
{
    char url[LINK_URL_SIZE] = "", *qr = NULL;
    json_t *view = NULL;

    if (magic_link_url(rq->app->link_base, minted->token, url, sizeof(url)) == 0 &&
        (!wants_qr || magic_link_qr(url, &qr) == 0))
        view = json_of_minted(minted, user, url, qr);
    sodium_memzero(url, sizeof(url));
    if (qr)
        sodium_memzero(qr, strlen(qr));
    free(qr);
    return view;
}

static void answer_minted(struct request *rq, const struct minted *minted, const struct user *user,
                          bool wants_qr)
{
    json_t *view = view_of(rq, minted, user->name, wants_qr);

    if (view) {
        log_notice("link minted link=%s user=%s uid=%u purpose=%s valid_s=%" PRId64 " by_uid=%u",
                   minted->link.link_id, user->name, user->uid,
                   link_purpose_key(minted->link.purpose),
                   minted->link.expires_s - minted->link.created_s, rq->peer_uid);
        request_answer_secret(rq, MHD_HTTP_CREATED, view);
        return;
    }
    /* Nobody has seen it and nobody will. */
    (void)link_revoke(rq->app->reg, minted->link.link_id, (int64_t)time(NULL));
    request_fail(rq, "The link could not be written", "no memory, or the link base is too long");
}

void links_post(struct request *rq, const json_t *body)
{
    struct minted minted = {0};
    struct link_input in;
    struct user user;
    struct error e;

    if (link_input_parse(body, &in, &e) < 0 || subject_find(rq, in.user, 0, &user, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (magic_link_mint(rq->app->links, rq->app->reg, user.uid, in.purpose, in.valid_s,
                        rq->door == DOOR_ADMIN ? 0 : rq->peer_uid, (int64_t)time(NULL),
                        &minted) < 0)
        request_fail(rq, "The link could not be stored", registry_error(rq->app->reg));
    else
        answer_minted(rq, &minted, &user, in.wants_qr);
    minted_wipe(&minted);
}

struct listing {
    json_t *array;
    int64_t now_s;
};

static int list_add(void *arg, const struct link *link)
{
    const struct listing *l = arg;

    return json_array_append_new(l->array, json_of_link(link, l->now_s)) < 0 ? -ENOMEM : 0;
}

void links_get(struct request *rq, const json_t *body)
{
    struct listing l = {.array = json_array(), .now_s = (int64_t)time(NULL)};

    (void)body;
    if (link_list(rq->app->reg, list_add, &l) < 0) {
        json_decref(l.array);
        request_fail(rq, "The links could not be listed", registry_error(rq->app->reg));
        return;
    }
    request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "links", l.array));
}

void links_delete(struct request *rq, const json_t *body)
{
    int r = link_id_is_valid(rq->param) ? link_revoke(rq->app->reg, rq->param, (int64_t)time(NULL))
                                        : -ENOENT;

    (void)body;
    if (r == 0) {
        log_notice("link revoked link=%s by_uid=%u", rq->param, rq->peer_uid);
        request_answer_empty(rq, MHD_HTTP_NO_CONTENT);
    } else if (r == -ENOENT) {
        refuse_unknown(rq);
    } else {
        request_fail(rq, "The link could not be revoked", registry_error(rq->app->reg));
    }
}

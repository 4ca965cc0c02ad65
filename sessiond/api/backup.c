/* SPDX-License-Identifier: ISC */
/*
 * backup.c - /v1/backup and /v1/restore.
 *
 * Files do not pass through here: root takes the copy out of registry/, and puts one into it. After
 * a restore whoever is gone, or may not log in any more, loses what runs.
 */
#include <errno.h>
#include <microhttpd.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/lockout.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

void backup_post(struct request *rq, const json_t *body)
{
    static const char *const keys[] = {NULL};
    struct registry_backup b = {0};
    struct error e;
    const struct json_in in = {.obj = body, .prefix = "", .e = &e};

    if (json_in_only(&in, keys) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (registry_backup(rq->app->reg, &b) < 0) {
        request_fail(rq, "The registry could not be copied", registry_error(rq->app->reg));
        return;
    }
    log_notice("registry copied bytes=%llu generation=%llu by_uid=%u", (unsigned long long)b.bytes,
               (unsigned long long)b.generation, rq->peer_uid);
    request_answer(rq, MHD_HTTP_OK,
                   json_pack("{s:s, s:I, s:I, s:I, s:I}", "file", REGISTRY_BACKUP_NAME, "bytes",
                             (json_int_t)b.bytes, "generation", (json_int_t)b.generation, "users",
                             (json_int_t)b.users, "groups", (json_int_t)b.groups));
}

static int gone_add(void *arg, const struct user *user)
{
    json_t *gone = arg;

    return json_array_append_new(
               gone, json_pack("{s:s, s:I}", "name", user->name, "uid", (json_int_t)user->uid)) < 0
               ? -ENOMEM
               : 0;
}

/* What is wrong with the file; NULL: it is not the file. */
static const char *file_fault(int r)
{
    switch (r) {
    case -ENOENT:
        return "There is no file registry/" REGISTRY_RESTORE_NAME ".";
    case -EPERM:
        return "The file must be a regular one with one link, of the owner of registry/.";
    case -EBADMSG:
        return "The file is no registry, or it is damaged.";
    case -EPROTO:
        return "The file was written by a newer version of this program.";
    default: /* an errno, not an enum */
        return NULL;
    }
}

static void answer_restored(struct request *rq, const struct registry_restored *d, bool is_dry_run,
                            json_t *gone)
{
    request_answer(rq, MHD_HTTP_OK,
                   json_pack("{s:b, s:I, s:I, s:o, s:I, s:o}", "dry_run", is_dry_run, "users",
                             (json_int_t)d->users, "groups", (json_int_t)d->groups, "gone", gone,
                             "links_revoked", (json_int_t)d->links_revoked, "kept",
                             json_of_text(d->kept)));
}

void restore_post(struct request *rq, const json_t *body)
{
    static const char *const keys[] = {"dry_run", NULL};
    struct registry_restored d = {0};
    json_t *gone = json_array();
    bool is_dry_run = false;
    const char *fault;
    struct error e;
    const struct json_in in = {.obj = body, .prefix = "", .e = &e};
    int r;

    if (json_in_only(&in, keys) < 0 || json_in_bool(&in, "dry_run", &is_dry_run) < 0) {
        json_decref(gone);
        request_refuse(rq, &e);
        return;
    }
    r = registry_restore(rq->app->reg, is_dry_run, gone_add, gone, &d);
    fault = file_fault(r);
    if (!is_dry_run && !fault) /* stored, even if it could not be published */
        lockout_look(rq->app->lockout);
    if (r == 0) {
        if (!is_dry_run)
            log_notice("registry restored users=%u groups=%u gone=%u links_revoked=%u kept=%s "
                       "by_uid=%u",
                       d.users, d.groups, d.users_gone, d.links_revoked, d.kept, rq->peer_uid);
        answer_restored(rq, &d, is_dry_run, gone);
        return;
    }
    json_decref(gone);
    if (fault)
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "file", "%s", fault);
    else
        request_fail(rq, "The registry could not be restored", registry_error(rq->app->reg));
}

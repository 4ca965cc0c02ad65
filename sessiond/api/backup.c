/* SPDX-License-Identifier: ISC */
/* backup.c - /v1/backup: a copy of the registry, which root takes out of registry/. */
#include <microhttpd.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/json_in.h"
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

/* SPDX-License-Identifier: ISC */
/* handlers.h - the handlers of the routes; openapi.yaml describes them. */
#ifndef ATELIER_API_HANDLERS_H
#define ATELIER_API_HANDLERS_H

#include <jansson.h>

#include "sessiond/api/http.h"

void health_get(struct request *rq, const json_t *body);
void runs_post(struct request *rq, const json_t *body);
void users_post(struct request *rq, const json_t *body);
void users_get(struct request *rq, const json_t *body);
void users_get_one(struct request *rq, const json_t *body);
void users_patch(struct request *rq, const json_t *body);
void users_delete(struct request *rq, const json_t *body);
void imports_post(struct request *rq, const json_t *body);
void groups_post(struct request *rq, const json_t *body);
void groups_get(struct request *rq, const json_t *body);
void groups_get_one(struct request *rq, const json_t *body);
void groups_patch(struct request *rq, const json_t *body);
void groups_delete(struct request *rq, const json_t *body);
void callers_post(struct request *rq, const json_t *body);
void callers_get(struct request *rq, const json_t *body);
void callers_delete(struct request *rq, const json_t *body);
void links_post(struct request *rq, const json_t *body);
void links_get(struct request *rq, const json_t *body);
void links_delete(struct request *rq, const json_t *body);
void sessions_get(struct request *rq, const json_t *body);
void sessions_get_one(struct request *rq, const json_t *body);
void sessions_delete(struct request *rq, const json_t *body);
void network_get(struct request *rq, const json_t *body);
void network_get_one(struct request *rq, const json_t *body);
void index_get(struct request *rq, const json_t *body);
void index_post(struct request *rq, const json_t *body);
void backup_post(struct request *rq, const json_t *body);
void restore_post(struct request *rq, const json_t *body);

#endif

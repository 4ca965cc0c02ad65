/* SPDX-License-Identifier: ISC */
/* health.h - /v1/healthz: asks sessiond, and answers without it after half a second. */
#ifndef ATELIER_API_HEALTH_H
#define ATELIER_API_HEALTH_H

#include <stdbool.h>

#include "common/wire.h"

struct app;
struct health;

int health_new(struct app *app, struct health **ret_health);
/* No request may wait: health_down() first. */
void health_free(struct health *health);

/* Called by the line to sessiond. */
void health_status(struct health *health, const struct wire_status *m);
void health_down(struct health *health);
/* It said something else that shows that it is there. */
void health_heard(struct health *health);

/* Did sessiond answer within the last seconds? One that is stopped keeps its connections. */
bool health_is_alive(const struct health *health);

#endif

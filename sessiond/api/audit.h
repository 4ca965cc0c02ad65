/* SPDX-License-Identifier: ISC */
/* audit.h - rows about runs, made durable in groups. */
#ifndef ATELIER_API_AUDIT_H
#define ATELIER_API_AUDIT_H

#include "registry/registry.h"

struct app;
struct audit;

int audit_new(struct app *app, struct audit **ret_audit);

/* Makes durable what is open. */
void audit_free(struct audit *audit);

/**
 * audit_put() - Insert or update the row of a run; durable 200 ms later at the latest
 *
 * Return: 0 or a negative errno, which is logged here.
 */
int audit_put(struct audit *audit, const struct run_row *row);

#endif

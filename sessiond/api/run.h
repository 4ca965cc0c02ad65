/* SPDX-License-Identifier: ISC */
/*
 * run.h - the life of a run, from accepted to end.
 *
 * waiting --RUN_STARTED--> running --RUN_ENDED--> ended
 *    \------RUN_FAILED, connection lost----------/
 *
 * A run belongs to its request until the client is gone, and to sessiond until it ended; it is
 * freed when both are done with it.
 */
#ifndef ATELIER_API_RUN_H
#define ATELIER_API_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"
#include "registry/registry.h"
#include "sessiond/api/outcome.h"

struct app;
struct request;
struct run_table;

int run_table_new(struct app *app, struct run_table **ret_table);
/* Every run must have ended and every request be over. */
void run_table_free(struct run_table *table);

/* Runs that have not ended. */
uint32_t run_table_count(const struct run_table *table);

/* Those of one user. */
uint32_t run_table_count_of(const struct run_table *table, uint32_t uid);

/* What a run is made of. */
struct run_plan {
    struct user user;
    struct group groups[WIRE_GROUPS_MAX];
    size_t group_count;
    bool net_public;
    uint32_t wall_ms;
    uint32_t cpu_ms; /* 0: no limit */
    uint32_t out_kb;
    uint32_t limits_required; /* bits of enum wire_limit */
    const char *program;      /* argv[0], for the audit and for messages */
};

/**
 * run_start() - Accept a run, answer with its stream, and hand it to sessiond
 * @rq:   Answered here on success
 * @fds:  Descriptors of RUN_START: payload and standard input are set, the pipes are made here.
 *        Taken over in every case
 *
 * The order: pipes, audit row, `accepted` in the queue and the stream answered, RUN_START. So
 * nothing runs that is not in the audit, and no event comes before `accepted`.
 *
 * Return: 0; -EBUSY (too many runs, or too much output kept for them), -EUSERS (of this user:
 * others may have more, share.h), -ENOTCONN (no sessiond), -EIO (audit), another negative errno;
 * then the request is not answered.
 */
int run_start(struct run_table *table, struct request *rq, const struct run_plan *plan,
              int fds[WIRE_RUN_FD_COUNT]);

/* Called by the line to sessiond. Return: 0, or -ENOENT if no run can get this message now. */
int run_table_started(struct run_table *table, const struct wire_run_started *m);
int run_table_failed(struct run_table *table, const struct wire_run_failed *m);
int run_table_ended(struct run_table *table, const struct wire_run_ended *m);

/* The connection is lost: sessiond ends all runs that came through it. */
void run_table_down(struct run_table *table);

/* Ask for the end of every run. */
void run_table_stop(struct run_table *table);

/* Ask for the end of every run of a user; they end as `locked`. */
void run_table_lock(struct run_table *table, uint32_t uid);

/* Call @fn with the user of each run that is not about to end. */
void run_table_each_uid(const struct run_table *table, void (*fn)(void *arg, uint32_t uid),
                        void *arg);

#endif

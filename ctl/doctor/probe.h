/* SPDX-License-Identifier: ISC */
/*
 * probe.h - this host as a throw-away participant has it.
 *
 * The doctor speaks with sessiond itself (common/session_wire.h), never with the api: a broken api
 * must not hide a hole. A probe runs ATELIER_PROGRAMS_DIR/attack by one of the doors, under a uid
 * that is in no registry, by the same path as every run and login. Beside it, for comparison, the
 * same program under the same uid and nothing else, and as root.
 *
 * Everything is ended, and gone, when this process is, however it ends.
 */
#ifndef ATELIER_CTL_DOCTOR_PROBE_H
#define ATELIER_CTL_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/session_wire.h"
#include "ctl/doctor/report.h"

/* One table: id, as it is called in evidence. */
#define PROBE_DOORS(X)                                                                             \
    X(NONE, "run, net none")                                                                       \
    X(PUBLIC, "run, net public")                                                                   \
    X(SESSION, "session")                                                                          \
    X(PLAIN, "the same uid, not confined")                                                         \
    X(ROOT, "root")

enum probe_door {
#define PROBE_DOOR_ENUM(id, text) PROBE_##id,
    PROBE_DOORS(PROBE_DOOR_ENUM)
#undef PROBE_DOOR_ENUM
        PROBE__COUNT,
};

const char *probe_door_text(enum probe_door door);

struct probe_request {
    enum probe_door door;
    uint32_t who;             /* which of the uids, 0..3 */
    uint32_t wall_ms;         /* the whole of it; at most SESSION_PROBE_WALL_MS */
    const char *const *words; /* arguments of the program, NULL-terminated, borrowed */
    /* PLAIN only, may be NULL: called in the child while it is root; 0, or nothing is tried. */
    int (*prepare)(uint32_t uid);
};

struct probe_result {
    bool is_started;
    char why[160];    /* not started: what failed */
    uint32_t end;     /* enum wire_end */
    uint32_t value;   /* exit code or signal */
    uint64_t wall_us; /* from the request to the end */
    char *output;     /* heap, NUL-terminated; what is beyond a bound is cut off */
    size_t output_bytes;
    bool has_receipt; /* of runs */
    struct wire_receipt receipt;
    struct wire_usage usage;
};

/* What sessiond said when the doctor came. */
struct probe_terms {
    struct wire_status status;
    struct session_probe_plan run, login;
};

/**
 * probe_terms() - Come to sessiond, once
 * @ret_why: On failure: a sentence's part; static or owned by @d
 *
 * Return: borrowed, or NULL.
 */
const struct probe_terms *probe_terms(struct doctor *d, const char **ret_why);

/* uid of a participant. */
uint32_t probe_uid(uint32_t who);

/**
 * probe_run() - One probe, to its end
 * @ret: Filled in every case; probe_result_done() it
 *
 * Return: 0, or a negative errno if it never started (->why).
 */
int probe_run(struct doctor *d, const struct probe_request *req, struct probe_result *ret);

/**
 * probe_begin() - One that goes on while others are tried; runs only
 *
 * Return: a handle for probe_finish(), which must follow; NULL if it was not sent (@ret->why).
 */
struct probe_job *probe_begin(struct doctor *d, const struct probe_request *req,
                              struct probe_result *ret);

/* Wait for it. Return: as probe_run(). */
int probe_finish(struct doctor *d, struct probe_job *job, struct probe_result *ret);

void probe_result_done(struct probe_result *r);
#define cleanup_probe __attribute__((cleanup(probe_result_done)))

/* The end of all; fine if nothing was begun. */
void probe_host_free(struct probe_host *p);

/* --- probe_local.c: the other two doors, and the session ------------------------------------- */

/**
 * probe_local() - SESSION, PLAIN and ROOT: by a child of ours
 * @conn: The doctor's connection, which the child must not keep; -1: none
 *
 * Return: as probe_run().
 */
int probe_local(const struct probe_request *req, int conn, struct probe_result *ret);

/* Read what there is into the result. Return: false at its end. */
bool probe_output_read(struct probe_result *r, int fd);

int64_t probe_now_us(void);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * session_store.h - what a restarted sessiond has to know of the sessions that live.
 *
 * One file per session in ATELIER_RUN_DIR/sessions, root's alone, written whole and renamed. /run
 * is empty after a boot, as are the processes. A process is named by its pid and its start time: a
 * pid that was given to somebody else does not fit.
 */
#ifndef ATELIER_SESSION_STORE_H
#define ATELIER_SESSION_STORE_H

#include <stdint.h>

#include "common/str.h"
#include "common/wire.h"

struct session_record {
    uint32_t version; /* of this struct, filled in here */
    uint32_t uid;
    uint32_t holder_pid;
    uint32_t init_pid;
    uint32_t slot; /* utmp.h */
    uint32_t is_scoped;
    uint64_t holder_start; /* process_start() */
    uint64_t init_start;
    int64_t started_us;
    char session_id[WIRE_SESSION_ID_SIZE];
    char name[NAME_SIZE];
    char service[WIRE_SERVICE_SIZE];
    char rhost[WIRE_RHOST_SIZE];
    struct wire_receipt receipt;
};

/* Make the directory, or check it. Return: 0, -EPERM (not root's alone), or a negative errno. */
int session_store_init(void);

/* Return: 0 or a negative errno with nothing stored. */
int session_store_put(struct session_record *record);

/* Forget; fine if it is not there. */
void session_store_drop(const char *session_id);

/**
 * session_store_each() - Read all
 * @fn: Called with each record that is whole; it may drop it. What is not whole is removed.
 *
 * Return: how many were not whole, or a negative errno.
 */
int session_store_each(void (*fn)(void *arg, const struct session_record *record), void *arg);

/**
 * process_start() - When a process began
 * @ret_start: Clock ticks since boot: proc(5), stat, field 22
 *
 * Return: 0, -ESRCH, or a negative errno.
 */
int process_start(uint32_t pid, uint64_t *ret_start);

#endif

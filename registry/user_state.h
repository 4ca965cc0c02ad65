/* SPDX-License-Identifier: ISC */
/* user_state.h - what is stored of a user's state, and what it means now. */
#ifndef ATELIER_USER_STATE_H
#define ATELIER_USER_STATE_H

#include <stdint.h>

#include "registry/registry.h"

struct stmt;

/* The stored state in a column. Return: 0, or -EBADMSG if it is none. */
int user_state_read(struct stmt *st, int col, enum user_state *ret_state);

/* The state as of @now_s of a user who is stored as @stored: only reserved and active expire. */
enum user_state user_state_effective(enum user_state stored, int64_t expires_s, int64_t now_s);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * session.h - the table of logins that live, and who may add to it.
 *
 * asked --SESSION_STARTED--> live --SESSION_ENDED--> closed in the audit
 *    \-----SESSION_FAILED---/ (nothing happened)
 *
 * Sessions belong to sessiond and outlive both the connection to it and this process: an entry
 * stays when the connection breaks, until SESSION_SYNCED shows that sessiond has it no longer.
 */
#ifndef ATELIER_API_SESSION_H
#define ATELIER_API_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"

struct app;
struct session_table;

int session_table_new(struct app *app, struct session_table **ret_table);
/* What lives goes on without us. */
void session_table_free(struct session_table *table);

/* Sessions that live, and those of one user with the logins that were let in and come up. */
uint32_t session_table_count(const struct session_table *table);
size_t session_table_count_of(const struct session_table *table, uint32_t uid);

/* Is sessiond there, and has it told which sessions live? */
bool session_table_is_synced(const struct session_table *table);

/* --- called by the line to sessiond --------------------------------------------------------- */

/**
 * session_table_asked() - A login stands in open_session: let it in or not, at once
 *
 * Let in is who is in the registry and neither locked, expired nor deleted, as long as there is
 * room, and nobody while we end. Could not find out is no.
 */
void session_table_asked(struct session_table *table, const struct wire_session_ask *m);

/**
 * session_table_started() - A session lives: into the audit and the table
 *
 * The user's state is looked at again: between question and session, or while the connection was
 * down, they may have been locked. Then the session is killed.
 *
 * Return: 0, or -ENOENT if no such login was let in.
 */
int session_table_started(struct session_table *table, const struct wire_session_started *m);
int session_table_failed(struct session_table *table, const struct wire_session_failed *m);
int session_table_ended(struct session_table *table, const struct wire_session_ended *m);

/* Whatever was not named since WELCOME ended while nobody looked: closed as `lost`. */
void session_table_synced(struct session_table *table);

/* The connection is lost. Sessions live on; logins that come up are denied by sessiond. */
void session_table_down(struct session_table *table);

/* --- called by requests --------------------------------------------------------------------- */

/* Called for each session that lives, oldest first; a non-zero return stops and is returned. */
typedef int (*session_view_fn)(void *arg, const char *user, const struct wire_session_started *m);
int session_table_list(const struct session_table *table, session_view_fn fn, void *arg);

/* Return: 0 and @fn called, its return, or -ENOENT. */
int session_table_get(const struct session_table *table, const char *id, session_view_fn fn,
                      void *arg);

/* Ask for the end of a session. Return: 0, -ENOENT, -ENOTCONN, -ENOMEM. */
int session_table_kill(struct session_table *table, const char *id);

/* --- called when a user is locked or expires ------------------------------------------------ */

/* USER_KILL was sent: what this user has is about to end. */
void session_table_lock(struct session_table *table, uint32_t uid);

/* Call @fn with the user of each entry that is not about to end. */
void session_table_each_uid(const struct session_table *table, void (*fn)(void *arg, uint32_t uid),
                            void *arg);

#endif

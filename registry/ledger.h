/* SPDX-License-Identifier: ISC */
/* ledger.h - the list of every id and name that was ever given out, outside the database. */
#ifndef ATELIER_LEDGER_H
#define ATELIER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

struct registry;

#define LEDGER_DIR_NAME  "ledger"
#define LEDGER_FILE_NAME "issued"

/* One line: this id was given out under this name. */
struct used {
    uint32_t id;
    bool is_group;
    char name[NAME_SIZE];
};

/* Can it be a line of ours: an id and a name that may be given out? */
bool used_is_valid(const struct used *used);

struct ledger {
    int dir_fd;
    int fd;            /* of the file */
    struct used *open; /* of the open change; owned */
    size_t open_count, open_room;
    bool is_behind; /* the file may lack what the database has */
};

/**
 * ledger_open() - Open the file, or make it
 *
 * Return: 0; -EPERM if it belongs to somebody else, is open to others or is no file of its own; or
 * a negative errno.
 */
int ledger_open(struct registry *reg);
void ledger_close(struct registry *reg);

/**
 * ledger_merge() - Note in the database as used what only the ledger has
 *
 * Inside an open change.
 *
 * Return: 0; -EBADMSG if a line is none, or -EEXIST if one contradicts the database, which
 * registry_error() names by its number; or a negative errno.
 */
int ledger_merge(struct registry *reg);

/**
 * ledger_agree() - Database and ledger both get what only the other one has, durably
 *
 * Return: as ledger_merge().
 */
int ledger_agree(struct registry *reg);

/* Remember for ledger_append(), inside an open change. Return: 0, -EBADMSG (not valid), -ENOMEM. */
int ledger_note(struct registry *reg, const struct used *used);

/* The open change is undone. */
void ledger_forget(struct registry *reg);

/**
 * ledger_append() - Write what the change that was just stored has given out, durably
 *
 * To be called after COMMIT and before anybody sees the ids. After a failure the next call writes
 * whatever is missing.
 *
 * Return: 0 or a negative errno.
 */
int ledger_append(struct registry *reg);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * index_rows.h - what the index is to say, kept in memory from one publication to the next.
 *
 * Reading 50,000 users from the database takes a hundred times longer than reading one. So the rows
 * stay, and a change names the ids that it concerns (change_touch()). Whoever is not sure forgets
 * them: then all are read again.
 */
#ifndef ATELIER_INDEX_ROWS_H
#define ATELIER_INDEX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/index_format.h"

struct registry;

/* What NSS says of one id. */
struct index_row {
    uint32_t *gids; /* supplementary ones of a user, ascending, owned; NULL: none */
    uint32_t hash;  /* index_hash() of the name */
    uint8_t gid_count;
    uint8_t kind;  /* enum index_kind */
    uint8_t shell; /* enum index_shell */
    char name[NAME_SIZE];
};

/* All of them. Zeroed memory is "forgotten", and what index_rows_read() fills. */
struct index_rows {
    struct index_row *v; /* INDEX_ENTRIES_MAX of them, from ID_ALLOC_MIN on; NULL if forgotten */
    size_t low, high;    /* rows below @low and from @high on are of INDEX_KIND_NONE */
};

/**
 * index_rows_read() - Read the rows of some ids anew, the open change included
 * @first: First id
 * @last:  Last id; 0 to UINT32_MAX are all, and find ids that must not be
 *
 * The registry is trusted, its file might be damaged: nothing gets to NSS unchecked.
 *
 * Return: 0; -EBADMSG for ids out of range, bad names and an id that is a user's and a group's;
 * -E2BIG for a user in too many groups; or another negative errno. After a failure they are not
 * what the database says, and have to be forgotten.
 */
int index_rows_read(struct registry *reg, struct index_rows *rows, uint32_t first, uint32_t last);

/* Set one row; @gids (ascending) are copied. Return: as above. */
int index_rows_set(struct index_rows *rows, uint32_t id, enum index_kind kind, uint8_t shell,
                   const char *name, const uint32_t *gids, size_t gid_count);

void index_rows_forget(struct index_rows *rows);

#endif

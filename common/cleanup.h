/* SPDX-License-Identifier: ISC */
/* cleanup.h - scope-bound release of descriptors and memory. */
#ifndef ATELIER_CLEANUP_H
#define ATELIER_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close_p(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void cleanup_free_p(void *p)
{
    free(*(void **)p);
}

/* The descriptor is closed, or the memory freed, when the variable leaves its scope. */
#define cleanup_close __attribute__((cleanup(cleanup_close_p)))
#define cleanup_free  __attribute__((cleanup(cleanup_free_p)))

/**
 * fd_take() - Move a descriptor out of a cleanup_close variable
 * @fd: Variable to empty; holds -1 afterwards
 *
 * Return: the descriptor, now owned by the caller.
 */
static inline int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif

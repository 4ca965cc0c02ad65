/* SPDX-License-Identifier: ISC */
/* lookup.c - the frame around one look-up: errno, cancellation, open index, caller's buffer. */
#include "nss_module/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "common/banned.h"

/* Compiled in; only the copy of this module that the tests load has another one. */
#ifndef NSS_INDEX_DIR
#define NSS_INDEX_DIR ATELIER_STATE_DIR "/" INDEX_DIR_NAME
#endif

_Static_assert(__atomic_always_lock_free(sizeof(uint32_t), 0), "the cursors need no lock");

int lookup_begin(struct lookup *l)
{
    int r;

    l->errno_before = errno;
    /* open and pread are cancellation points; a thread that ended here would leave the file open.
     */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &l->cancel_before);
    r = index_open(NSS_INDEX_DIR, &l->index);
    l->is_open = r == 0;
    return r;
}

/*
 * The errno of an outage. getpwnam_r(3) lists ENOENT, ESRCH, EBADF and EPERM as "not found": right
 * for a host without an index, wrong for one whose index is refused. ERANGE would make callers
 * grow their buffers for ever.
 */
static int outage_errno(int error)
{
    switch (error) {
    case EPERM:
    case ESRCH:
    case EBADF:
    case ERANGE:
        return EIO;
    default:
        return error;
    }
}

enum nss_status lookup_end(struct lookup *l, int r, int *errnop)
{
    bool was_open = l->is_open;

    if (was_open)
        index_close(&l->index);
    (void)pthread_setcancelstate(l->cancel_before, NULL);
    errno = l->errno_before;
    if (r == 0)
        return NSS_STATUS_SUCCESS;
    if (was_open && r == -ENOENT)
        return NSS_STATUS_NOTFOUND;
    if (was_open && r == -ERANGE) {
        *errnop = ERANGE;
        return NSS_STATUS_TRYAGAIN;
    }
    *errnop = outage_errno(-r);
    return NSS_STATUS_UNAVAIL;
}

char *room_string(struct room *room, const char *head, const char *tail)
{
    size_t head_n = strlen(head), tail_n = strlen(tail) + 1;
    char *string = room->at;

    if (head_n >= room->left || tail_n > room->left - head_n)
        return NULL;
    memcpy(string, head, head_n);
    memcpy(string + head_n, tail, tail_n);
    room->at += head_n + tail_n;
    room->left -= head_n + tail_n;
    return string;
}

char **room_pointers(struct room *room, size_t n)
{
    size_t skip = -(uintptr_t)room->at % _Alignof(char *);
    char **pointers;

    if (skip > room->left || n > (room->left - skip) / sizeof(*pointers))
        return NULL;
    pointers = (char **)(void *)(room->at + skip);
    memset(pointers, 0, n * sizeof(*pointers));
    room->at += skip + n * sizeof(*pointers);
    room->left -= skip + n * sizeof(*pointers);
    return pointers;
}

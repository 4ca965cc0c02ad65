/* SPDX-License-Identifier: ISC */
/* status.c - words for how a request or a run came out. */
#include "sessiond/api/status.h"

#include <stddef.h>

#include "common/banned.h"

const char *status_key(enum status status)
{
    static const char *const keys[STATUS__COUNT] = {
#define STATUS_KEY(id, key) [STATUS_##id] = key,
        STATUSES(STATUS_KEY)
#undef STATUS_KEY
    };

    return (size_t)status < STATUS__COUNT ? keys[status] : "internal";
}

/* SPDX-License-Identifier: ISC */
/* sabotage.c - the switchboard of the sabotage builds; in no library and no shipped program. */
#include "common/sabotage.h"

#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

bool sabotage_enabled(const char *name)
{
    const char *list = secure_getenv("ATELIER_SABOTAGE");
    size_t len = strlen(name);

    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (n == len && memcmp(list, name, n) == 0)
            return true;
        list += n;
        if (*list == ',')
            list++;
    }
    return false;
}

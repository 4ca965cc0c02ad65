/* SPDX-License-Identifier: ISC */
/* sabotage.c - the conditions that can be taken out; in no library and no shipped program. */
#include "registry/sabotage.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/sabotage.h"

#include "common/banned.h"

#define SQL_ROOM 4096

static const struct {
    const char *name;
    enum stmt_id id;
    const char *condition, *instead;
} cuts[] = {
    {"link-single-use", STMT_LINK_CONSUME, " AND used_s = 0", ""},
    {"link-purpose", STMT_LINK_CONSUME, " AND purpose IN ('any', ?3)", ""},
    {"link-user", STMT_LINK_CONSUME, "users.name = ?2", "users.uid = links.uid"},
    {"link-lock", STMT_LINK_CONSUME, " AND users.state IN ('reserved', 'active')", ""},
};

const char *sabotage_sql(enum stmt_id id, const char *sql)
{
    static char texts[2][SQL_ROOM];
    unsigned next = 0;

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        const char *at;
        int n;

        if (cuts[i].id != id || !sabotage_enabled(cuts[i].name))
            continue;
        at = strstr(sql, cuts[i].condition);
        /* The statement was written anew: a row of tests/sabotage would prove nothing. */
        assert(at);
        n = snprintf(texts[next], SQL_ROOM, "%.*s%s%s", (int)(at - sql), sql, cuts[i].instead,
                     at + strlen(cuts[i].condition));
        assert(n > 0 && n < SQL_ROOM);
        sql = texts[next];
        next ^= 1;
    }
    return sql;
}

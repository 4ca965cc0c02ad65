/* SPDX-License-Identifier: ISC */
/* request.c - checks of fields that come from the api or from a login. */
#include "sessiond/monitor/request.h"

#include <string.h>

#include "common/ids.h"

#include "common/banned.h"

bool request_id_is_valid(const char id[WIRE_SESSION_ID_SIZE])
{
    for (size_t i = 0; i < WIRE_SESSION_ID_SIZE; i++) {
        bool hex = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f');

        if (i < 32 ? !hex : id[i] != '\0')
            return false;
    }
    return true;
}

bool request_groups_are_valid(uint32_t gid, const struct wire_group groups[WIRE_GROUPS_MAX],
                              uint32_t count)
{
    if (count >= WIRE_GROUPS_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct wire_group *g = &groups[i];

        if (!id_is_allocatable(g->gid) || g->gid == gid ||
            !name_is_valid_n(g->name, sizeof(g->name)))
            return false;
        for (uint32_t k = 0; k < i; k++) {
            if (groups[k].gid == g->gid)
                return false;
        }
    }
    return true;
}

bool request_shell_is_valid(const char shell[WIRE_PATH_SIZE])
{
    const char *end = memchr(shell, '\0', WIRE_PATH_SIZE);

    if (!end || (shell[0] && shell[0] != '/'))
        return false;
    for (const char *p = shell; p < end; p++) {
        if (*p <= 0x20 || *p > 0x7e || *p == ':')
            return false;
    }
    return true;
}

bool request_mode_is_met(uint32_t wanted, enum wire_cgroup_mode have)
{
    return wanted <= (uint32_t)have;
}

bool request_text_take(const char *field, char *ret_dst, size_t size)
{
    const char *end = memchr(field, '\0', size);

    if (!end)
        return false;
    for (const char *p = field; p < end; p++) {
        if (*p < 0x20 || *p > 0x7e)
            return false;
    }
    str_cut(ret_dst, size, field);
    return true;
}

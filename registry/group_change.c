/* SPDX-License-Identifier: ISC */
/* group_change.c - what the administrator changes about groups. */
#include <errno.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

int group_rename(struct registry *reg, uint32_t gid, const char *name, registry_taken_fn taken,
                 void *arg)
{
    (void)gid, (void)name, (void)taken, (void)arg;
    return registry_fail(reg, -ENOSYS, "rename a group");
}

int group_delete(struct registry *reg, uint32_t gid)
{
    (void)gid;
    return registry_fail(reg, -ENOSYS, "delete a group");
}

int group_members_change(struct registry *reg, uint32_t gid, enum user_groups_how how,
                         const uint32_t *uids, size_t n)
{
    (void)gid, (void)how, (void)uids, (void)n;
    return registry_fail(reg, -ENOSYS, "change the members of a group");
}

int group_member_list(struct registry *reg, uint32_t gid, user_fn fn, void *arg)
{
    (void)gid, (void)fn, (void)arg;
    return registry_fail(reg, -ENOSYS, "list the members of a group");
}

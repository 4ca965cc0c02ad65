/* SPDX-License-Identifier: ISC */
/* backup.c - copies of the registry, and back. */
#include <errno.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

int registry_backup(struct registry *reg, struct registry_backup *ret_backup)
{
    (void)ret_backup;
    return registry_fail(reg, -ENOSYS, "back up the registry");
}

int registry_restore(struct registry *reg, bool is_rehearsal, user_fn gone, void *arg,
                     struct registry_restored *ret_restored)
{
    (void)is_rehearsal, (void)gone, (void)arg, (void)ret_restored;
    return registry_fail(reg, -ENOSYS, "restore the registry");
}

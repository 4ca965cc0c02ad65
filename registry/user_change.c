/* SPDX-License-Identifier: ISC */
/* user_change.c - what the administrator changes about people, and how they go. */
#include <errno.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

int user_create_batch(struct registry *reg, const struct user_spec *specs, size_t n,
                      bool is_rehearsal, registry_taken_fn taken, void *arg, struct user *ret_users,
                      enum user_verdict *ret_verdicts, size_t *ret_bad)
{
    (void)specs, (void)n, (void)is_rehearsal, (void)taken, (void)arg, (void)ret_users;
    (void)ret_verdicts, (void)ret_bad;
    return registry_fail(reg, -ENOSYS, "create users");
}

int user_change(struct registry *reg, uint32_t uid, const struct user_change *change,
                const char **ret_what, enum user_change_verdict *ret_verdict)
{
    (void)uid, (void)change, (void)ret_what, (void)ret_verdict;
    return registry_fail(reg, -ENOSYS, "change a user");
}

int user_delete(struct registry *reg, uint32_t uid, uint32_t *ret_links_revoked)
{
    (void)uid, (void)ret_links_revoked;
    return registry_fail(reg, -ENOSYS, "delete a user");
}

/* SPDX-License-Identifier: ISC */
/*
 * policy_load.c - the policy that sessiond goes by.
 *
 * The api, which refuses what is above a maximum, does not read the files of /etc: between a change
 * and the reload they say what is not so yet. It reads POLICY_IN_FORCE, which is written here,
 * whole and renamed, before this process goes by it.
 */
#include "sessiond/monitor/policy_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SHOWN_NEW POLICY_IN_FORCE ".new"

static int show_text(const struct policy *policy, char **ret_text, size_t *ret_size)
{
    FILE *f = open_memstream(ret_text, ret_size);
    int r;

    if (!f)
        return -ENOMEM;
    r = policy_show(policy, f);
    if (fclose(f) != 0)
        r = -ENOMEM;
    return r;
}

static int show(const struct policy *policy)
{
    cleanup_free char *text = NULL;
    cleanup_close int fd = -1;
    size_t size = 0;
    int r = show_text(policy, &text, &size);

    if (r < 0)
        return r;
    if (unlink(SHOWN_NEW) < 0 && errno != ENOENT)
        return -errno;
    fd = open(SHOWN_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, text, size);
    /* Everybody's to read, whatever the umask is. */
    if (r == 0 && (fchmod(fd, 0644) < 0 || rename(SHOWN_NEW, POLICY_IN_FORCE) < 0))
        r = -errno;
    if (r < 0)
        (void)unlink(SHOWN_NEW);
    return r;
}

int policy_load(struct monitor *m, struct config_error *ret_e)
{
    struct policy *policy = malloc(sizeof(*policy));
    int r;

    if (!policy) {
        (void)snprintf(ret_e->text, sizeof(ret_e->text), "%s", strerrordesc_np(ENOMEM));
        return -ENOMEM;
    }
    r = config_read(config_dir, 0, policy, ret_e);
    if (r == 0) {
        r = show(policy);
        if (r < 0)
            (void)snprintf(ret_e->text, sizeof(ret_e->text), POLICY_IN_FORCE ": %s",
                           strerrordesc_np(-r));
    }
    if (r < 0) {
        free(policy);
        return r;
    }
    free((void *)(uintptr_t)m->policy);
    m->policy = policy;
    return 0;
}

void policy_limits_look(const struct monitor *m)
{
    uint32_t kept = cgroup_limits(m->cgroup);

    for (uint32_t i = 0; i < m->policy->count; i++) {
        const struct policy_profile *p = &m->policy->profiles[i];
        char limits[POLICY_LIMITS_SIZE];

        if ((p->required & ~kept) == 0)
            continue;
        policy_limits_text(p->required & ~kept, limits);
        log_error("no control group here limits what the policy requires: nothing starts "
                  "profile=%s required=\"%s\"",
                  p->name, limits);
    }
}

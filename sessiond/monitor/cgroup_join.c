/* SPDX-License-Identifier: ISC */
/* cgroup_join.c - how a new init gets into its control groups. */
#include "sessiond/monitor/cgroup_join.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "common/sabotage.h"

#include "common/banned.h"

bool cgroup_is_entered_by_clone(const struct spawn_request *req)
{
    bool is_v2 = req->cgroup_mode == WIRE_CGROUP_V2 || req->cgroup_mode == WIRE_CGROUP_V2_LITE;

    return is_v2 && req->cgroup_fds > 0 && !SABOTAGED("cgroup");
}

bool cgroup_is_entered_by_init(const struct spawn_request *req)
{
    return req->cgroup_mode == WIRE_CGROUP_V1 || req->cgroup_mode == WIRE_CGROUP_V2_LITE;
}

/* Of how many groups the init has to write itself into the file. */
static uint32_t files_count(const struct spawn_request *req)
{
    return req->cgroup_mode == WIRE_CGROUP_V2_LITE ? req->cgroup_fds - 1 : req->cgroup_fds;
}

int cgroup_join(const struct spawn_request *req, const int groups[], const char **ret_what)
{
    bool steps_in = cgroup_is_entered_by_init(req);
    int r = 0;

    *ret_what = "cgroup.procs";
    for (uint32_t i = 0; i < req->cgroup_fds; i++) {
        /* 0 stands for the writer, whatever its number is in whichever namespace. */
        if (steps_in && i < files_count(req) && !SABOTAGED("cgroup") &&
            write(groups[i], "0", 1) != 1)
            r = -errno;
        (void)close(groups[i]);
    }
    if (r < 0 || !steps_in || SABOTAGED("cgroupns"))
        return r;
    *ret_what = "cgroup namespace";
    return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

/* SPDX-License-Identifier: ISC */
/* quota.c - the user quota of a file system, asked and set by a descriptor in it. */
#include "common/quota.h"

#include <errno.h>
#include <linux/dqblk_xfs.h>
#include <linux/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/banned.h"

#define KIB 1024u /* QIF_DQBLKSIZE: the unit of limits, whatever the file system's blocks are */

static int quota_call(int fd, unsigned cmd, uint32_t uid, void *arg)
{
    if (syscall(SYS_quotactl_fd, fd, QCMD(cmd, (unsigned)USRQUOTA), uid, arg) < 0)
        return -errno;
    return 0;
}

int quota_check(int fd)
{
    /* The one call that tells enforcing from counting; the kernel answers it for ext4, too. */
    struct fs_quota_stat st = {.qs_version = FS_QSTAT_VERSION};
    const unsigned both = FS_QUOTA_UDQ_ACCT | FS_QUOTA_UDQ_ENFD;
    int r = quota_call(fd, Q_XGETQSTAT, 0, &st);

    /* ENOSYS: no quota here, or no such call. ESRCH: none that is on. ENOTSUP, EINVAL: likewise. */
    if (r == -ENOSYS || r == -ESRCH || r == -EOPNOTSUPP || r == -EINVAL || r == -ENOTBLK)
        return -EOPNOTSUPP;
    if (r < 0)
        return r;
    return (st.qs_flags & both) == both ? 0 : -EOPNOTSUPP;
}

int quota_get(int fd, uint32_t uid, struct quota *ret_quota)
{
    struct if_dqblk dq = {0};
    int r = quota_call(fd, Q_GETQUOTA, uid, &dq);

    /* XFS has no record of a user who has nothing. */
    if (r == -ENOENT)
        r = 0;
    if (r < 0)
        return r;
    *ret_quota = (struct quota){
        .limit_bytes = dq.dqb_bhardlimit * KIB,
        .limit_files = dq.dqb_ihardlimit,
        .used_bytes = dq.dqb_curspace,
        .used_files = dq.dqb_curinodes,
    };
    return 0;
}

int quota_set(int fd, uint32_t uid, uint64_t bytes, uint64_t files)
{
    struct if_dqblk dq = {
        .dqb_bhardlimit = (bytes + KIB - 1) / KIB,
        .dqb_ihardlimit = files,
        .dqb_valid = QIF_LIMITS,
    };

    return quota_call(fd, Q_SETQUOTA, uid, &dq);
}

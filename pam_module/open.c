/* SPDX-License-Identifier: ISC */
/* open.c - the login's side of session.sock: OPEN, LEASE, CLOSE. */
#include "pam_module/open.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/banned.h"

/* A user namespace would take the real UID away, which the network rules need. */
#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)
#define NAMESPACES_LEAST (CLONE_NEWNS | CLONE_NEWPID)

static struct session_head head_of(enum session_type type, size_t size)
{
    return (struct session_head){
        .version = SESSION_WIRE_VERSION, .type = type, .size_bytes = (uint32_t)size};
}

/* Return: 0, -EACCES or -ENOTSUP (a limit) for DENIED, -EPROTO if it is not a @type of @size bytes.
 */
static int head_check(const struct session_head *head, size_t n, enum session_type type,
                      size_t size)
{
    if (n < sizeof(*head) || head->version != SESSION_WIRE_VERSION || head->size_bytes != n)
        return -EPROTO;
    if (head->type == SESSION_DENIED && n == sizeof(*head))
        return head->reserved == SESSION_DENIED_LIMIT ? -ENOTSUP : -EACCES;
    return head->type == type && n == size ? 0 : -EPROTO;
}

static bool is_session_id(const char id[WIRE_SESSION_ID_SIZE])
{
    for (size_t i = 0; i < WIRE_SESSION_ID_SIZE; i++) {
        bool is_hex = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f');

        if (i < 32 ? !is_hex : id[i] != '\0')
            return false;
    }
    return true;
}

static bool is_probe_name(const char *name, size_t size)
{
    size_t len = strnlen(name, size);

    return len > 0 && len < size;
}

/*
 * Signal 0 to what is not a pidfd is EBADF. The directory of a process in /proc passes for one
 * (pidfd_send_signal(2)), and a directory in a login's process is a way out of every session.
 */
static int pidfd_check(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
        return -EPROTO;
    if (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0u) == 0)
        return 0;
    return errno == ESRCH ? -ESRCH : -EPROTO;
}

int open_check(const struct session_opened *opened, size_t n, const struct msg_extra *extra)
{
    int r = head_check(&opened->head, n, SESSION_OPENED, sizeof(*opened));

    if (r < 0)
        return r;
    if ((opened->setns_flags & NAMESPACES_LEAST) != NAMESPACES_LEAST ||
        (opened->setns_flags & ~(uint32_t)NAMESPACES) != 0)
        return -EPROTO;
    if (opened->has_landlock > 1 || extra->nfds != 1 + opened->has_landlock)
        return -EPROTO;
    if (opened->has_landlock && !is_probe_name(opened->probe_name, sizeof(opened->probe_name)))
        return -EPROTO;
    if (opened->filter_count < 1 || opened->filter_count > SESSION_FILTER_MAX ||
        opened->rlimit_count > SESSION_RLIMITS_MAX || !is_session_id(opened->session_id))
        return -EPROTO;
    for (uint32_t i = 0; i < opened->rlimit_count; i++) {
        if (opened->rlimits[i].resource < 0 || opened->rlimits[i].resource >= (int)RLIM_NLIMITS)
            return -EPROTO;
    }
    return pidfd_check(extra->fds[SESSION_FD_INIT]);
}

int open_at(const char *path, int timeout_ms, struct session_open *request, struct talk *ret_talk,
            struct session_opened *ret_opened, struct open_fds *ret_fds)
{
    struct msg_extra extra = {0};
    struct talk talk = TALK_CLOSED;
    size_t n = 0;
    int r;

    request->head = head_of(SESSION_OPEN, sizeof(*request));
    r = talk_open(path, timeout_ms, &talk);
    if (r == 0)
        r = talk_send(&talk, request, sizeof(*request));
    if (r == 0)
        r = talk_recv(&talk, ret_opened, sizeof(*ret_opened), &n, &extra);
    if (r == 0)
        r = open_check(ret_opened, n, &extra);
    if (r < 0) {
        msg_extra_done(&extra);
        talk_close(&talk);
        return r;
    }
    *ret_talk = talk;
    ret_fds->init = extra.fds[SESSION_FD_INIT];
    ret_fds->landlock = ret_opened->has_landlock ? extra.fds[SESSION_FD_LANDLOCK] : -1;
    return 0;
}

int open_lease(struct talk *t, int timeout_ms, bool is_scoped)
{
    struct session_lease lease = {.head = head_of(SESSION_LEASE, sizeof(lease)),
                                  .is_scoped = is_scoped};
    struct session_head answer = {0};
    struct msg_extra extra = {0};
    size_t n = 0, nfds;
    int r;

    talk_limit(t, timeout_ms);
    r = talk_send(t, &lease, sizeof(lease));
    if (r == 0)
        r = talk_recv(t, &answer, sizeof(answer), &n, &extra);
    nfds = extra.nfds;
    msg_extra_done(&extra);
    if (r == 0)
        r = head_check(&answer, n, SESSION_LEASED, sizeof(answer));
    return r == 0 && nfds > 0 ? -EPROTO : r;
}

void open_farewell(int sock)
{
    struct session_head head = head_of(SESSION_CLOSE, sizeof(head));

    (void)msg_send(sock, &head, sizeof(head), NULL, 0);
}

void open_fds_close(struct open_fds *fds)
{
    if (fds->init >= 0)
        (void)close(fds->init);
    if (fds->landlock >= 0)
        (void)close(fds->landlock);
    *fds = OPEN_FDS_NONE;
}

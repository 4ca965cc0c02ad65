/* SPDX-License-Identifier: ISC */
/*
 * session.c - the login's session: opened by sessiond, joined here, closed here.
 *
 * Theory of operation. open_session asks sessiond for a session (OPEN), gets namespaces that stand
 * and wait, joins them and confines itself (join.c), and tells sessiond (LEASE), which looks at
 * /proc and says LEASED. Before LEASED nothing may go on: sshd treats a failed open_session as "no
 * shell, no forwarding", and so must every other caller.
 *
 * The connection is what ties the session to the login. It is kept in the module's data, the only
 * descriptor of ours that stays, and a socket: sshd's part that belongs to the participant has a
 * copy of it, which can end its own session and nothing else. It is the way to say CLOSE, because
 * the path of session.sock is not in the session's tree.
 *
 * What is kept is allocated before OPEN: after the join nothing that can fail for want of memory is
 * left. From the join on there is no way back; whatever fails then, the connection is closed,
 * sessiond kills the namespaces, and this transaction never opens a session again.
 */
#include <errno.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "pam_module/cage.h"
#include "pam_module/field.h"
#include "pam_module/join.h"
#include "pam_module/open.h"
#include "pam_module/options.h"
#include "pam_module/prompt.h"
#include "pam_module/session.h"
#include "pam_module/who.h"

#include "common/banned.h"

#define DATA_NAME  "atelier_session"
#define VARIABLE   "ATELIER_SESSION="
#define STEP_OPEN  "open"
#define STEP_STORE "store"
/* Time for the one sentence that is left to say. */
#define REFUSED_S 5

struct kept {
    struct talk talk; /* closed: no session, or not any more */
    dev_t dev;        /* what the descriptor was: a host may have closed it behind our back, */
    ino_t ino;        /* and given the number to something of its own */
    bool is_spent;    /* this process has joined once */
};

static bool kept_is_open(const struct kept *kept)
{
    struct stat st;

    return kept->talk.sock >= 0 && fstat(kept->talk.sock, &st) == 0 && S_ISSOCK(st.st_mode) &&
           st.st_dev == kept->dev && st.st_ino == kept->ino;
}

static void kept_close(struct kept *kept)
{
    if (kept_is_open(kept))
        talk_close(&kept->talk);
    kept->talk = TALK_CLOSED;
}

/* pam_end(3), in a forked child of the host too: the copy of the connection is closed, no word
 * said. */
static void kept_free(pam_handle_t *pamh, void *data, int status)
{
    (void)pamh;
    (void)status;
    if (data)
        kept_close(data);
    free(data);
}

static struct kept *kept_get(const pam_handle_t *pamh)
{
    const void *data = NULL;

    if (pam_get_data(pamh, DATA_NAME, &data) != PAM_SUCCESS)
        return NULL;
    return (struct kept *)(uintptr_t)data; /* ours; libpam only lends it as const */
}

/* Return: what this transaction keeps, made if it was not there; NULL without memory. */
static struct kept *kept_make(pam_handle_t *pamh)
{
    struct kept *kept = kept_get(pamh);

    if (kept)
        return kept;
    kept = calloc(1, sizeof(*kept));
    if (!kept)
        return NULL;
    kept->talk = TALK_CLOSED;
    if (pam_set_data(pamh, DATA_NAME, kept, kept_free) != PAM_SUCCESS) {
        free(kept);
        return NULL;
    }
    return kept;
}

/* Return: 0, or a negative errno; the connection is ours either way. */
static int kept_talk(struct kept *kept, const struct talk *talk)
{
    struct stat st;

    kept->talk = *talk;
    if (fstat(talk->sock, &st) < 0)
        return -errno;
    kept->dev = st.st_dev;
    kept->ino = st.st_ino;
    return 0;
}

static int session_env(pam_handle_t *pamh, const struct session_opened *opened)
{
    char variable[sizeof(VARIABLE) + WIRE_SESSION_ID_SIZE];

    (void)snprintf(variable, sizeof(variable), VARIABLE "%s", opened->session_id);
    return pam_putenv(pamh, variable) == PAM_SUCCESS ? 0 : -ENOMEM;
}

/**
 * session_open() - OPEN, join, LEASE
 * @kept:     Gets the connection, and is_spent
 * @opened:   Room for the answer
 * @ret_step: What failed, static text; set only on failure
 *
 * Return: 0 or a negative errno.
 */
static int session_open(pam_handle_t *pamh, const struct options *options, const struct who *who,
                        struct kept *kept, struct session_opened *opened, const char **ret_step)
{
    struct session_open request = {.uid = who->uid};
    struct open_fds fds = OPEN_FDS_NONE;
    struct talk talk = TALK_CLOSED;
    enum join_step step = JOIN_STEP_LEASE;
    bool is_scoped = false;
    int r;

    field_item(pamh, PAM_SERVICE, request.service, sizeof(request.service));
    field_item(pamh, PAM_TTY, request.tty, sizeof(request.tty));
    field_item(pamh, PAM_RHOST, request.rhost, sizeof(request.rhost));
    *ret_step = STEP_OPEN;
    r = open_at(SESSION_OPEN_PATH, SESSION_OPEN_MS, &request, &talk, opened, &fds);
    if (r < 0)
        return r;
    *ret_step = STEP_STORE;
    r = kept_talk(kept, &talk);
    if (r == 0)
        r = session_env(pamh, opened);
    if (r < 0) {
        open_fds_close(&fds);
        return r;
    }
    r = join_enter(options, opened, &fds, &step, &kept->is_spent, &is_scoped);
    if (r == 0 && !SKIPPED(options, LEASE))
        r = open_lease(&kept->talk, SESSION_OPEN_MS, is_scoped);
    *ret_step = join_step_key(step);
    return r;
}

/* With "only" the host is our sshd, which would go on. Others are trusted to stop. */
static int session_refuse(const struct options *options)
{
    if (options->is_only)
        cage_enter();
    return PAM_SESSION_ERR;
}

int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct session_opened *opened = NULL;
    const char *step = STEP_STORE;
    struct options options;
    struct kept *kept;
    struct who who;
    int r = -ENOMEM;

    options_read(pamh, argc, argv, &options);
    who_get(pamh, &who);
    if (!who.is_ours)
        return options.is_only ? session_refuse(&options) : PAM_IGNORE;
    kept = kept_make(pamh);
    if (kept && (kept->is_spent || kept_is_open(kept))) {
        pam_syslog(pamh, LOG_ERR, "open_session a second time uid=%u", who.uid);
        /* The first one may live: its process is confined already. */
        return kept_is_open(kept) ? PAM_SESSION_ERR : session_refuse(&options);
    }
    if (kept)
        opened = malloc(sizeof(*opened));
    if (opened)
        r = session_open(pamh, &options, &who, kept, opened, &step);
    free(opened);
    if (r == 0)
        return PAM_SUCCESS;
    if (kept)
        kept_close(kept);
    errno = -r;
    pam_syslog(pamh, LOG_ERR, "cannot open the session uid=%u step=%s: %m", who.uid, step);
    prompt_tell(pamh, flags,
                strcmp(step, STEP_OPEN) == 0 && r == -ENOTSUP ? SAY_NO_LIMIT : SAY_NO_SESSION);
    return session_refuse(&options);
}

void session_limit_refused(const pam_handle_t *pamh)
{
    const struct kept *kept = kept_get(pamh);

    if (kept && !kept_is_open(kept))
        (void)alarm(REFUSED_S);
}

/*
 * In the session's tree, as a process without /proc/self, that can perhaps not fork any more: no
 * name, no path and no child is needed. It does not wait for anything either: sshd reaps the
 * participant's process only after this, and sessiond cannot end the namespace before that.
 */
int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct kept *kept = kept_get(pamh);
    struct options options;

    (void)flags;
    options_read(pamh, argc, argv, &options);
    if (!kept)
        return options.is_only ? PAM_SUCCESS : PAM_IGNORE;
    if (kept_is_open(kept))
        open_farewell(kept->talk.sock);
    kept_close(kept);
    return PAM_SUCCESS;
}

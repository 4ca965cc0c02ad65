/* SPDX-License-Identifier: ISC */
/* jobs.h - what cron and at would run later, and for whom: their spools on this host. */
#ifndef ATELIER_CTL_DOCTOR_JOBS_H
#define ATELIER_CTL_DOCTOR_JOBS_H

#include <sys/types.h>

#define JOBS_CRONTAB "/usr/bin/crontab"
#define JOBS_AT      "/usr/bin/at"

/* Where Debian's cron and at keep them; both programs write there by an id that they are set to. */
#define JOBS_CRONTABS_DIR "/var/spool/cron/crontabs"
#define JOBS_AT_DIR       "/var/spool/cron/atjobs"
#define JOBS_AT_SPOOL_DIR "/var/spool/cron/atspool" /* output of jobs */

/**
 * jobs_each() - Every crontab of a user, and every job of at
 * @one: @name is whose crontab it is, NULL for a job of at; @uid owns the file
 *
 * Return: 0 (also where there is no spool), or a negative errno.
 */
int jobs_each(void (*one)(void *arg, const char *path, const char *name, uid_t uid), void *arg);

#endif

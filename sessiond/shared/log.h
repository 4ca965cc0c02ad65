/* SPDX-License-Identifier: ISC */
/*
 * log.h - one line per event on standard error, for both daemons.
 *
 * error: someone's request failed because of us. warning: went on all the same. notice: login,
 * token, denied. info: life cycle. Foreign bytes are escaped; the tail is key=value; no secret is
 * ever passed in. Under systemd (JOURNAL_STREAM) lines carry the <N> priority prefix.
 */
#ifndef ATELIER_SESSIOND_LOG_H
#define ATELIER_SESSIOND_LOG_H

enum log_level {
    LOG_LEVEL_ERROR = 3, /* the numbers of syslog(3) */
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
};

/* Name in front of each line, and the prefix choice; call once, before anything is logged. */
void log_init(const char *program);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)

#endif

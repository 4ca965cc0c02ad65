/* SPDX-License-Identifier: ISC */
/*
 * step.h - the steps of atelier setup, and what they share.
 *
 * Every step looks first and says what it would do (plan), which changes nothing. Only when no step
 * has refused, apply is called for those that have something to do, in order; undo goes through all
 * of them in reverse. A step that is applied twice finds nothing to do.
 */
#ifndef ATELIER_CTL_SETUP_STEP_H
#define ATELIER_CTL_SETUP_STEP_H

#include <stdint.h>

#include "ctl/setup/complaint.h"
#include "ctl/setup/record.h"
#include "ctl/setup/resolvers.h"

#define SETUP_DIR ATELIER_STATE_DIR "/setup"
#define SETUP_KEPT                                                                                 \
    ATELIER_STATE_DIR "/kept" /* what --undo takes out of /etc, and setup puts back */

#define SETUP_PORT 2222u /* in /etc/atelier/sshd_config as it is shipped */

struct setup_options {
    bool is_dry_run, is_undo, is_yes, is_purge;
    const char *link_base; /* or NULL */
    uint32_t port;         /* 0: as it is */
    const char *resolvers[RESOLVERS_MAX];
    size_t resolver_count;
    bool is_resolver_none; /* asked for, instead of any */
};

struct setup {
    const struct setup_options *options;
    struct record record;
    FILE *out;                /* where the plan goes */
    size_t planned;           /* lines of the plan so far */
    size_t refusals;          /* reasons not to begin */
    bool is_restart;          /* options of running services change */
    bool is_sessiond_restart; /* sessiond's, too: its restart ends runs */
};

struct step {
    const char *name;
    void (*plan)(struct setup *s);
    /* NULL: nothing to do. Return: 0, or negative and it has been said why. */
    int (*apply)(struct setup *s);
    int (*undo)(struct setup *s);
};

extern const struct step step_host, step_ids, step_limits, step_host_sshd, step_pam,
    step_user_manager, step_accounts, step_nsswitch, step_options, step_keys, step_firewall,
    step_services;

/* One line of the plan: this will be done. */
void plan_say(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something to know, in the plan or while undoing; nothing to do. */
void note_say(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A reason not to begin, with what to do about it. */
void refuse(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A step failed. Return: -1. */
int step_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- files that we edit -------------------------------------------------------------------- */

struct edit {
    const char *step, *path;
    const char *why; /* line of the plan */
    mode_t mode;     /* of a new file */

    /* A file that is all ours: where it is shipped. The two functions are not asked then. */
    const char *shipped;

    /**
     * Make the text as it should be
     * @ret_new: Owned by the caller
     *
     * Return: 0, -ENOENT if there is nothing to edit here, -EINVAL with @ret_why.
     */
    int (*make)(struct setup *s, const struct text *now, struct text *ret_new,
                struct complaint *ret_why);

    /**
     * Take what is ours out of a text that others changed since
     * @ret_text: Owned by the caller; without bytes: the file goes
     * @ret_left: What stays although we wrote it, or NULL; static
     */
    void (*take_out)(const struct text *now, const struct entry *entry, struct text *ret_text,
                     const char **ret_left);
};

void edit_plan(struct setup *s, const struct edit *edit);
int edit_apply(struct setup *s, const struct edit *edit);
int edit_undo(struct setup *s, const struct edit *edit);

/* Whether the file is as it should be. */
bool edit_is_done(struct setup *s, const struct edit *edit);

/* A file's text from our own tree (/usr/share/atelier). Return: 0, or -1 and it was said. */
int shipped_read(const char *path, struct text *ret);

/* --- files that programs change for us ----------------------------------------------------- */

/* Remember them as they are, unless there is an older memory. Return: 0, or -1 and it was said. */
int tracked_before(struct setup *s, const char *step, const char *const *paths);

/* What the program made of them. Return: 0, or -1 and it was said. */
int tracked_after(struct setup *s, const char *step, const char *const *paths);

/* Whether all of them are still as the program left them, or as they were before it. */
bool tracked_are_ours(struct setup *s, const char *const *paths);

/**
 * tracked_restore() - Bring the old bytes back where the file is as the program left it
 *
 * Others stay as they are. The entries are dropped. Return: 0, or -1 and it was said.
 */
int tracked_restore(struct setup *s, const char *const *paths);

/* Remove the directories that the step made, if they are empty. */
int directories_undo(struct setup *s, const char *step);

/* --- programs ------------------------------------------------------------------------------- */

/* Run a program that has to succeed. Return: 0, or -1 and it was said what it said. */
int must_run(const char *const *argv, unsigned timeout_s);

/* Whether a unit is in the state that `systemctl VERB --quiet UNIT` asks for. */
bool unit_is(const char *verb, const char *unit);

#endif

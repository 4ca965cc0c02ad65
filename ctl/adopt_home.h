/* SPDX-License-Identifier: ISC */
/* adopt_home.h - the home of an adopted account: where it goes, and whose it becomes. */
#ifndef ATELIER_CTL_ADOPT_HOME_H
#define ATELIER_CTL_ADOPT_HOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct adopt_ids {
    uint32_t old_uid, old_gid, uid; /* the new gid is the new uid */
};

/* What a home was before it was touched, so that it is known again after a crash. No device number:
 * it may be another one after a restart. */
struct home_mark {
    uint64_t ino; /* 0: nothing is known */
    uint32_t mode;
};

/**
 * adopt_home_look() - What a home is
 *
 * Return: 0, -ENOENT, -EPERM for one of neither UID, -ENOTDIR or -ELOOP for anything else than a
 * directory, or another errno.
 */
int adopt_home_look(const char *path, const struct adopt_ids *ids, struct home_mark *ret_mark);

/* Whether the directory that was looked at is there now. */
bool adopt_home_is(const char *path, const struct home_mark *mark);

/**
 * adopt_home_close() - Take a home from its owner, until adopt_home_own() gives it away
 * @mark: Of adopt_home_look(), stored already: a home that is root's is known by it alone
 *
 * Root's, mode 0700: whoever gets the old UID next does not get what is in it.
 *
 * Return: 0, or as adopt_home_look().
 */
int adopt_home_close(const char *path, const struct adopt_ids *ids, const struct home_mark *mark);

/**
 * adopt_home_move() - Move a home below the parent of the homes
 * @home:    Absolute path of the account's home
 * @homes:   Parent of the homes
 * @name:    Of the user: the home becomes @homes/@name, mode 0700
 * @ids:     The home has to belong to one of the two UIDs
 * @mark:    Or to be this one, and closed
 * @ret_why: If it is not moved, a sentence with what to do, heap
 *
 * Nothing happens to a home that is not a directory of the account in a directory that root alone
 * can change, and nothing that is there already is replaced. A home that is where it belongs is
 * well.
 *
 * Return: 0, -ENOENT if there is no home (without a sentence), or another errno.
 */
int adopt_home_move(const char *home, const char *homes, const char *name,
                    const struct adopt_ids *ids, const struct home_mark *mark, char **ret_why);

struct adopt_report {
    /* Called for what stays as it is, with the reason. */
    void (*left)(void *arg, const char *path, const char *why);
    void *arg;
};

/**
 * adopt_home_own() - Give a home and what is in it to the new UID
 * @path: Absolute path; has to belong to one of the two UIDs, or be closed
 * @mark: Of the home; borrowed
 * @mode: Of the home at the end
 *
 * What belongs to the old UID is given away, by descriptor, and nothing else: not what others own,
 * even if it is linked in here, no device, and nothing that is mounted. The top is the last, so
 * that a home that is not finished belongs to nobody who could use it. Makes `work` if it is not
 * there.
 *
 * Return: 0 or a negative errno.
 */
int adopt_home_own(const char *path, const struct adopt_ids *ids, const struct home_mark *mark,
                   mode_t mode, const struct adopt_report *report);

#endif

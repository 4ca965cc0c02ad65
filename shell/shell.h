/* SPDX-License-Identifier: ISC */
/* shell.h - what the login shell decides: inside a session or not, and which program comes next. */
#ifndef ATELIER_SHELL_H
#define ATELIER_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Written by sessiond into the tree of each session; not on the host. */
#define SHELL_MARK_PATH "/etc/atelier/session"
#define SHELL_FALLBACK  "/bin/sh"
#define SHELL_PATH_SIZE 256u
/* Ten digits, a blank, a path, a newline. */
#define SHELL_MARK_MAX (10u + 1u + SHELL_PATH_SIZE)

/**
 * shell_mark_parse() - Read what sessiond wrote: "UID SHELL-PATH\n" and nothing else
 * @text:     @size bytes, borrowed
 * @uid:      Whose session it has to be
 * @ret_path: SHELL_PATH_SIZE bytes for the path; untouched on failure
 *
 * Return: 0, -EINVAL if it is not of that form, -EPERM if it is somebody else's.
 */
int shell_mark_parse(const char *text, size_t size, uint32_t uid, char *ret_path);

/**
 * shell_mark_read() - shell_mark_parse() of a file
 * @path:     The file: regular, not a link, root's, not to be written by anybody else
 * @uid:      As above
 * @ret_path: As above
 *
 * Return: 0, -EACCES if the file is not as it should be, or a negative errno.
 */
int shell_mark_read(const char *path, uint32_t uid, char *ret_path);

/**
 * shell_is_confined() - Does the kernel say that this process is in a session?
 * @ret_uid: The uid of the process, if so
 *
 * Return: true if no_new_privs is set, a filter is loaded, and the uid is one of ours.
 */
bool shell_is_confined(uint32_t *ret_uid);

/**
 * shell_pick() - The program to run: the wanted one if it is usable, else /bin/sh
 * @wanted: Path from the mark
 * @self:   Path of the login shell; this file is never picked, for that would not end
 */
const char *shell_pick(const char *wanted, const char *self);

/**
 * shell_argv0() - The name that the real shell is started under
 * @argv0:    Ours; NULL if there is none. A leading '-' means a login shell
 * @path:     Of the real shell
 * @ret_name: SHELL_PATH_SIZE + 1 bytes: the base name of @path, with the '-'
 */
void shell_argv0(const char *argv0, const char *path, char *ret_name);

#endif

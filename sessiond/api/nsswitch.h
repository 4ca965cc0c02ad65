/* SPDX-License-Identifier: ISC */
/* nsswitch.h - look-ups of this process go to the sources of NSS themselves, past nscd(8). */
#ifndef ATELIER_API_NSSWITCH_H
#define ATELIER_API_NSSWITCH_H

/**
 * nsswitch_direct() - Ask the sources of a file for users and groups from now on
 * @path: In the form of nsswitch.conf(5); NSSWITCH_FILE
 *
 * What nscd says of a name can be minutes old, and one that hangs holds each question up for five
 * seconds. libc passes it by for a database whose sources the program has named, which this does,
 * with those of the file. They are as old as the last call: call it before every series of
 * questions. Source: glibc 2.36, nss/getXXbyYY_r.c, __nss_database_custom.
 *
 * Return: 0, or a negative errno with nothing changed, or passwd changed alone.
 */
#define NSSWITCH_FILE "/etc/nsswitch.conf"
int nsswitch_direct(const char *path);

#endif

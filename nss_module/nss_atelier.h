/* SPDX-License-Identifier: ISC */
/*
 * nss_atelier.h - the functions that glibc calls, by its naming scheme (nss(5), nsswitch.conf(5);
 * "NSS Modules Interface" in the manual of the GNU C library).
 *
 * All of them keep this contract:
 *   - An id outside ID_OUTER_MIN..ID_OUTER_MAX or a name that is none of ours is NOTFOUND without
 *     any system call.
 *   - SUCCESS and NOTFOUND leave errno, and *errnop, as they were: programs set errno to 0 and
 *     look at it afterwards to tell a miss from an error.
 *   - TRYAGAIN with ERANGE says one thing only: the caller's buffer is too small.
 *   - UNAVAIL says that there is no index, or none that can be trusted. Others may answer.
 *   - Every string and array of an answer is inside the caller's buffer.
 */
#ifndef ATELIER_NSS_ATELIER_H
#define ATELIER_NSS_ATELIER_H

#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/types.h>

enum nss_status _nss_atelier_getpwnam_r(const char *name, struct passwd *pw, char *buffer,
                                        size_t size, int *errnop);
enum nss_status _nss_atelier_getpwuid_r(uid_t uid, struct passwd *pw, char *buffer, size_t size,
                                        int *errnop);
enum nss_status _nss_atelier_setpwent(int stay_open);
enum nss_status _nss_atelier_getpwent_r(struct passwd *pw, char *buffer, size_t size, int *errnop);
enum nss_status _nss_atelier_endpwent(void);

enum nss_status _nss_atelier_getgrnam_r(const char *name, struct group *gr, char *buffer,
                                        size_t size, int *errnop);
enum nss_status _nss_atelier_getgrgid_r(gid_t gid, struct group *gr, char *buffer, size_t size,
                                        int *errnop);
enum nss_status _nss_atelier_setgrent(int stay_open);
enum nss_status _nss_atelier_getgrent_r(struct group *gr, char *buffer, size_t size, int *errnop);
enum nss_status _nss_atelier_endgrent(void);

/**
 * _nss_atelier_initgroups_dyn() - Add the supplementary groups of one of our users
 * @name:   User name
 * @group:  Primary group. Outside ID_OUTER_MIN..ID_OUTER_MAX it is NOTFOUND without any system
 *          call: glibc asks us for every account of the host, and a local one never gets a group
 *          from us, not even from a forged index
 * @start:  Number of entries in use; raised by what is added
 * @size:   Number of entries allocated
 * @groups: malloc(3)ed array, grown with realloc(3)
 * @limit:  Largest @size, if positive; what does not fit is left out, as glibc's own modules do
 *
 * The primary group and those already in the array are skipped.
 */
enum nss_status _nss_atelier_initgroups_dyn(const char *name, gid_t group, long *start, long *size,
                                            gid_t **groups, long limit, int *errnop);

#endif

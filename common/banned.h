/* SPDX-License-Identifier: ISC */
/* banned.h - calls that bite, made compile errors. Include it last in every .c file. */
#ifndef ATELIER_BANNED_H
#define ATELIER_BANNED_H

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok atoi atol atoll
#pragma GCC poison system popen gmtime localtime rand srand getenv
/* NSS through the non-reentrant calls clobbers the caller's static results. */
#pragma GCC poison getpwnam getpwuid getgrnam getgrgid getpwent getgrent

#endif

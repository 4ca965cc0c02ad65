# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libpolicy.la
libpolicy_la_SOURCES = \
	%D%/filter.c %D%/filter.h \
	%D%/netrules.c %D%/netrules.h \
	%D%/netrules_seen.c %D%/netrules_seen.h \
	%D%/plan.c %D%/plan.h \
	%D%/syscalls.def
libpolicy_la_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
libpolicy_la_LIBADD = libcommon.la $(SECCOMP_LIBS)

# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libpolicy_config.la libpolicy.la

# What sessiond-api reads, too: the policy, and nothing of filters and rules.
libpolicy_config_la_SOURCES = \
	%D%/config_disk.c \
	%D%/config_draft.h \
	%D%/config_join.c \
	%D%/config_loose.c \
	%D%/config_net.c \
	%D%/config_parse.c \
	%D%/config_read.c \
	%D%/config_show.c \
	%D%/config_text.c \
	%D%/config_value.c \
	%D%/policy.c %D%/policy.h \
	%D%/prefix.c %D%/prefix.h
libpolicy_config_la_CPPFLAGS = $(AM_CPPFLAGS) $(CONFUSE_CFLAGS) \
	-DATELIER_SYSCONF_DIR='"$(sysconfdir)"'
libpolicy_config_la_LIBADD = libcommon.la $(CONFUSE_LIBS)

libpolicy_la_SOURCES = \
	%D%/filter.c %D%/filter.h \
	%D%/filter_show.c \
	%D%/netcount.c %D%/netcount.h \
	%D%/netcount_seen.c %D%/netcount_seen.h \
	%D%/netreason.c %D%/netreason.h \
	%D%/names.c %D%/names.h \
	%D%/netrules.c %D%/netrules.h \
	%D%/netrules_seen.c %D%/netrules_seen.h \
	%D%/plan.c %D%/plan.h \
	%D%/policy_plan.c \
	%D%/proc.def \
	%D%/syscalls.def
libpolicy_la_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
libpolicy_la_LIBADD = libpolicy_config.la libcommon.la $(SECCOMP_LIBS)

# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libcommon.la
libcommon_la_SOURCES = \
	%D%/banned.h \
	%D%/cleanup.h \
	%D%/fd.c %D%/fd.h \
	%D%/ids.h \
	%D%/image.h \
	%D%/index_format.h \
	%D%/index_read.c %D%/index_read.h \
	%D%/near.c %D%/near.h \
	%D%/pam_wire.h \
	%D%/loop.c %D%/loop.h \
	%D%/payload.c %D%/payload.h \
	%D%/quota.c %D%/quota.h \
	%D%/sabotage.h \
	%D%/session_wire.h \
	%D%/skill.c %D%/skill.h \
	%D%/str.c %D%/str.h \
	%D%/tar.c %D%/tar.h \
	%D%/wire.h \
	%D%/wire_net.h
